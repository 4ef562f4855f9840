"""Comparisons, logic and bits against NumPy, and the summaries that answer once for a whole array."""

from __future__ import annotations

import numpy as np
import pytest

import sampan as paddle

COMPARISONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_equal": np.less_equal,
    "greater_than": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
SIGNS = {
    "equal": "==", "not_equal": "!=", "less_than": "<", "less_equal": "<=", "greater_than": ">", "greater_equal": ">=",
}  # fmt: skip
SPECIAL = np.array([0.0, -0.0, 1.5, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    a, b = SPECIAL[:, None], SPECIAL[None, :]
    x, y = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(b)
    expected = COMPARISONS[name](a, b)
    for found in (getattr(paddle, name)(x, y), getattr(x, name)(y), eval(f"x {SIGNS[name]} y")):
        assert found.dtype == paddle.bool and found.stop_gradient
        np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(eval(f"x {SIGNS[name]} 1.5").numpy(), COMPARISONS[name](a, 1.5))
    np.testing.assert_array_equal(eval(f"1.5 {SIGNS[name]} x").numpy(), COMPARISONS[name](1.5, a))


def test_comparisons_between_dtypes() -> None:
    assert (paddle.to_tensor([1, 2]) > 1.5).tolist() == [False, True]
    assert (paddle.to_tensor([True]) == paddle.to_tensor([1])).tolist() == [True]
    assert (paddle.to_tensor([1]) < paddle.to_tensor([1.5])).tolist() == [True]
    with pytest.raises(ValueError, match=r"less_than: .*\(2\).*\(3\)"):
        _ = paddle.zeros([2]) < paddle.zeros([3])


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_logic(name: str, dtype: str) -> None:
    a, b = np.array([[0, 1], [2, 0]]).astype(dtype), np.array([0, 3]).astype(dtype)
    found = getattr(paddle, name)(paddle.to_tensor(a), paddle.to_tensor(b))
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(a, b))
    assert paddle.logical_not(paddle.to_tensor(a)).tolist() == np.logical_not(a).tolist()


@pytest.mark.parametrize(("name", "sign"), [("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^")])
def test_bits(name: str, sign: str) -> None:
    for a, b in (
        (np.array([5, 3, -1]), np.array([6, 3, 2])),
        (np.array([True, False]), np.array([True, True])),
    ):
        x, y = paddle.to_tensor(a), paddle.to_tensor(b)
        expected = getattr(np, name)(a, b).tolist()
        assert getattr(paddle, name)(x, y).tolist() == eval(f"x {sign} y").tolist() == expected
        assert (~x).tolist() == (~a).tolist()
    assert (
        eval(f"paddle.to_tensor([5]) {sign} 3").tolist() == eval(f"3 {sign} paddle.to_tensor([5])").tolist()
    )
    with pytest.raises(TypeError, match=name):
        eval(f"paddle.to_tensor([1.5]) {sign} paddle.to_tensor([1.5])")
    with pytest.raises(TypeError, match="bitwise_not"):
        _ = ~paddle.to_tensor([1.5])


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_what_a_value_is(name: str) -> None:
    np.testing.assert_array_equal(
        getattr(paddle, name)(paddle.to_tensor(SPECIAL)).numpy(), getattr(np, name)(SPECIAL)
    )
    assert getattr(paddle, name)(paddle.to_tensor([1])).dtype == paddle.bool


def test_closeness() -> None:
    a, b = np.array([1.0, 1.0, np.nan, np.inf, 0.0]), np.array([1.0 + 1e-6, 1.1, np.nan, np.inf, 1e-9])
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    for equal_nan in (False, True):
        expected = np.isclose(a, b, equal_nan=equal_nan)
        assert paddle.isclose(x, y, equal_nan=equal_nan).tolist() == expected.tolist()
        assert bool(paddle.allclose(x, y, equal_nan=equal_nan)) is bool(expected.all())
    assert bool(paddle.allclose(x[:2], y[:2], rtol=0.2)) and paddle.allclose(x, y).shape == []


def test_whole_arrays() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    assert bool(paddle.equal_all(x, x.clone())) and not bool(paddle.equal_all(x, x + 1.0))
    assert not bool(paddle.equal_all(x, paddle.to_tensor([[1.0, 2.0]]))) and bool(
        x.equal_all(paddle.to_tensor([1, 2]))
    )
    assert not bool(paddle.equal_all(paddle.to_tensor([np.nan]), paddle.to_tensor([np.nan])))
    assert bool(paddle.is_empty(paddle.zeros([2, 0]))) and not bool(x.is_empty())
    for values in ([], [0.0], [1.0, 0.0], [1.0, 2.0]):
        t = paddle.to_tensor(values)
        assert bool(t.all()) is bool(np.all(values)) and bool(t.any()) is bool(np.any(values))
