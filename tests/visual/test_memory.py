"""The picture of strides shows the memory that each element reads."""

import itertools

import pytest
import torch

import sampan
from sampan import visual


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
    with pytest.raises(ValueError, match=r"1 to 256 elements on at most 3 axes can be drawn, got shape"):
        visual.strides(thing)


def test_strides_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match="got list"):
        visual.strides([1, 2])
