"""Pooling in every spelling of padding, of sequences and volumes, masks and their way back, adaptive, fractional and Lp windows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same, same_pads

F, TF = paddle.nn.functional, torch.nn.functional


SIZES = {1: (9,), 2: (9, 8), 3: (6, 5, 7)}


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, None, 0), (3, 2, 1)])
def test_windows_over_any_number_of_axes(axes: int, kernel: int, stride, padding: int) -> None:
    x, t = both(2, 3, *SIZES[axes])
    value, mask = getattr(F, f"max_pool{axes}d")(x, kernel, stride, padding, return_mask=True)
    theirs, places = getattr(TF, f"max_pool{axes}d")(t, kernel, stride, padding, return_indices=True)
    assert mask.tolist() == places.tolist()
    same(value, theirs, (x, t))
    x, t = both(2, 3, *SIZES[axes])
    same(getattr(F, f"max_pool{axes}d")(x, kernel, stride, padding), theirs := getattr(TF, f"max_pool{axes}d")(t, kernel, stride, padding), (x, t))  # fmt: skip
    x, t = both(2, 3, *SIZES[axes])
    ours = getattr(F, f"avg_pool{axes}d")(x, kernel, stride, padding, exclusive=False)
    same(ours, getattr(TF, f"avg_pool{axes}d")(t, kernel, stride, padding), (x, t))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_adaptive_windows(axes: int) -> None:
    for size in (1, 3, 4):
        for kind in ("avg", "max"):
            x, t = both(2, 3, *SIZES[axes])
            ours = getattr(F, f"adaptive_{kind}_pool{axes}d")(x, size)
            same(ours, getattr(TF, f"adaptive_{kind}_pool{axes}d")(t, size), (x, t))
    mask = getattr(F, f"adaptive_max_pool{axes}d")(x, 3, return_mask=True)[1]
    assert mask.tolist() == getattr(TF, f"adaptive_max_pool{axes}d")(t, 3, return_indices=True)[1].tolist()


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_puts_the_winners_back(axes: int) -> None:
    x, t = both(2, 3, *[8] * axes)
    ours = getattr(F, f"max_unpool{axes}d")(*getattr(F, f"max_pool{axes}d")(x, 2, return_mask=True), 2)
    theirs = getattr(TF, f"max_unpool{axes}d")(*getattr(TF, f"max_pool{axes}d")(t, 2, return_indices=True), 2)
    same(ours, theirs, (x, t))


def test_unpooling_refuses_what_does_not_fit() -> None:
    value, mask = F.max_pool2d(paddle.ones([1, 1, 9, 8]), 2, return_mask=True)
    assert F.max_unpool2d(value, mask, 2, output_size=[9, 8]).shape == [1, 1, 9, 8]
    for call, words in (
        (lambda: F.max_unpool2d(value, mask, 2, output_size=[11, 8]), "output_size: expected about"),
        (lambda: F.max_unpool2d(value, mask + 100, 2), "expected indices from 0 to 63"),
        (lambda: F.max_unpool2d(value, mask[:, :, :1], 2), "indices of x's shape"),
        (lambda: F.max_unpool2d(value, mask, 2, data_format="NHWC"), "data_format"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_lp_pooling() -> None:
    for p in (1.0, 2.0, 3.0):
        x, t = both(2, 3, 8, 6, low=0.1)
        same(F.lp_pool2d(x, p, [2, 3], 2), TF.lp_pool2d(t, p, (2, 3), 2), (x, t))
        x, t = both(2, 3, 8, low=0.1)
        same(F.lp_pool1d(x, p, 3, 2), TF.lp_pool1d(t, p, 3, 2), (x, t))
    x, _ = both(1, 1, 4, 4)
    np.testing.assert_array_equal(F.lp_pool2d(x, float("inf"), 2).numpy(), F.max_pool2d(x, 2).numpy())


# By PaddlePaddle 3.3.1, from rows 0 .. n - 1: where each window of touching ones begins.
STARTS = {
    (11, 5, 0.5): [0, 2, 5, 7, 9],
    (13, 5, 0.95): [0, 2, 5, 8, 10],
    (9, 4, 0.05): [0, 2, 4, 6],
    (8, 3, 0.5): [0, 3, 6],
}


@pytest.mark.parametrize(("case", "starts"), STARTS.items())
def test_fractional_windows_begin_where_paddle_has_them(case, starts) -> None:
    length, count, u = case
    rows = paddle.arange(length, dtype="float32").reshape([1, 1, length, 1])
    found = -F.fractional_max_pool2d(-rows, [count, 1], random_u=u)
    assert found.flatten().tolist() == starts
    ends, mask = F.fractional_max_pool2d(rows, [count, 1], random_u=u, return_mask=True)
    assert ends.flatten().tolist() == [*[s - 1 for s in starts[1:]], length - 1] == mask.flatten().tolist()


def test_fractional_pooling_passes_gradients_to_the_winners() -> None:
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(1, 2, 7, 6, 5)), stop_gradient=False)
    value, mask = F.fractional_max_pool3d(x, 3, 2, random_u=0.4, return_mask=True)
    value.sum().backward()
    flat = np.zeros((2, 210))
    for c in range(2):
        np.add.at(flat[c], mask.numpy()[0, c].ravel(), 1.0)
    np.testing.assert_array_equal(x.grad.numpy()[0].reshape(2, -1), flat)
    assert F.fractional_max_pool2d(paddle.ones([1, 1, 9, 9]), 4).shape == [1, 1, 4, 4]
    with pytest.raises(ValueError, match="random_u between 0 and 1"):
        F.fractional_max_pool2d(paddle.ones([1, 1, 9, 9]), 4, random_u=1.0)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, None), ((3, 2), (2, 1)), (3, 3)])
@pytest.mark.parametrize("padding", [0, 1, [1, 0]])
def test_pooling_as_torch_has_it(padding, kernel, stride, ceil_mode: bool) -> None:
    if ceil_mode and kernel == 2 and padding:
        return  # torch drops the windows that begin behind x, Paddle keeps them: tests/parity has its answers
    x, t = both(2, 3, 7, 6)
    pads = padding if isinstance(padding, int) else tuple(padding)
    value, mask = F.max_pool2d(x, kernel, stride, padding, return_mask=True, ceil_mode=ceil_mode)
    theirs, places = TF.max_pool2d(t, kernel, stride, pads, ceil_mode=ceil_mode, return_indices=True)
    assert mask.dtype == paddle.int32 and mask.tolist() == places.tolist()
    same(value, theirs, (x, t))
    for exclusive in (True, False):
        x, t = both(2, 3, 7, 6)
        ours = F.avg_pool2d(x, kernel, stride, padding, ceil_mode=ceil_mode, exclusive=exclusive)
        same(ours, TF.avg_pool2d(t, kernel, stride, pads, ceil_mode, not exclusive), (x, t))
    x, t = both(2, 3, 7, 6)
    ours = F.avg_pool2d(x, kernel, stride, padding, ceil_mode=ceil_mode, divisor_override=5)
    size = kernel * kernel if isinstance(kernel, int) else kernel[0] * kernel[1]
    same(
        ours, TF.avg_pool2d(t, kernel, stride, pads, ceil_mode, False) * size / 5, (x, t)
    )  # as Paddle has it


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(
    ("padding", "pads"),
    [([1, 0, 0, 1], (0, 1, 1, 0)), ([0, 1, 1, 0], (1, 0, 0, 1)), (2, (2, 2, 2, 2)), ([[0, 0], [0, 0], [1, 0], [0, 1]], (0, 1, 1, 0)), ("SAME", None)],
    ids=str,
)  # fmt: skip
def test_pooling_with_uneven_padding(padding, pads, ceil_mode: bool) -> None:
    """A window counts what lies inside the image; one behind it holds the least float32, and no mean."""
    values = np.random.default_rng(0).uniform(-1, 1, (1, 2, 7, 6))
    pads = same_pads((7, 6), (3, 3), (2, 2)) if pads is None else pads
    left, right, top, bottom = pads
    rows, columns = [], []
    for starts, n, before, after in ((rows, 7, top, bottom), (columns, 6, left, right)):
        last = n + before + after - 3
        starts += range(-before, last - before + 1, 2)
        if ceil_mode and last % 2:
            starts.append(starts[-1] + 2)
    largest, mean, winners = (np.zeros((1, 2, len(rows), len(columns))) for _ in range(3))
    for c in range(2):
        for i, r in enumerate(rows):
            for j, s in enumerate(columns):
                window = values[0, c, max(r, 0) : r + 3, max(s, 0) : s + 3]
                if not window.size:
                    largest[0, c, i, j], mean[0, c, i, j] = np.finfo(np.float32).min, np.nan
                    winners[0, c, i, j] = -1
                    continue
                largest[0, c, i, j], mean[0, c, i, j] = window.max(), window.mean()
                winners[0, c, i, j] = np.flatnonzero(values[0, c] == window.max())[0]
    x = paddle.to_tensor(values)
    found = F.max_pool2d(x, 3, 2, padding, ceil_mode=ceil_mode)
    np.testing.assert_array_equal(found.numpy(), largest)
    if padding != "SAME":  # which a mask takes for no padding, as in Paddle
        found, mask = F.max_pool2d(x, 3, 2, padding, return_mask=True, ceil_mode=ceil_mode)
        np.testing.assert_array_equal(found.numpy(), largest)
        np.testing.assert_array_equal(mask.numpy(), winners)
    np.testing.assert_allclose(F.avg_pool2d(x, 3, 2, padding, ceil_mode=ceil_mode).numpy(), mean, rtol=1e-12)


def test_adaptive_pooling() -> None:
    for size in (1, (3, 2), (None, 4), 7):
        x, t = both(2, 3, 7, 5)
        theirs = TF.adaptive_avg_pool2d(t, size)
        same(F.adaptive_avg_pool2d(x, size), theirs, (x, t))
    x = paddle.ones([1, 4, 4, 3])
    assert F.adaptive_avg_pool2d(x, 2, data_format="NHWC").shape == [1, 2, 2, 3]


@pytest.mark.parametrize("return_mask", [False, True])
def test_a_window_that_is_larger_than_x_by_less_than_a_step(return_mask) -> None:
    # Values of PaddlePaddle 3.3.1, whose count of windows is rounded towards 0.
    x = paddle.to_tensor([[[[1.0]], [[2.0]]]])
    x.stop_gradient = False
    largest = F.max_pool2d(x, 2, 2, return_mask=return_mask)
    largest = largest[0] if return_mask else largest
    largest.sum().backward()
    assert largest.tolist() == F.avg_pool2d(x, 2, 2).tolist() == x.tolist() == [[[[1]], [[2]]]]
    assert F.avg_pool2d(x, 2, 2, exclusive=False).tolist() == x.tolist()  # parts outside of x are not counted
    assert x.grad.tolist() == [[[[1]], [[1]]]]
    assert F.max_pool2d(x, 4, 4).tolist() == x.tolist()
