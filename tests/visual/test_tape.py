"""The drawn tape is the tape: every operator, order, and nothing changed."""

import itertools

import numpy as np
import pytest

import sampan
from sampan import visual


def boxes(figure):
    return {note.text: note for note in figure.layout.annotations}


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
    with pytest.raises(TypeError, match="got float"):
        visual.tape(1.0)
    x = leaf(1)
    for _ in range(200):
        x = x * x
    with pytest.raises(ValueError, match="at most 150 boxes"):
        visual.tape(x)
