"""Operations in place: the value in the tensor's own memory, and the gradient of the operation out of place."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest

import sampan as paddle
from sampan.engine.operator import names

X = np.array([[0.3, 0.6, 0.8], [0.2, 0.45, 0.7]])
ONE = [
    "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf", "erfinv", "exp", "expm1", "floor", "frac",
    "gammaln", "i0", "lgamma", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg", "reciprocal", "round", "rsqrt",
    "scale", "sigmoid", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "abs",
]  # fmt: skip
TWO = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "pow",
    "remainder",
    "hypot",
    "copysign",
    "ldexp",
    "lerp",
    "mul",
    "div",
    "sub",
]


def gradients(name: str, place: bool, extra: list) -> tuple:
    x = paddle.to_tensor(X, stop_gradient=False)
    others = [paddle.to_tensor(e, stop_gradient=False) if isinstance(e, np.ndarray) else e for e in extra]
    y = x * 1.0
    memory = y.data.data_ptr()
    result = getattr(y, f"{name}_" if place else name)(*others)
    assert not place or (result is y and y.data.data_ptr() == memory)
    (result * result).sum().backward()
    found = [x.grad, *(o.grad for o in others if isinstance(o, paddle.Tensor))]
    return result.numpy().copy(), [None if g is None else g.numpy() for g in found]


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_values_and_gradients(name: str) -> None:
    extra = [] if name in ONE else [X[0] + 0.1]
    extra += [0.3] if name == "lerp" else []
    (value, found), (expected, wanted) = (gradients(name, place, extra) for place in (True, False))
    np.testing.assert_array_equal(value, expected)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_every_second_name_is_there() -> None:
    pairs = [(alias, name) for name, facts in names.items() for alias in facts.aliases.split()]
    assert ("mul", "multiply") in pairs and len(pairs) == 24
    for alias, name in pairs:
        assert unwrap(getattr(paddle, alias)) is unwrap(getattr(paddle, name))
        assert getattr(paddle, alias).__name__ == alias
        assert hasattr(paddle.Tensor, alias) or not hasattr(paddle.Tensor, name)
        first, second = (unwrap(getattr(paddle.Tensor, f"{n}_", None)) for n in (alias, name))
        assert first is second


def test_comparisons_change_the_dtype_and_bits_do_not() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    assert x.less_than_(paddle.to_tensor([2.0, 1.0])) is x
    assert x.dtype == paddle.bool and x.tolist() == [True, False]
    n = paddle.to_tensor([6, 3])
    assert n.bitwise_and_(paddle.to_tensor([2, 1])).tolist() == [2, 1] and n.dtype == paddle.int64
    z = paddle.to_tensor([3 + 4j])
    assert z.abs_().tolist() == [5.0] and not z.is_complex()


def test_where_() -> None:
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
    into = x * 1.0
    assert paddle.where_(paddle.to_tensor([True, False]), into, y) is into
    assert into.tolist() == [1.0, 4.0]
    into.sum().backward()
    assert x.grad.tolist() == [1, 0] and y.grad.tolist() == [0, 1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="does not fit"):
        paddle.to_tensor([1, 2]).add_(paddle.to_tensor([0.5, 1.0]))
    with pytest.raises(ValueError, match="shape"):
        paddle.ones([3]).add_(paddle.ones([2, 3]))
    leaf = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(ValueError, match="leaf"):
        leaf.sin_()
    other = leaf * 2.0
    squared = other * other
    other.sin_()
    with pytest.raises(RuntimeError, match="overwritten"):
        squared.backward()


@pytest.mark.parametrize("name", sorted(n for n, facts in names.items() if facts.inplace == "direct"))
def test_a_refused_operator_in_place_leaves_the_array_as_it_was(name: str) -> None:
    """It is computed once more out of place, which must start from the same values."""
    two = name in ("add", "subtract", "multiply", "divide")
    wrong = [
        ([paddle.ones([3, 2])], "float32"),
        ([paddle.ones([2, 2, 3])], "float32"),
        ([paddle.ones([2, 3], "complex64")], "int64"),
    ]
    for others, dtype in wrong if two else [([], "int64"), ([], "bool"), ([paddle.ones([1])] * 3, "float32")]:
        x = paddle.to_tensor(X * 3).astype(dtype)
        before, kind = x.numpy().copy(), x.dtype
        try:
            getattr(x, f"{name}_")(*others)
        except (TypeError, ValueError, RuntimeError):
            assert x.dtype == kind
            np.testing.assert_array_equal(x.numpy(), before)
