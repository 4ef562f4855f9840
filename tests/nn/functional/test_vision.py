"""Images resized, sampled and rearranged: against torch and written-out values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


@pytest.mark.parametrize(
    ("shape", "size", "mode"),
    [((2, 3, 5), [8], "linear"), ((2, 3, 5, 4), [3, 9], "bilinear"), ((2, 3, 5, 4), [3, 9], "bicubic"),
     ((1, 2, 3, 4, 5), [4, 3, 9], "trilinear")],
)  # fmt: skip
@pytest.mark.parametrize("corners", [False, True])
def test_interpolation(shape, size, mode: str, corners: bool) -> None:
    x, t = both(*shape)
    same(F.interpolate(x, size, mode=mode, align_corners=corners), TF.interpolate(t, size, mode=mode, align_corners=corners), (x, t))  # fmt: skip
    x, t = both(*shape)
    last = F.interpolate(
        x.moveaxis(1, -1),
        size,
        mode=mode,
        align_corners=corners,
        data_format={3: "NWC", 4: "NHWC", 5: "NDHWC"}[x.ndim],
    )
    same(last.moveaxis(-1, 1), TF.interpolate(t, size, mode=mode, align_corners=corners), (x, t))


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 2, 3, 4, 5)])
def test_nearest_and_scale_factors(shape) -> None:
    for factor in (2, 1.7, 0.5):
        x, t = both(*shape)
        same(F.interpolate(x, scale_factor=factor), TF.interpolate(t, scale_factor=factor), (x, t))
    x, t = both(2, 3, 5, 4)
    same(F.interpolate(x, scale_factor=[1.5, 2.0], mode="bilinear"), TF.interpolate(t, scale_factor=(1.5, 2.0), mode="bilinear"), (x, t))  # fmt: skip


def test_align_mode_1_puts_new_pixels_at_multiples() -> None:
    x = paddle.to_tensor([[[0.0, 10.0, 20.0, 30.0]]])
    found = F.interpolate(x, [6], mode="linear", align_mode=1)  # pixel i at i 4 / 6
    np.testing.assert_allclose(found.numpy()[0, 0], [0, 20 / 3, 40 / 3, 20, 80 / 3, 30], rtol=1e-6)
    square = F.interpolate(x.reshape([1, 1, 2, 2]), [4, 4], mode="bilinear", align_mode=1).numpy()[0, 0]
    np.testing.assert_allclose(square[0], [0, 5, 10, 10])
    np.testing.assert_allclose(square[:, 0], [0, 10, 20, 20])


def test_smoothing_while_shrinking() -> None:
    for mode in ("bilinear", "bicubic"):
        x, t = both(1, 2, 9, 8)
        same(F.interpolate(x, [4, 3], mode=mode, antialias=True), TF.interpolate(t, (4, 3), mode=mode, antialias=True), (x, t))  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({}, ValueError, "expected size or scale_factor"),
        ({"size": [2, 2], "scale_factor": 2}, ValueError, "expected size or scale_factor"),
        ({"size": [2]}, ValueError, "size: expected an int or 2"),
        ({"size": [2, 2], "mode": "linear"}, ValueError, "does not fit x"),
        ({"size": [2, 2], "align_corners": True}, ValueError, "does not go with"),
        ({"size": [2, 2], "mode": "bicubic", "align_corners": 2}, TypeError, "align_corners"),
        ({"scale_factor": -1.0}, ValueError, "scale_factor"),
        ({"size": [0, 2]}, ValueError, "lengths of 1 or more"),
    ],
)
def test_interpolation_refuses(settings, error, words: str) -> None:
    with pytest.raises(error, match=words):
        F.interpolate(paddle.ones([1, 1, 3, 3]), **settings)


@pytest.mark.parametrize("shape", [[2, 3, 4, 5], [2, 3, 2, 4, 5]])
@pytest.mark.parametrize("corners", [False, True])
def test_affine_grids_and_sampling(shape, corners: bool) -> None:
    axes = len(shape) - 2
    theta, t = both(2, axes, axes + 1)
    same(F.affine_grid(theta, shape, corners), TF.affine_grid(t, shape, corners), (theta, t))
    for padding in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest"):
            (x, u), (grid, v) = both(*shape, seed=1), both(2, *[3] * axes, axes, seed=2)
            ours = F.grid_sample(x, grid * 1.3, mode, padding, corners)
            theirs = TF.grid_sample(u, v * 1.3, mode, padding, corners)
            same(ours, theirs, (x, u), (grid, v))


def test_sampling_says_that_it_has_no_second_derivative() -> None:
    x, _ = both(1, 1, 3, 3)
    value = F.grid_sample(x, paddle.zeros([1, 2, 2, 2], "float64")).sum()
    with pytest.raises(NotImplementedError, match="grid_sample has no second derivative"):
        paddle.grad(value, [x], create_graph=True)


def test_rearranged_pixels() -> None:
    x, t = both(2, 8, 3, 4)
    same(F.pixel_shuffle(x, 2), TF.pixel_shuffle(t, 2), (x, t))
    x, t = both(2, 3, 4, 6)
    same(F.pixel_unshuffle(x, 2), TF.pixel_unshuffle(t, 2), (x, t))
    x, t = both(2, 6, 3, 4)
    same(F.channel_shuffle(x, 3), TF.channel_shuffle(t, 3), (x, t))
    x, t = both(2, 3, 4, 8)
    same(
        F.pixel_shuffle(x, 2, "NHWC"), TF.pixel_shuffle(t.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1), (x, t)
    )
    film = paddle.arange(1, 9, dtype="float32").reshape([2, 4, 1, 1])  # two steps, four channels
    assert F.temporal_shift(film, 2).flatten().tolist() == [0, 6, 3, 4, 1, 0, 7, 8]


def test_windows_as_columns_and_back() -> None:
    x, t = both(2, 3, 6, 5)
    same(F.unfold(x, [2, 3], [1, 2], [1, 2], [2, 1]), TF.unfold(t, (2, 3), (2, 1), (1, 2), (1, 2)), (x, t))
    x, t = both(2, 3, 6, 5)
    same(F.unfold(x, 2, paddings=[1, 0, 0, 2]), TF.unfold(TF.pad(t, (0, 2, 1, 0)), 2), (x, t))
    x, t = both(2, 12, 20)
    same(F.fold(x, [5, 6], 2), TF.fold(t, (5, 6), 2), (x, t))
    x, t = both(2, 12, 30)
    same(F.fold(x, [5, 6], 2, paddings=[0, 1, 1, 0]), TF.fold(t, (6, 7), 2)[:, :, :-1, 1:], (x, t))


# --- padding, rows, distances, masks --------------------------------------------------------------------------
