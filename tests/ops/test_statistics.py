"""Statistics against NumPy: NaN, even numbers of entries, modes, weights, histograms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.tensor import Tensor

NAN = float("nan")


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).standard_normal(shape)


def leaf(values) -> Tensor:
    return paddle.to_tensor(values, dtype="float64", stop_gradient=False)


def test_sums_and_means_without_nan() -> None:
    x = leaf([[1.0, NAN], [NAN, NAN], [2.0, 3.0]])
    np.testing.assert_array_equal(paddle.nansum(x, 1).numpy(), [1.0, 0.0, 5.0])
    mean = paddle.nanmean(x, 1)
    np.testing.assert_array_equal(mean.numpy(), [1.0, NAN, 2.5])
    mean.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]])
    assert paddle.nansum(paddle.to_tensor([1, 2])).dtype == torch.int64


def test_medians() -> None:
    x = leaf([[1.0, NAN, 3.0, 2.0], [4.0, 1.0, 3.0, 2.0]])
    np.testing.assert_array_equal(paddle.median(x, 1).numpy(), [NAN, 2.5])
    np.testing.assert_array_equal(paddle.nanmedian(x, 1).numpy(), np.nanmedian(x.numpy(), 1))
    value, index = paddle.nanmedian(x, 1, mode="min")
    assert value.tolist() == [2.0, 2.0] and index.tolist() == [3, 3]
    value, index = paddle.median(x[1:], 1, keepdim=True, mode="min")
    assert value.tolist() == [[2.0]] and index.tolist() == [[3]]
    paddle.nanmedian(x, [0, 1]).backward()
    assert float(x.grad.sum()) == 1.0
    assert paddle.median(paddle.to_tensor([1, 2, 3, 4])).dtype == torch.float32
    for bad, message in (({"mode": "max"}, "mode"), ({"axis": [0, 1]}, "axis"), ({"axis": []}, "axis")):
        with pytest.raises(ValueError, match=f"median: {message}"):
            paddle.median(x, **bad)
    with pytest.raises(TypeError, match="median: x"):
        paddle.median([1.0])


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles(how) -> None:
    x = drawn(3, 4, 5)
    for q, axis in ((0.3, None), (0.3, 1), ([0.1, 0.77], 0)):
        expected = np.quantile(x, q, axis, method=how)
        np.testing.assert_allclose(paddle.quantile(leaf(x), q, axis, interpolation=how).numpy(), expected)
    both = paddle.quantile(leaf(x), paddle.to_tensor([0.2, 0.7], "float64"), [0, 2], True, how)
    np.testing.assert_allclose(both.numpy(), np.quantile(x, [0.2, 0.7], (0, 2), keepdims=True, method=how))
    x[0, 0, 0] = NAN
    np.testing.assert_allclose(
        paddle.nanquantile(leaf(x), 0.3, 1, False, how).numpy(), np.nanquantile(x, 0.3, 1, method=how)
    )
    assert np.isnan(paddle.quantile(leaf(x), 0.3, interpolation=how).numpy())


def test_what_a_quantile_refuses() -> None:
    x = leaf(drawn(3))
    for q in (1.5, [], paddle.ones([1, 1])):
        with pytest.raises(ValueError, match="quantile: q"):
            paddle.quantile(x, q)
    with pytest.raises(TypeError, match="quantile: q"):
        paddle.quantile(x, "half")
    with pytest.raises(ValueError, match="quantile: interpolation"):
        paddle.quantile(x, 0.5, interpolation="cubic")


def test_histograms() -> None:
    x = drawn(50)
    np.testing.assert_array_equal(paddle.histogram(leaf(x), 7).numpy(), np.histogram(x, 7)[0])
    inside = paddle.histogram(leaf(x), 5, -1, 2, weight=leaf(np.abs(x)))
    np.testing.assert_allclose(inside.numpy(), np.histogram(x, 5, (-1, 2), weights=np.abs(x))[0], rtol=1e-6)
    dense = paddle.histogram(leaf(x), 5, density=True)
    np.testing.assert_allclose(dense.numpy(), np.histogram(x, 5, density=True)[0], rtol=1e-6)
    assert paddle.histogram(paddle.to_tensor([1.0, 1.0]), 4).tolist() == [0, 0, 2, 0]
    np.testing.assert_allclose(
        paddle.histogram_bin_edges(leaf(x), 5).numpy(), np.histogram_bin_edges(x, 5), rtol=1e-6
    )
    with pytest.raises(ValueError, match=r"histogram: the range from 3.0 to 1.0 is none"):
        paddle.histogram(leaf(x), 4, 3, 1)


def test_histograms_of_points() -> None:
    x, w = drawn(30, 2), np.abs(drawn(30))
    for settings, numpy_settings in (
        ({"bins": 3}, {"bins": 3}),
        ({"bins": [2, 4], "ranges": [-1.0, 1.0, -2.0, 2.0]}, {"bins": [2, 4], "range": [(-1, 1), (-2, 2)]}),
        ({"bins": 3, "weights": leaf(w), "density": True}, {"bins": 3, "weights": w, "density": True}),
        ({"bins": (leaf([-1.0, 0.0, 2.0]), leaf([-2.0, 2.0]))}, {"bins": [[-1, 0, 2], [-2, 2]]}),
    ):
        counts, edges = paddle.histogramdd(leaf(x), **settings)
        expected, ends = np.histogramdd(x, **numpy_settings)
        np.testing.assert_allclose(counts.numpy(), expected)
        for a, b in zip(edges, ends, strict=True):
            np.testing.assert_allclose(a.numpy(), b)
    for bad in ({"bins": [3]}, {"ranges": [0.0, 1.0]}, {"weights": leaf(w[:3])}):
        with pytest.raises(ValueError, match="histogramdd: "):
            paddle.histogramdd(leaf(x), **bad)


def test_weighted_covariances() -> None:
    x, often, much = drawn(3, 5), np.array([1, 2, 1, 3, 1]), np.array([0.5, 1, 2, 1, 1])
    for settings in ({}, {"fweights": often}, {"aweights": much}, {"fweights": often, "aweights": much}):
        for ddof in (True, False):
            given = {k: paddle.to_tensor(v) for k, v in settings.items()}
            ours = paddle.linalg.cov(leaf(x), ddof=ddof, **given)
            np.testing.assert_allclose(ours.numpy(), np.cov(x, ddof=int(ddof), **settings))
    np.testing.assert_allclose(paddle.linalg.corrcoef(leaf(x.T), False).numpy(), np.corrcoef(x))
    assert float(paddle.linalg.corrcoef(leaf(x[0]))) == 1.0
    for bad in ({"fweights": paddle.to_tensor([1, 2])}, {"aweights": paddle.to_tensor([-1.0] * 5)}):
        with pytest.raises(ValueError, match=r"cov: [fa]weights: expected 5 numbers of 0 or more"):
            paddle.linalg.cov(leaf(x), **bad)
    with pytest.raises(ValueError, match="cov: fweights must be integers"):
        paddle.linalg.cov(leaf(x), fweights=leaf(much))
    with pytest.raises(ValueError, match="cov: the weights add up to 0"):
        paddle.linalg.cov(leaf(x), aweights=paddle.zeros([5]))
    with pytest.raises(ValueError, match="cov: expected a vector or a matrix"):
        paddle.linalg.cov(leaf(drawn(2, 2, 2)))


def test_counting() -> None:
    x = paddle.to_tensor([1, 2, 1, 4])
    assert paddle.bincount(x, minlength=7).tolist() == [0, 2, 1, 0, 1, 0, 0]
    assert paddle.bincount(x, paddle.to_tensor([0.5, 1, 1, 1])).tolist() == [0, 1.5, 1, 0, 1]
    for bad in (paddle.to_tensor([-1]), paddle.to_tensor([[1]])):
        with pytest.raises(ValueError, match="bincount: "):
            paddle.bincount(bad)


def test_differences() -> None:
    x = drawn(3, 4)
    ours = paddle.diff(leaf(x), 2, 0, leaf(x[:1]), leaf(x[1:]))
    np.testing.assert_allclose(ours.numpy(), np.diff(x, 2, 0, x[:1], x[1:]))
    changes = paddle.diff(paddle.to_tensor([True, True, False, True]))
    assert changes.tolist() == [False, True, True]
    with pytest.raises(ValueError, match="diff: n: expected at least 1"):
        paddle.diff(leaf(x), 0)
    with pytest.raises(ValueError, match="trapezoid: expected x or dx"):
        paddle.trapezoid(leaf(x), leaf(x), 1.0)
    with pytest.raises(TypeError, match="trapezoid: expected floating tensors"):
        paddle.trapezoid(paddle.to_tensor([1, 2]))
    np.testing.assert_allclose(
        paddle.trapezoid(leaf(x), dx=0.5, axis=0).numpy(), np.trapezoid(x, dx=0.5, axis=0)
    )


def test_running_products_with_zeros_have_second_derivatives() -> None:
    values = np.array([[1.0, 0.0, 2.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    x, t = leaf(values), torch.tensor(values, requires_grad=True)
    paddle.cumprod(x, 1).sum().backward()
    t.cumprod(1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy())
    y, t = leaf(values), torch.tensor(values, requires_grad=True)
    (g,) = paddle.grad(paddle.cumprod(y, 1).sum(), [y], create_graph=True)
    (w,) = torch.autograd.grad(t.cumprod(1).sum(), t, create_graph=True)
    (h,), (v,) = paddle.grad((g * g).sum(), [y]), torch.autograd.grad(w.square().sum(), t)
    np.testing.assert_allclose(h.numpy(), v.numpy())


def test_running_log_sums_do_not_overflow() -> None:
    values = [1.0, 1000.0, -1000.0, 1000.0]
    x, t = leaf(values), torch.tensor(values, dtype=torch.float64, requires_grad=True)
    out, expected = paddle.logcumsumexp(x), t.logcumsumexp(0)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy())
    weights = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)
    out.backward(Tensor(weights))
    expected.backward(weights)
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy())


def test_means_of_integers_keep_their_dtype() -> None:
    x = paddle.to_tensor([[1, 2], [4, 5]], "int32")
    assert x.mean().dtype == torch.int32 and x.mean(0).tolist() == [2, 3]
    assert paddle.mean(x, dtype="float32").tolist() == 3.0
    assert paddle.sum(paddle.to_tensor([200, 100], "uint8")).dtype == torch.uint8
    assert float(paddle.var(leaf([1.0, 3.0]), correction=0)) == 1.0
    with pytest.raises(ValueError, match="var: expected unbiased or correction"):
        paddle.var(leaf([1.0, 3.0]), unbiased=True, correction=2)
    with pytest.raises(ValueError, match="argmax: dtype: expected int32 or int64"):
        paddle.argmax(x, dtype="float32")


def test_positions_in_a_number_and_membership_of_bools_are_paddles() -> None:
    x = paddle.to_tensor(3.0)
    shapes = [paddle.argmax(x, axis=0, keepdim=True), paddle.argmin(x, -1, True), paddle.argmax(x, axis=0)]
    assert [list(found.shape) for found in shapes] == [[1], [1], []]
    assert paddle.isin(paddle.to_tensor([True, False]), paddle.to_tensor([True])).tolist() == [True, False]
