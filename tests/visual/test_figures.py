"""What the figures claim is checked against the tensors themselves; how they look is a person's to judge."""

import itertools
import sys

import numpy as np
import pytest
import torch

import sampan
from sampan import visual


def boxes(figure):
    return {note.text: note for note in figure.layout.annotations}


@pytest.mark.parametrize(
    "view",
    [
        torch.arange(12.0).reshape(3, 4),
        torch.arange(12.0).reshape(3, 4).T,
        torch.arange(12.0).reshape(3, 4)[1:, ::2],
        torch.arange(3.0).expand(4, 3),
        torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
        torch.tensor(5.0),
        torch.arange(100.0)[90:],
    ],
    ids=["rows", "transposed", "sliced", "expanded", "three axes", "a number", "far in memory"],
)
def test_strides_shows_the_cell_that_each_element_reads(view):
    elements, cells = visual.strides(sampan.Tensor(view)).data
    flat = view.as_strided((view.untyped_storage().nbytes() // view.element_size(),), (1,), 0)
    for text, index in zip(elements.hovertext, itertools.product(*map(range, view.shape)), strict=True):
        cell = int(text.split("<b>")[1].split("</b>")[0])
        assert flat[cell] == view[index] and f"index {list(index)}" in text
    reached = {int(text.split("<b>")[1].split("</b>")[0]) for text in elements.hovertext}
    drawn = {
        int(text.split("<br>")[0].split()[1]): "not in this view" not in text for text in cells.hovertext
    }
    assert {cell for cell, used in drawn.items() if used} == reached
    assert len(set(zip(elements.x, elements.y, strict=True))) == view.numel()


@pytest.mark.parametrize("thing", [torch.zeros(17, 17), torch.zeros(0), torch.zeros(1, 1, 1, 1)])
def test_strides_refuses_what_cannot_be_read(thing):
    with pytest.raises(ValueError, match=r"1 to 256 elements on at most 3 axes can be drawn, shape"):
        visual.strides(thing)


def test_strides_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match="list came"):
        visual.strides([1, 2])


def leaf(*shape):
    return sampan.to_tensor(np.ones(shape, "float32"), stop_gradient=False)


def test_tape_names_every_operator_with_the_shape_of_its_value():
    data, w, b = sampan.to_tensor(np.ones((32, 10), "float32")), leaf(10, 4), leaf(4)
    notes = boxes(visual.tape(((data @ w + b) * w.sum()).mean()))
    assert set(notes) == {
        "<b>mm</b><br>[32, 4]",
        "<b>add</b><br>[32, 4]",
        "<b>sum</b><br>[]",
        "<b>multiply</b><br>[32, 4]",
        "<b>mean</b><br>[]",
        "<b>parameter</b><br>[10, 4]",
        "<b>parameter</b><br>[4]",
    }
    assert "float32, 512 bytes" in notes["<b>add</b><br>[32, 4]"].hovertext
    assert "input: data" in notes["<b>mm</b><br>[32, 4]"].hovertext


def test_tape_draws_what_is_used_above_what_uses_it():
    x, y = leaf(2), leaf(2)
    base = x * y
    result = (base * y + base).exp() * base
    figure = visual.tape(result)
    (edges,) = figure.data
    ends = list(zip(edges.x, edges.y, strict=True))
    lines = [(ends[i], ends[i + 1]) for i in range(0, len(ends), 3)]
    assert all(source[1] == target[1] + 1 for source, target in lines)
    spots = [(note.x, note.y) for note in figure.layout.annotations]
    assert len(set(spots)) == len(spots) == 7
    # From the top, every box can be reached; and no line passes behind a box on its way through a layer.
    met = {spot for spot in spots if spot[1] == max(y for _, y in spots)}
    for source, target in sorted(lines, key=lambda line: -line[0][1]):
        assert source in met or source in spots
        met.add(target)
    assert set(spots) <= met
    bends = {end for line in lines for end in line} - set(spots)
    assert bends and all(abs(x - bx) > 0.9 for bx, by in bends for x, y in spots if y == by)
    for layer in {y for _, y in spots}:
        row = sorted(x for x, y in spots if y == layer)
        assert all(right - left > 0.99 for left, right in itertools.pairwise(row))


def test_drawing_the_tape_leaves_it_as_it_was():
    x, seen = leaf(3), []
    middle = x * x
    middle.register_hook(lambda g: seen.append(1))
    result = middle.sum()
    visual.tape(result)
    assert x.grad is None and not seen
    result.backward()
    assert x.grad.numpy().tolist() == [2.0, 2.0, 2.0] and seen == [1]


def test_a_freed_tape_is_drawn_without_shapes_and_says_so():
    x = leaf(3)
    result = (x * x).sum()
    result.backward()
    with pytest.warns(UserWarning, match="shapes are not drawn"):
        notes = boxes(visual.tape(result))
    assert set(notes) == {"<b>multiply</b>", "<b>sum</b><br>[]", "<b>parameter</b><br>[3]"}


def test_tape_refuses_data_and_crowds():
    with pytest.raises(ValueError, match="nothing was recorded"):
        visual.tape(sampan.to_tensor([1.0]))
    with pytest.raises(TypeError, match="float came"):
        visual.tape(1.0)
    x = leaf(1)
    for _ in range(200):
        x = x * x
    with pytest.raises(ValueError, match="at most 150 boxes"):
        visual.tape(x)


def bowl(x, y):
    return x**2 + 10 * y**2


def test_a_race_ends_where_its_paths_end():
    slow, fast = np.linspace((2, 1), (1, 0.5), 100), np.linspace((2, 1), (0, 0), 30)
    figure = visual.loss_surface_race(bowl, {"slow": slow, "fast": fast}, (-3, 3), (-2, 2))
    assert 2 <= len(figure.frames) <= 60
    one, other = figure.frames[-1].data
    assert (one.x[-1], one.y[-1]) == (1, 0.5) and len(one.x) == 100 and one.name == "slow: 3.5"
    assert (other.x[-1], other.y[-1]) == (0, 0) and other.name == "fast: 0"
    first, _ = figure.frames[0].data
    assert list(first.x) == [2]
    hill = figure.data[0]
    row, column = np.unravel_index(np.argmin(hill.z), hill.z.shape)
    assert abs(hill.x[column]) < 0.1 and abs(hill.y[row]) < 0.1


def test_a_runner_that_leaves_the_picture_is_gone():
    away = np.array([[2.0, 1.0], [1.0, 0.0], [np.nan, 0.0], [0.0, 0.0]])
    last = visual.loss_surface_race(bowl, {"wild": away}, (-3, 3), (-2, 2)).frames[-1].data[0]
    assert last.name == "wild: gone" and list(last.x) == [2, 1]


@pytest.mark.parametrize("paths", [{}, {"a": np.zeros(3)}, {"a": np.zeros((3, 3))}, {"a": np.zeros((0, 2))}])
def test_a_race_without_runners(paths):
    with pytest.raises(ValueError, match="loss_surface_race"):
        visual.loss_surface_race(bowl, paths, (-1, 1), (-1, 1))


def test_images_keep_every_pixel_and_caption():
    pictures = np.arange(7 * 4 * 3).reshape(7, 4, 3)
    figure = visual.images(pictures, captions="abcdefg", columns=3)
    sheet = figure.data[0].z
    shown = sheet[~np.isnan(sheet)]
    assert sorted(shown.tolist()) == list(range(84))
    assert (sheet[:4, :3] == pictures[0]).all()
    assert [note.text for note in figure.layout.annotations] == list("abcdefg")


@pytest.mark.parametrize(
    ("pictures", "more", "words"),
    [
        (np.zeros((4, 4)), {}, r"\[number, height, width\], \[4, 4\] came"),
        (np.zeros((2, 4, 4)), {"captions": ["one"]}, "2 pictures need 2 captions, 1 came"),
        (np.zeros((2, 4, 4)), {"columns": 0}, "columns must be at least 1"),
    ],
)
def test_images_refuses(pictures, more, words):
    with pytest.raises(ValueError, match=words):
        visual.images(pictures, **more)


def test_without_plotly_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"sampan\[course\]"):
        visual.strides(torch.zeros(2))
