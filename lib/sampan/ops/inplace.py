"""In-place twins: `x.add_(y)` computes what `x.add(y)` does and writes it into x's memory."""

# ruff: noqa: F401, I001, SIM905
from collections.abc import Callable
from inspect import signature
from typing import Any

import torch

from ..engine.backward import enable_grad
from ..engine.apply import REFUSALS, casts, observers
from ..engine.fast import MISSING
from ..engine.operator import as_method
from ..engine.spelling import renamed
from ..engine.tape import replaced
from ..engine.tensor import Refused, Tensor, WrongKind, declared

# The families whose operators get twins.
from . import (
    activation,
    assembly,
    complex_numbers,
    elementwise,
    gathering,
    indexing,
    linalg,
    logic,
    norms,
    reduction,
    shape,
    slicing,
    special,
)

_TWINS = (
    "acos acosh add addmm asin asinh atan atanh baddbmm bitwise_and bitwise_left_shift bitwise_not "
    "bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clip copysign cos cosh digamma divide erf erfinv exp expm1 "
    "fill_diagonal fill_diagonal_tensor "
    "floor floor_divide frac gammainc gammaincc gcd hypot i0 index_add index_fill index_put lcm lerp lgamma "
    "log "
    "log10 log1p log2 logit masked_fill masked_scatter multigammaln multiply nan_to_num neg polygamma pow "
    "put_along_axis reciprocal relu remainder renorm round rsqrt scale scatter scatter_add sigmoid sin sinc "
    "sinh "
    "softmax sqrt square subtract tan tanh tril triu trunc elu hardtanh leaky_relu silu thresholded_relu"
).split()
_RETYPES = (
    "abs cast equal greater_equal greater_than ldexp less_equal less_than logical_and logical_not logical_or "
    "logical_xor "
    "not_equal"
).split()
_DIRECT = frozenset(  # where nothing is recorded these run in x's memory, by torch's method of that name
    "acos acosh add asin asinh atan atanh ceil cos cosh digamma divide erf erfinv exp expm1 floor i0 lgamma "
    "log log10 "
    "log1p log2 multiply neg reciprocal relu rsqrt sigmoid sin sinh sqrt square subtract tan tanh "
    "trunc".split()
)
_RESHAPES = "flatten reshape squeeze t transpose unsqueeze".split()


def _declare(name: str, take: Callable[..., Tensor], what: str) -> None:
    """Make `name_` of an operator: `take(x, result, operands)` puts the operator's result into x and returns
    x."""
    operation = getattr(declared, name)
    declaration = getattr(operation, "operator", None)
    keeps = take is not _reshaped and (declaration is None or declaration.reads_first)
    direct = getattr(torch.Tensor, f"{name}_") if name in _DIRECT else None
    own = signature(operation)
    parameters = [p for p in own.parameters.values() if p.name != "out"]  # a twin's result is x itself
    first, known = parameters[0].name, [p.name for p in parameters]

    def twin(x=MISSING, /, *args, **kwargs):
        if x is MISSING:
            kwargs = renamed(known, kwargs)
            if first not in kwargs:
                raise TypeError(f"{name}_: missing the argument {first!r}")
            x = kwargs.pop(first)
        operands = (*args, *kwargs.values()) if kwargs else args
        try:
            wanted, mixed = not x.stop_gradient, False
        except AttributeError:
            raise WrongKind(f"{name}_: {first}: expected a Tensor, got {type(x).__name__}") from None
        for value in operands:
            if isinstance(value, Tensor):
                wanted = wanted or not value.stop_gradient
                mixed = mixed or value.data.dtype is not x.data.dtype
        recorded = wanted and torch.is_grad_enabled()
        if direct is not None and not (recorded or mixed or kwargs or observers or casts):
            try:
                direct(x.data, *[a.data if isinstance(a, Tensor) else a for a in args])
            except REFUSALS:
                return take(x, operation(x._before(), *args), args)  # which says what does not fit
            x._mark_written()
            return x
        before = x._before()
        if keeps and recorded:  # a derivative reads x, whose own memory is about to be overwritten
            before.data = x.data.clone()
        return take(x, operation(before, *args, **kwargs), operands)

    twin.__name__ = f"{name}_"
    twin.__code__ = twin.__code__.replace(co_name=twin.__name__)  # as tracebacks and errors name it
    twin.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    twin.__doc__ = f"`{name}` in place: {what}"
    as_method(twin, f"{name}_")
    globals()[f"{name}_"] = twin


def _rewritten(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    """x with the result's values; with its dtype too where the operator promotes x's, as in Paddle.

    An int stays one beside a float operand, which is refused, and beside a wider int.
    """
    before, after = x.data.dtype, result.data.dtype
    if before is after or not (after.is_floating_point or after.is_complex):
        return x._write(result)
    of_ints = not (before.is_floating_point or before.is_complex)
    if of_ints and after.is_floating_point and any(map(_is_float, operands)):
        return x._write(result)
    return _retyped(x, result)


def _accumulated(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    """x with sums or products along an axis; without one x becomes a vector first."""
    if result.data.shape != x.data.shape:
        _reshaped(x, declared.reshape(x._before(), [-1]))
    return _rewritten(x, result, operands)


def _is_float(value: Any) -> bool:
    return value.data.is_floating_point() if isinstance(value, Tensor) else isinstance(value, float)


def _reshaped(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    if x.node is None:
        x._check_no_leaf(x)
    elif not torch.is_grad_enabled():  # the tensor stays on the tape, whose gradients have its former shape
        with enable_grad():
            result = declared.reshape(x._before(), list(result.shape))
    x.data, x.node = result.data, result.node
    return x


def _retyped(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    """x with the result's values and its dtype, which takes new memory: views of the former memory keep
    theirs."""
    if result.data.dtype is x.data.dtype:
        return x._write(result)
    if result.data.shape != x.data.shape:
        raise Refused(f"in place: the result has shape {[*result.shape]}, the tensor has {[*x.shape]}")
    if torch.is_grad_enabled():
        if x.node is None:
            x._check_no_leaf(x)
        x.node, x.stop_gradient = result.node, result.stop_gradient
    elif x.node is not None:  # a constant to the tape, whose gradients have x's former dtype
        with enable_grad():
            x.node = declared.cast(x._before(), result.data.dtype).node
    replaced(x.data, result.data)
    x.data = result.data
    return x


def where_(condition, x=None, y=None, name=None):
    """`where` in place: x keeps its values where `condition` is true and takes those of y elsewhere."""
    return _rewritten(x, indexing.where(condition, x._before(), y), (y,))


for _names, _take, _what in (
    (_TWINS, _rewritten, "the result, which must have x's shape, takes the place of x's values."),
    (("cumprod", "cumsum"), _accumulated, "without an axis x becomes a vector."),
    (_RETYPES, _retyped, "x becomes the result, with its dtype (in new memory where that changes)."),
    (_RESHAPES, _reshaped, "x keeps its memory and gets the other shape."),
):
    for _name in _names:
        if hasattr(declared, _name):
            _declare(_name, _take, _what)
as_method(where_, "where_")
__all__ = [
    f"{_name}_"
    for _name in (*_TWINS, "cumprod", "cumsum", *_RETYPES, *_RESHAPES, "where")
    if f"{_name}_" in globals()
]
