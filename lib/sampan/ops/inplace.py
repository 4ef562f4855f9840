"""In-place twins: `x.add_(y)` computes what `x.add(y)` does and writes it into x's memory."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from ..operator import as_method
from ..tensor import Tensor, declared
from . import activation, elementwise, indexing, linalg, logic, reduction, shape, special

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


FAMILIES = (
    activation,
    elementwise,
    indexing,
    linalg,
    logic,
    reduction,
    shape,
    special,
)  # declared before their twins


def _declare(name: str, take: Callable[[Tensor, Tensor], Tensor], what: str) -> None:
    """Make `name_` of an operator: `take(x, result)` puts the operator's result into x and returns x."""
    operation = getattr(declared, name)

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        return take(x, operation(x._before(), *args, **kwargs))

    twin.__name__ = f"{name}_"
    own = signature(operation)
    parameters = [p for p in own.parameters.values() if p.name != "out"]  # a twin's result is x itself
    twin.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    twin.__doc__ = f"`{name}` in place: {what}"
    as_method(twin, f"{name}_")
    globals()[f"{name}_"] = twin


def _rewritten(x: Tensor, result: Tensor) -> Tensor:
    return x._write(result)


def _reshaped(x: Tensor, result: Tensor) -> Tensor:
    if x.node is None:
        x._check_no_leaf(x)
    x.data, x.node = result.data, result.node
    return x


def _retyped(x: Tensor, result: Tensor) -> Tensor:
    if result.dtype is x.dtype:
        return x._write(result)
    x = _reshaped(x, result)
    x.stop_gradient = result.stop_gradient
    return x


for _name in _TWINS:
    _declare(_name, _rewritten, "the result, which must have x's shape, takes the place of x's values.")
for _name in _RETYPES:
    _declare(_name, _retyped, "x becomes the result, with its dtype (in new memory where that changes).")
for _name in _RESHAPES:
    _declare(_name, _reshaped, "x keeps its memory and gets the other shape.")


def _scale_(self: Tensor, scale: float = 1.0, bias: float = 0.0) -> Tensor:
    """x scale + bias, in place."""
    return self._write(self._before() * scale + bias)


as_method(_scale_, "scale_")
__all__ = [f"{_name}_" for _name in (*_TWINS, *_RETYPES, *_RESHAPES)]
