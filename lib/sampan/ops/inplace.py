"""In-place twins: `x.add_(y)` computes what `x.add(y)` does and writes it into x's memory."""

from __future__ import annotations

from typing import Any

from ..operator import as_method
from ..tensor import Tensor, declared
from . import activation, elementwise, indexing, linalg, logic, reduction, shape

_TWINS = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "cumsum",
    "divide",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater_equal",
    "greater_than",
    "less_equal",
    "less_than",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "multiply",
    "neg",
    "not_equal",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "softmax",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "tril",
    "triu",
    "trunc",
    "index_add",
    "put_along_axis",
    "scatter",
]
_RESHAPES = ["flatten", "reshape", "squeeze", "t", "transpose", "unsqueeze"]


FAMILIES = (activation, elementwise, indexing, linalg, logic, reduction, shape)  # declared before their twins


def _twin(name: str) -> Any:
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        return x._write(operation(_before(x), *args, **kwargs))

    twin.__name__ = f"{name}_"
    twin.__doc__ = f"`{name}` in place: the result, which must have x's shape, takes the place of x's values."
    as_method(twin, f"{name}_")
    return twin


def _reshaping_twin(name: str) -> Any:
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        x._check_writable(not x.stop_gradient)
        result = operation(_before(x), *args, **kwargs)
        x.data, x.node = result.data, result.node
        return x

    twin.__name__ = f"{name}_"
    twin.__doc__ = f"`{name}` in place: x keeps its memory and gets the other shape."
    as_method(twin, f"{name}_")
    return twin


def _before(x: Tensor) -> Tensor:
    """x as it is now: the operator's input must stay tied to what made x, while x itself moves on."""
    before = Tensor(x.data, x.stop_gradient)
    before.node = x.node
    return before if x.node is not None else x


for _name in _TWINS:
    globals()[f"{_name}_"] = _twin(_name)
for _name in _RESHAPES:
    globals()[f"{_name}_"] = _reshaping_twin(_name)


def _scale_(self: Tensor, scale: float = 1.0, bias: float = 0.0) -> Tensor:
    """x scale + bias, in place."""
    return self._write(_before(self) * scale + bias)


as_method(_scale_, "scale_")
__all__ = [f"{_name}_" for _name in (*_TWINS, *_RESHAPES)]
