"""The other names of declared functions: aliases, and in-place twins.

`x.add_(y)` computes what `x.add(y)` does and writes it into x's memory. How, is the fact `inplace` of the
declaration of `add`: one of `KINDS`.
"""

# ruff: noqa: F401
from collections.abc import Callable
from inspect import signature
from typing import Any

import torch

from ..engine.apply import observers
from ..engine.backward import enable_grad
from ..engine.error_translation import RAISED_INSIDE, raised_inside, translate_error
from ..engine.errors import with_name
from ..engine.fast import MISSING
from ..engine.operator import as_method, names
from ..engine.spelling import renamed
from ..engine.tape import replaced
from ..engine.tensor import InvalidArgument, InvalidType, Tensor

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


def _twin(name: str, operation: Callable[..., Tensor], inplace: str) -> Any:
    """`name_` of a function: puts its result into x and returns x."""
    take, what = KINDS[inplace]
    declaration = getattr(operation, "operator", None)
    keeps = inplace != "reshape" and (declaration is None or declaration.reads_first)
    direct = getattr(torch.Tensor, f"{name}_") if inplace == "direct" else None
    own = signature(operation)
    parameters = [p for p in own.parameters.values() if p.name != "out"]  # a twin's result is x itself
    first, known = parameters[0].name, [p.name for p in parameters]

    def twin(x=MISSING, /, *args, **kwargs) -> Tensor:
        if x is MISSING:
            kwargs = renamed(known, kwargs)
            if first not in kwargs:
                raise InvalidType(f"missing the argument {first!r}")
            x = kwargs.pop(first)
        operands = (*args, *kwargs.values()) if kwargs else args
        try:
            wanted, mixed = not x.stop_gradient, False
            for value in operands:
                if isinstance(value, Tensor):
                    wanted = wanted or not value.stop_gradient
                    mixed = mixed or value.data.dtype is not x.data.dtype
            recorded = wanted and torch.is_grad_enabled()
            if direct is not None and not (recorded or mixed or kwargs or observers):
                try:
                    direct(x.data, *[a.data if isinstance(a, Tensor) else a for a in args])
                except RAISED_INSIDE:
                    return take(x, operation(x._before(), *args), args)  # which says what does not fit
                x._mark_written()
                return x
            before = x._before()
            if keeps and recorded:  # a derivative reads x, whose own memory is about to be overwritten
                before.data = x.data.clone()
            return take(x, operation(before, *args, **kwargs), operands)
        except RAISED_INSIDE as error:  # x is no Tensor, or there are too many arguments
            if raised_inside(error):
                raise translate_error(error, known, (x, *args), kwargs) from error
            raise

    made: Any = twin
    made.__name__ = f"{name}_"
    made.__signature__ = own.replace(parameters=parameters)
    made.__doc__ = f"`{name}` in place: {what}"
    return made


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
        _reshaped(x, x._before().reshape([-1]))
    return _rewritten(x, result, operands)


def _is_float(value: Any) -> bool:
    return value.data.is_floating_point() if isinstance(value, Tensor) else isinstance(value, float)


def _reshaped(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    if x.node is None:
        x._check_no_leaf(x)
    elif not torch.is_grad_enabled():  # the tensor stays on the tape, whose gradients have its former shape
        with enable_grad():
            result = x._before().reshape(list(result.shape))
    x.data, x.node = result.data, result.node
    return x


def _retyped(x: Tensor, result: Tensor, operands: Any = ()) -> Tensor:
    """x with the result's values and its dtype, which takes new memory: views of the former memory keep
    theirs."""
    if result.data.dtype is x.data.dtype:
        return x._write(result)
    if result.data.shape != x.data.shape:
        raise InvalidArgument(f"the result has shape {[*result.shape]}, the tensor has {[*x.shape]}")
    if torch.is_grad_enabled():
        if x.node is None:
            x._check_no_leaf(x)
        x.node, x.stop_gradient = result.node, result.stop_gradient
    elif x.node is not None:  # a constant to the tape, whose gradients have x's former dtype
        with enable_grad():
            x.node = x._before().cast(result.data.dtype).node
    replaced(x.data, result.data)
    x.data = result.data
    return x


def where_(condition, x=None, y=None, name=None) -> Tensor:
    """`where` in place: x keeps its values where `condition` is true and takes those of y elsewhere."""
    return _rewritten(x, indexing.where(condition, x._before(), y), (y,))


_VALUES = "the result, which must have x's shape, takes the place of x's values."
# How a twin puts the result into x: `take(x, result, operands)`, and what its docstring says.
KINDS: dict[str, tuple[Callable[..., Tensor], str]] = {
    "rewrite": (_rewritten, _VALUES),
    "direct": (_rewritten, _VALUES),  # where nothing is recorded torch's method of that name does all
    "accumulate": (_accumulated, "without an axis x becomes a vector."),
    "retype": (_retyped, "x becomes the result, with its dtype (in new memory where that changes)."),
    "reshape": (_reshaped, "x keeps its memory and gets the other shape."),
}
__all__ = ["where_"]


def _give(name: str, function: Any, method: bool) -> None:
    globals()[name] = function
    __all__.append(name)
    if method:
        as_method(function, name)


as_method(where_, "where_")
for _name, (_function, _aliases, _inplace) in names.items():
    _second, _method = _aliases.split(), hasattr(Tensor, _name)
    for _alias in _second:
        _give(_alias, with_name(_alias, _function), _method)
    if _inplace:
        _made = _twin(_name, _function, _inplace)
        for _each in (_name, *_second):
            _give(f"{_each}_", with_name(f"{_each}_", _made), True)
