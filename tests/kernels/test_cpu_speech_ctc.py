"""The CTC loops beside torch's in float64, and beside the sum over all alignments."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.kernels import cpu_speech_ctc as kernels
from tests.graph.chances import with_threads


def by_torch(x: np.ndarray, given: Any, g: np.ndarray, dtype: torch.dtype = torch.float64) -> Any:
    labels, lengths, counts = given
    t = torch.tensor(x, dtype=dtype, requires_grad=True)
    arguments = [torch.tensor(v) for v in (labels, lengths, counts)]
    loss = torch.nn.functional.ctc_loss(t.log_softmax(-1), *arguments, 0, "none")
    loss.backward(torch.tensor(g, dtype=dtype))
    return loss.detach().numpy(), t.grad.numpy()


def ours(x: np.ndarray, given: Any, g: np.ndarray, divide: bool = False, blank: int = 0) -> Any:
    loss, paths = kernels.ctc_paths(x, *given, blank)
    return loss, kernels.ctc_slopes(g.astype(x.dtype), x, divide, blank, paths)


def drawn(times: int, batch: int, classes: int, most: int, spread: float, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, classes, (batch, most))
    counts = rng.integers(0, most + 1, batch)
    lengths = rng.integers(min(2 * most + 1, times), times + 1, batch)
    return (
        rng.normal(size=(times, batch, classes)) * spread,
        (labels, lengths, counts),
        rng.normal(size=batch),
    )


@pytest.mark.parametrize("sizes", [(7, 3, 5, 3, 1.0), (30, 4, 20, 8, 5.0), (200, 3, 50, 30, 30.0)])
def test_torch_in_float64(sizes: Any) -> None:
    x, label, g = drawn(*sizes)
    loss, slope = by_torch(x, label, g)
    for kind, close in ((np.float64, 1e-11), (np.float32, 2e-6)):
        exact = by_torch(x.astype(kind), label, g) if kind is np.float32 else (loss, slope)
        found = ours(x.astype(kind), label, g)
        assert found[0].dtype == found[1].dtype == kind
        np.testing.assert_allclose(found[0], exact[0], rtol=max(close / 10, 1e-13))
        np.testing.assert_allclose(found[1], exact[1], atol=close)


def test_float32_of_long_sequences_is_closer_than_torch() -> None:
    x, label, g = drawn(300, 2, 400, 40, 3.0)
    x = x.astype(np.float32)
    exact = by_torch(x, label, g)[1]
    error = abs(ours(x, label, g)[1] - exact).max()
    theirs = abs(by_torch(x, label, g, torch.float32)[1] - exact).max()
    assert error < 2e-6 < 1e-4 < theirs


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [k for k, _ in itertools.groupby(path) if k != blank]


@pytest.mark.parametrize("label", [[], [1], [1, 1], [1, 2], [2, 1, 2], [1, 1, 1]])
@pytest.mark.parametrize("blank", [0, 2])
def test_the_sum_over_all_paths(label: list[int], blank: int) -> None:
    if blank == 2:
        label = [2 - k for k in label]
    x = np.random.default_rng(len(label)).normal(size=(5, 1, 3))
    logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    paths = [p for p in itertools.product(range(3), repeat=5) if collapsed(p, blank) == label]
    scores = np.array([sum(logs[t, 0, k] for t, k in enumerate(p)) for p in paths])
    total = np.logaddexp.reduce(scores)
    shares = np.zeros((5, 3))
    for path, score in zip(paths, scores, strict=True):
        shares[np.arange(5), path] += np.exp(score - total)
    given = np.array([label], np.int64).reshape(1, -1), np.array([5]), np.array([len(label)])
    loss, slope = ours(x, given, np.ones(1), blank=blank)
    np.testing.assert_allclose(loss, -total, rtol=1e-13)
    np.testing.assert_allclose(slope[:, 0], np.exp(logs[:, 0]) - shares, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 3), st.integers(2, 6), st.integers(0, 5), st.sampled_from([0.1, 3.0, 200.0]),
    st.integers(0, 1 << 30),
)  # fmt: skip
def test_any_lengths(times: int, batch: int, classes: int, most: int, spread: float, seed: int) -> None:
    """Labels that do not fit too: an infinite loss without gradient."""
    x, (labels, _, counts), g = drawn(times, batch, classes, most, spread, seed)
    lengths = np.random.default_rng(seed).integers(1, times + 1, batch)
    label = labels, lengths, counts
    loss, slope = by_torch(x, label, g)
    found = ours(x, label, g)
    np.testing.assert_allclose(found[0], loss, rtol=1e-11, atol=1e-10)
    exact = np.where(np.isinf(loss)[None, :, None], 0.0, slope)
    np.testing.assert_allclose(found[1], exact, atol=1e-9)


def test_a_path_of_improbable_frames_keeps_its_precision() -> None:
    """e^-60,000 has no float64, and the other states are e^300 times as probable at each frame."""
    times = 200
    x = np.zeros((times, 1, 3))
    x[:, 0, 1] = -300.0
    x[times // 2 :, 0, 0] = -300.0
    label = np.array([[1, 1, 1, 2]]), np.array([times]), np.array([4])
    loss, slope = by_torch(x, label, np.ones(1))
    found = ours(x, label, np.ones(1))
    np.testing.assert_allclose(found[0], loss, rtol=1e-13)
    np.testing.assert_allclose(found[1], slope, atol=1e-9)


def test_central_differences() -> None:
    x, label, g = drawn(9, 2, 4, 3, 1.0, 5)
    slope = ours(x, label, g, divide=True)[1]
    direction = np.random.default_rng(1).normal(size=x.shape)
    ends = [(kernels.ctc_paths(x + s * 1e-6 * direction, *label, 0)[0] * g / label[1]).sum() for s in (1, -1)]
    assert (slope * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def test_masked_classes_and_broken_frames() -> None:
    x, (labels, _, _), g = drawn(6, 3, 4, 2, 1.0)
    lengths, counts = np.array([6, 4, 5]), np.array([2, 2, 1])
    labels[:] = [[1, 2], [1, 1], [2, 2]]
    x[2, 0, 3] = -np.inf  # a class that cannot be
    x[5, 1] = np.nan  # behind the end
    x[1, 2, 0] = np.nan
    label = labels, lengths, counts
    loss, slope = ours(x, label, g)
    clean = x.copy()
    clean[5, 1], clean[1, 2, 0], clean[2, 0, 3] = 0.0, 0.0, -1e4
    exact, exact_slope = by_torch(clean, label, g)
    np.testing.assert_allclose(loss[:2], exact[:2], rtol=1e-13)
    np.testing.assert_allclose(slope[:, :2], exact_slope[:, :2], atol=1e-13)
    assert np.isnan(loss[2]) and np.isnan(slope[:5, 2]).all() and (slope[5, 2] == 0).all()
    x[1, 2, 0] = np.inf
    assert np.isnan(ours(x, label, g)[0][2])


def test_a_label_through_a_masked_class_has_no_path() -> None:
    x = np.zeros((3, 1, 3))
    x[:, 0, 1] = -np.inf
    loss, slope = ours(x, (np.array([[1]]), np.array([3]), np.array([1])), np.ones(1))
    assert loss.tolist() == [np.inf] and (slope == 0).all()


def test_sequences_without_frames() -> None:
    x, labels = np.zeros((2, 2, 3)), np.ones((2, 1), np.int64)
    loss, slope = ours(x, (labels, np.array([0, 0]), np.array([0, 1])), np.ones(2))
    assert loss.tolist() == [0.0, np.inf] and (slope == 0).all()
    loss, slope = ours(x[:0], (labels, np.array([0, 0]), np.array([0, 1])), np.ones(2))
    assert loss.tolist() == [0.0, np.inf] and slope.shape == (0, 2, 3)


def test_batch_first_memory_is_read_in_place() -> None:
    x, label, g = drawn(8, 3, 5, 3, 1.0)
    turned = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)
    (loss, slope), (other, turned_slope) = ours(x, label, g), ours(turned, label, g)
    assert (loss == other).all() and (slope == turned_slope).all()
    assert turned_slope.strides == turned.strides
    strided = np.repeat(x, 2, 2)[:, :, ::2]
    assert (ours(strided, label, g)[1] == slope).all()


def test_threads_do_not_change_the_result() -> None:
    x, label, g = drawn(120, 5, 60, 20, 4.0)
    one, two = (with_threads(n, lambda: ours(x.astype(np.float32), label, g)) for n in (1, 2))
    assert (one[0] == two[0]).all() and (one[1] == two[1]).all()
    for loop in (kernels._read_loop, kernels._sum_loop, kernels._slope_loop):
        loop.parallel_from = 1 << 62
    try:
        serial = ours(x.astype(np.float32), label, g)
    finally:
        for loop in (kernels._read_loop, kernels._sum_loop, kernels._slope_loop):
            loop.parallel_from = kernels.PARALLEL_FROM
    assert (one[0] == serial[0]).all() and (one[1] == serial[1]).all()
