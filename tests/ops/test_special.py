"""Special functions, rounding and bits at the edges of their domains, against SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import sampan as paddle

X = np.array([0.3, 1.0, 2.5, 7.0])
CASES = {
    "digamma": scipy.special.digamma, "erf": scipy.special.erf, "gammaln": scipy.special.gammaln, "i0": scipy.special.i0,
    "i0e": scipy.special.i0e, "i1": scipy.special.i1, "i1e": scipy.special.i1e, "lgamma": scipy.special.gammaln,
    "sinc": np.sinc,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    np.testing.assert_allclose(getattr(paddle, name)(paddle.to_tensor(X)).numpy(), CASES[name](X), rtol=1e-12)
    whole = getattr(paddle, name)(paddle.to_tensor([1, 2]))
    assert whole.dtype == paddle.float32  # integers become floats
    np.testing.assert_allclose(whole.numpy(), CASES[name](np.array([1.0, 2.0])), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "at_zero"), [("i1", 0.5), ("i1e", 0.5), ("sinc", 0.0)])
def test_derivatives_at_zero(name: str, at_zero: float) -> None:
    x = paddle.to_tensor([0.0], stop_gradient=False)
    getattr(paddle, name)(x).backward()
    assert float(x.grad) == pytest.approx(at_zero, abs=1e-6)


def test_incomplete_gamma_functions() -> None:
    a, y = np.array([[0.5], [2.0], [6.0]]), np.array([0.2, 1.0, 5.0])
    x, t = paddle.to_tensor(a), paddle.to_tensor(y, stop_gradient=False)
    np.testing.assert_allclose(paddle.gammainc(x, t).numpy(), scipy.special.gammainc(a, y), atol=1e-12)
    upper = paddle.gammaincc(x, t)
    np.testing.assert_allclose(upper.numpy(), scipy.special.gammaincc(a, y), rtol=1e-12)
    upper.sum().backward()
    density = -np.exp(-y + (a - 1) * np.log(y) - scipy.special.gammaln(a))
    np.testing.assert_allclose(t.grad.numpy(), density.sum(0), rtol=1e-12)
    (slope,) = paddle.grad([paddle.gammainc(x, t).sum()], [t], create_graph=True)
    (bend,) = paddle.grad([slope.sum()], [t])
    step = 1e-6
    moved = [
        -np.exp(-s + (a - 1) * np.log(s) - scipy.special.gammaln(a)).sum(0) for s in (y + step, y - step)
    ]
    np.testing.assert_allclose(bend.numpy(), -(moved[0] - moved[1]) / (2 * step), rtol=1e-5)
    for bad in ([-0.5], [0.5]):
        with pytest.raises(ValueError, match="negative"):
            paddle.gammainc(paddle.to_tensor(bad), paddle.to_tensor([-1.0]))


def test_polygamma_and_multigammaln() -> None:
    for n in range(4):
        expected = scipy.special.polygamma(n, X)
        np.testing.assert_allclose(paddle.polygamma(paddle.to_tensor(X), n).numpy(), expected, rtol=1e-8)
    for v in X + 2:
        found = float(paddle.multigammaln(paddle.to_tensor(v), 3))
        assert found == pytest.approx(scipy.special.multigammaln(v, 3), rel=1e-11)
    with pytest.raises(TypeError, match="n must be an int"):
        paddle.polygamma(paddle.to_tensor(X), 1.5)
    with pytest.raises(ValueError, match="negative"):
        paddle.polygamma(paddle.to_tensor(X), -1)
    with pytest.raises(AssertionError, match="at least 1"):
        paddle.multigammaln(paddle.to_tensor(X), 0)


def test_logit_outside_its_domain() -> None:
    x = paddle.to_tensor([-0.1, 0.0, 0.5, 1.0, 1.1], dtype="float64", stop_gradient=False)
    assert np.isnan(paddle.logit(x).numpy()[[0, 4]]).all()
    held = paddle.logit(x, 0.1)
    np.testing.assert_allclose(held.numpy(), scipy.special.logit([0.1, 0.1, 0.5, 0.9, 0.9]), rtol=1e-12)
    held.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 0, 4, 0, 0])


def test_frexp_and_ldexp() -> None:
    values = np.array([0.0, 1.0, -3.5, 1e300, 5e-324])
    mantissa, exponent = paddle.frexp(paddle.to_tensor(values))
    expected = np.frexp(values)
    assert mantissa.tolist() == expected[0].tolist() and exponent.tolist() == expected[1].tolist()
    assert exponent.dtype == paddle.float64
    assert paddle.ldexp(mantissa, exponent).tolist()[:3] == values.tolist()[:3]
    assert paddle.ldexp(paddle.to_tensor([1, 3]), paddle.to_tensor([2, -1])).tolist() == [4.0, 1.5]
    with pytest.raises(TypeError, match="y must be a tensor"):
        paddle.ldexp(mantissa, 2)


def test_shifts() -> None:
    x = paddle.to_tensor(np.array([8, -8, -1], np.int32))
    places = paddle.to_tensor(np.array([1, 3, 40], np.int32))
    assert (x >> places).tolist() == [4, -1, -1] and (x << places).tolist() == [16, -64, 0]
    logical = paddle.bitwise_right_shift(x, places, False)
    assert logical.tolist() == [4, (2**32 - 8) >> 3, 0]
    assert (2 << paddle.to_tensor([1, 2])).tolist() == [4, 8] and (x >> 1).tolist() == [4, -4, -1]
    out = paddle.zeros([3], "int32")
    assert paddle.bitwise_and(x, places, out).tolist() == out.tolist() == [0, 0, 40]


def test_rounding_to_decimals() -> None:
    x = np.array([0.125, -2.5, 1234.5678, 0.5])
    for decimals in (0, 2, -2):
        assert paddle.round(paddle.to_tensor(x), decimals).tolist() == pytest.approx(
            np.round(x, decimals).tolist()
        )
    assert paddle.round(paddle.to_tensor([15, 25]), -1).tolist() == [
        15,
        25,
    ]  # integers stay, as Paddle has it
    assert paddle.divide(
        paddle.to_tensor([7, -7]), paddle.to_tensor([2, 2]), rounding_mode="trunc"
    ).tolist() == [3, -3]
    with pytest.raises(ValueError, match="rounding_mode"):
        paddle.divide(paddle.ones([1]), paddle.ones([1]), rounding_mode="up")


def test_scaled_sums_and_scale() -> None:
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
    paddle.subtract(x, y, alpha=3).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [-3, -3]
    assert x.add(y, alpha=0.5).tolist() == [2.5, 4.0]
    assert paddle.scale(paddle.to_tensor([1, 2]), 2.5, 1.5).tolist() == [3, 5]  # in int64, settings too
    assert paddle.scale(x, 2.0, 1.0, False, act="relu").tolist() == [4, 6]


def test_clip_and_its_errors() -> None:
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x.clip(paddle.to_tensor(1.5), max=paddle.to_tensor([2.5])).sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="max must not be below min"):
        paddle.clip(x, 2.0, 1.0)


def test_sums_of_lists_and_increment() -> None:
    x = paddle.to_tensor([1.0], stop_gradient=False)
    paddle.add_n([x, x * 2, x]).backward()
    assert x.grad.tolist() == [4]
    with pytest.raises(ValueError, match="one shape"):
        paddle.add_n([paddle.ones([2]), paddle.ones([3])])
    counter = paddle.to_tensor([3])
    assert paddle.increment(counter, 2) is counter and counter.tolist() == [5]
    with pytest.raises(ValueError, match="one entry"):
        paddle.increment(paddle.ones([2]))
    for sign, kind in ((paddle.positive, TypeError), (paddle.negative, ValueError)):
        with pytest.raises(kind, match="bool"):
            sign(paddle.to_tensor([True]))
    a, b = paddle.to_tensor(1.0, stop_gradient=False), paddle.to_tensor([2.0], stop_gradient=False)
    total = paddle.add_n([a, b, a])  # shapes [] and [1]
    total.backward()
    assert total.tolist() == [4.0] and a.grad.item() == 2 and b.grad.tolist() == [1.0]
