"""In-place twins: `x.add_(y)` computes what `x.add(y)` does and writes it into x's memory."""

# ruff: noqa: F401, I001, SIM905
from collections.abc import Callable
from inspect import signature
from typing import Any

import torch

from ..operator import REFUSALS, as_method, observers
from ..tensor import Tensor, declared

# The families whose operators get twins.
# fmt: off
from . import (
    activation, assembly, complex_numbers, elementwise, gathering, indexing, linalg, logic, norms, reduction, shape,
    slicing, special,
)
# fmt: on

_TWINS = (
    "acos acosh add addmm asin asinh atan atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clip copysign cos cosh cumprod cumsum digamma divide erf erfinv exp expm1 fill_diagonal fill_diagonal_tensor "
    "floor floor_divide frac gammainc gammaincc gcd hypot i0 index_add index_fill index_put lcm ldexp lerp lgamma log "
    "log10 log1p log2 logit masked_fill masked_scatter multigammaln multiply nan_to_num neg polygamma pow "
    "put_along_axis reciprocal relu remainder renorm round rsqrt scale scatter scatter_add sigmoid sin sinc sinh "
    "softmax sqrt square subtract tan tanh tril triu trunc elu hardtanh leaky_relu silu thresholded_relu"
).split()
_RETYPES = (
    "abs cast equal greater_equal greater_than less_equal less_than logical_and logical_not logical_or logical_xor "
    "not_equal"
).split()
_DIRECT = frozenset(  # where nothing is recorded these run in x's memory, by torch's method of that name
    "acos acosh add asin asinh atan atanh ceil cos cosh digamma divide erf erfinv exp expm1 floor i0 lgamma log log10 "
    "log1p log2 multiply neg reciprocal relu rsqrt sigmoid sin sinh sqrt square subtract tan tanh trunc".split()
)
_RESHAPES = "flatten reshape squeeze t transpose unsqueeze".split()


def _declare(name: str, take: Callable[[Tensor, Tensor], Tensor], what: str) -> None:
    """Make `name_` of an operator: `take(x, result)` puts the operator's result into x and returns x."""
    operation = getattr(declared, name)
    declaration = getattr(operation, "operator", None)
    keeps = take is not _reshaped and (declaration is None or declaration.keeps)
    direct = getattr(torch.Tensor, f"{name}_") if name in _DIRECT else None

    def twin(x, *args, **kwargs):  # type: ignore[no-untyped-def]
        recorded = torch.is_grad_enabled() and any(_wants_gradient(a) for a in (x, *args))
        if direct is not None and not (recorded or kwargs or observers):
            try:
                direct(x.data, *[a.data if isinstance(a, Tensor) else a for a in args])
            except REFUSALS:
                return take(x, operation(x._before(), *args))  # which says what does not fit
            x._mark_written()
            return x
        before = x._before()
        if keeps and recorded:
            before.data = x.data.clone()  # for the pullback, which x's own memory is about to be lost to
        return take(x, operation(before, *args, **kwargs))

    twin.__name__ = f"{name}_"
    own = signature(operation)
    parameters = [p for p in own.parameters.values() if p.name != "out"]  # a twin's result is x itself
    twin.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    twin.__doc__ = f"`{name}` in place: {what}"
    as_method(twin, f"{name}_")
    globals()[f"{name}_"] = twin


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.stop_gradient


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


def where_(condition, x=None, y=None, name=None):  # type: ignore[no-untyped-def]
    """`where` in place: x keeps its values where `condition` is true and takes those of y elsewhere."""
    return x._write(indexing.where(condition, x._before(), y))


for _names, _take, _what in (
    (_TWINS, _rewritten, "the result, which must have x's shape, takes the place of x's values."),
    (_RETYPES, _retyped, "x becomes the result, with its dtype (in new memory where that changes)."),
    (_RESHAPES, _reshaped, "x keeps its memory and gets the other shape."),
):
    for _name in _names:
        if hasattr(declared, _name):
            _declare(_name, _take, _what)
as_method(where_, "where_")
__all__ = [f"{_name}_" for _name in (*_TWINS, *_RETYPES, *_RESHAPES, "where") if f"{_name}_" in globals()]
