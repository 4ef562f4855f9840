"""Convolutions in every spelling of padding, over one to three axes, and their transposes: against torch, sizes by formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same, same_pads

F, TF = paddle.nn.functional, torch.nn.functional


SIZES = {1: (7,), 2: (7, 6), 3: (5, 4, 6)}


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 2, 2)])
def test_convolution(axes: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    (x, t), (w, v) = both(2, 4, *SIZES[axes]), both(6, 4 // groups, *[2] * axes, seed=1)
    b, c = both(6, seed=2)
    ours = getattr(F, f"conv{axes}d")(x, w, b, stride, padding, dilation, groups)
    theirs = getattr(TF, f"conv{axes}d")(t, v, c, stride, padding, dilation, groups)
    same(ours, theirs, (x, t), (w, v), (b, c))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("stride", "padding", "rest", "dilation", "groups"), [(1, 0, 0, 1, 1), (3, 1, 2, 2, 2)]
)
def test_transposed_convolution(axes: int, last: bool, stride: int, padding: int, rest: int, dilation: int, groups: int) -> None:  # fmt: skip
    (x, t), (w, v), (b, c) = (
        both(2, 4, *SIZES[axes]),
        both(4, 3, *[2] * axes, seed=1),
        both(3 * groups, seed=2),
    )
    data_format = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[axes] if last else {1: "NCL", 2: "NCHW", 3: "NCDHW"}[axes]
    ours = getattr(F, f"conv{axes}d_transpose")(
        x.moveaxis(1, -1) if last else x, w, b, stride, padding, rest, groups=groups, dilation=dilation,
        data_format=data_format,
    )  # fmt: skip
    theirs = getattr(TF, f"conv_transpose{axes}d")(t, v, c, stride, padding, rest, groups, dilation)
    same(ours.moveaxis(-1, 1) if last else ours, theirs, (x, t), (w, v), (b, c))


def test_a_transposed_convolution_has_the_size_that_was_asked_for() -> None:
    (x, t), (w, v) = both(1, 2, 5, 4), both(2, 3, 3, 3, seed=1)
    same(
        F.conv2d_transpose(x, w, stride=2, output_size=[12, 9]),
        TF.conv_transpose2d(t, v, None, 2, 0, (1, 0)),
        (x, t),
    )
    for size in ([13, 9], [10, 9]):
        with pytest.raises(ValueError, match=r"output_size in \[11, 9\] to less than \(2, 2\) more"):
            F.conv2d_transpose(x, w, stride=2, output_size=size)
    with pytest.raises(ValueError, match="output_padding or output_size"):
        F.conv2d_transpose(x, w, stride=2, output_size=[12, 9], output_padding=1)


def test_uneven_padding_cuts_a_transposed_convolution() -> None:
    (x, t), (w, v) = both(1, 2, 5, 4), both(2, 3, 3, 3, seed=1)
    same(
        F.conv2d_transpose(x, w, padding=[1, 0, 2, 1]),
        TF.conv_transpose2d(t, v)[:, :, 1:, 2:-1],
        (x, t),
        (w, v),
    )


SPELLINGS = [  # Paddle's, and (left, right, top, bottom)
    (0, (0, 0, 0, 0)), (1, (1, 1, 1, 1)), ([1, 2], (2, 2, 1, 1)), ((2, 1), (1, 1, 2, 2)), ([1, 2, 0, 1], (0, 1, 1, 2)),
    ([[0, 0], [0, 0], [1, 2], [0, 1]], (0, 1, 1, 2)), ("VALID", (0, 0, 0, 0)), ("SAME", None), ("same", None),
]  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2, [2, 3]])
@pytest.mark.parametrize(("padding", "pads"), SPELLINGS, ids=str)
def test_convolution_in_every_spelling_of_padding(padding, pads, stride) -> None:
    (x, t), (w, v), (b, c) = both(2, 4, 7, 6), both(6, 4, 3, 2, seed=1), both(6, seed=2)
    step = (stride, stride) if isinstance(stride, int) else tuple(stride)
    pads = same_pads((7, 6), (3, 2), step) if pads is None else pads
    ours = F.conv2d(x, w, b, stride=stride, padding=padding)
    same(ours, TF.conv2d(TF.pad(t, tuple(pads)), v, c, stride=step), (x, t), (w, v), (b, c))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dilation", [1, 2, (2, 1)])
def test_convolution_with_groups_and_dilation(groups: int, dilation) -> None:
    (x, t), (w, v) = both(2, 4, 7, 6), both(4, 4 // groups, 3, 2, seed=1)
    same(
        F.conv2d(x, w, stride=(1, 2), padding=1, dilation=dilation, groups=groups),
        TF.conv2d(t, v, stride=(1, 2), padding=1, dilation=dilation, groups=groups), (x, t), (w, v),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("padding", "pads"),
    [(1, (1, 1, 1, 1)), ([1, 2, 0, 1], (0, 1, 1, 2)), ([[0, 0], [1, 2], [0, 1], [0, 0]], (0, 1, 1, 2))],
    ids=str,
)
def test_channels_last(padding, pads) -> None:  # the pairs stand in the order of the format
    (x, t), (w, v), (b, c) = both(2, 7, 6, 4), both(3, 4, 3, 2, seed=1), both(3, seed=2)
    padded = TF.pad(t.permute(0, 3, 1, 2), pads)
    theirs = TF.conv2d(padded, v, c).permute(0, 2, 3, 1)
    same(F.conv2d(x, w, b, padding=padding, data_format="NHWC"), theirs, (x, t), (w, v), (b, c))
    (x, t) = both(2, 7, 6, 4)
    theirs = TF.max_pool2d(TF.pad(t.permute(0, 3, 1, 2), pads, value=-np.inf), 3, 2).permute(0, 2, 3, 1)
    same(F.max_pool2d(x, 3, 2, padding=padding, data_format="NHWC"), theirs, (x, t))


def test_same_padding_sets_dilation_to_one() -> None:  # as PaddlePaddle 3.3.1
    (x, _), (w, _) = both(1, 2, 6, 6), both(2, 2, 3, 3, seed=1)
    found = F.conv2d(x, w, padding="SAME", dilation=2)
    np.testing.assert_array_equal(found.numpy(), F.conv2d(x, w, padding="SAME").numpy())


def test_convolution_of_an_empty_batch() -> None:
    w = paddle.ones([3, 2, 3, 3])
    w.stop_gradient = False
    found = F.conv2d(paddle.zeros([0, 2, 5, 5]), w)
    assert found.shape == [0, 3, 3, 3]
    found.sum().backward()
    assert float(w.grad.abs().sum()) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, w: F.conv2d(x, w, padding="HALF"), "padding: expected 'SAME' or 'VALID', got 'HALF'"),
        (lambda x, w: F.conv2d(x, w, padding=[1, 2, 3]), r"padding: expected an int, 2 or 4"),
        (lambda x, w: F.conv2d(x, w, padding=1.5), "padding: expected an int"),
        (lambda x, w: F.conv2d(x, w, padding=[[0, 0], [1, 1], [0, 0], [0, 0]]), "padding: batch and channels cannot"),
        (lambda x, w: F.conv2d(x, w, padding=-1), "padding: expected 0 or more"),
        (lambda x, w: F.conv2d(x, w, stride=0), "stride"),
        (lambda x, w: F.conv2d(x, w, stride=[1, 2, 3]), "stride: expected an int or 2"),
        (lambda x, w: F.conv2d(x, w, groups=3), r"conv2d: x \[2, 4, 7, 6\] should have 12 channels"),
        (lambda x, w: F.conv2d(x, w, data_format="NCWH"), "data_format: expected 'NCHW' or 'NHWC', got 'NCWH'"),
        (lambda x, w: F.conv2d(x[0], w), "conv2d: expected x with 4 axes"),
        (lambda x, w: F.conv2d(x[:, :, :2], w), "Kernel size can't be greater"),
        (lambda x, w: F.max_pool2d(x, 3, padding=-1), "padding: expected 0 or more"),
        (lambda x, w: F.avg_pool2d(x[0], 3), "avg_pool2d: expected x with 4 axes"),
        (lambda x, w: F.max_pool2d(x, 0), "max_pool"),
        (lambda x, w: F.max_pool2d(x, 2, return_mask=True, data_format="NHWC"), "return_mask needs data_format with channels first"),
    ],
)  # fmt: skip
def test_images_and_windows_that_do_not_fit(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(paddle.zeros([2, 4, 7, 6]), paddle.zeros([6, 4, 3, 2]))
