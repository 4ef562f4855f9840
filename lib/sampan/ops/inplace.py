"""In-place twins: `x.add_(y)` computes what `x.add(y)` does and writes it into x's memory."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..operator import as_method
from ..tensor import Tensor, declared
from . import activation, elementwise, indexing, linalg, logic, reduction, shape

_TWINS = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "ceil", "clip", "cos", "cosh",
    "cumsum", "divide", "erf", "exp", "expm1", "floor", "floor_divide", "log", "log10", "log1p", "log2",
    "masked_fill", "multiply", "neg", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "sigmoid",
    "sin", "sinh", "softmax", "sqrt", "square", "subtract", "tan", "tanh", "tril", "triu", "trunc",
    "index_add", "put_along_axis", "scatter",
]  # fmt: skip
_RETYPES = [
    "cast", "equal", "greater_equal", "greater_than", "less_equal", "less_than", "logical_and", "logical_not",
    "logical_or", "logical_xor", "not_equal",
]  # fmt: skip
_RESHAPES = ["flatten", "reshape", "squeeze", "t", "transpose", "unsqueeze"]


FAMILIES = (activation, elementwise, indexing, linalg, logic, reduction, shape)  # declared before their twins


def _twin(name: str) -> Any:
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        return x._write(operation(x._before(), *args, **kwargs))

    twin.__name__ = f"{name}_"
    twin.__signature__ = signature(operation)  # type: ignore[attr-defined]
    twin.__doc__ = f"`{name}` in place: the result, which must have x's shape, takes the place of x's values."
    as_method(twin, f"{name}_")
    return twin


def _reshaping_twin(name: str) -> Any:
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        if x.node is None:
            x._check_no_leaf(x)
        result = operation(x._before(), *args, **kwargs)
        x.data, x.node = result.data, result.node
        return x

    twin.__name__ = f"{name}_"
    twin.__signature__ = signature(operation)  # type: ignore[attr-defined]
    twin.__doc__ = f"`{name}` in place: x keeps its memory and gets the other shape."
    as_method(twin, f"{name}_")
    return twin


def _retyping_twin(name: str) -> Any:
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        result = operation(x._before(), *args, **kwargs)
        if result.dtype is x.dtype:
            return x._write(result)
        if x.node is None:
            x._check_no_leaf(x)
        x.data, x.node, x.stop_gradient = result.data, result.node, result.stop_gradient
        return x

    twin.__name__ = f"{name}_"
    twin.__signature__ = signature(operation)  # type: ignore[attr-defined]
    twin.__doc__ = (
        f"`{name}` in place: x becomes the result, with its dtype (in new memory where that changes)."
    )
    as_method(twin, f"{name}_")
    return twin


for _name in _TWINS:
    globals()[f"{_name}_"] = _twin(_name)
for _name in _RETYPES:
    globals()[f"{_name}_"] = _retyping_twin(_name)
for _name in _RESHAPES:
    globals()[f"{_name}_"] = _reshaping_twin(_name)


def _scale_(self: Tensor, scale: float = 1.0, bias: float = 0.0) -> Tensor:
    """x scale + bias, in place."""
    return self._write(self._before() * scale + bias)


as_method(_scale_, "scale_")
__all__ = [f"{_name}_" for _name in (*_TWINS, *_RETYPES, *_RESHAPES)]
