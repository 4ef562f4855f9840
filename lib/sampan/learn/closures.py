"""Operators in the form that the course teaches: the function returns its value and the pullback, as
closures.

    def multiply(x, y):
        return x * y, (lambda g: g * y, lambda g: g * x)

The pullback is a tuple with one function per input, or one function that returns the gradients of all; with a
second parameter `needed` it gets a list of bools, one per input: whether its gradient is wanted. The
captured variables are read from its code; the tape saves them for backward, and replaces them by Tensors
when backward itself is recorded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from ..engine.tensor import Tensor


def joint_derivative(body: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative, as `operator.Operator` takes it, of a function that returns its value and closures."""
    parameters = inspect.signature(body).parameters
    code = inspect.unwrap(body).__code__  # below a counting or timing wrapper
    captured = {name for inner in _inside(code) for name in inner.co_freevars}
    foreign = captured - set(parameters) - {"out"}
    if foreign:
        raise TypeError(
            f"operator {body.__name__}: its pullback captures {', '.join(sorted(foreign))}; only parameters "
            "and `out` may be captured, bind anything else as a default of the lambda"
        )
    names = sorted(captured)
    selective = any("needed" in inner.co_varnames[: inner.co_argcount] for inner in _inside(code))

    def derivative(g: Any, saved: Any, needed: list[bool], *contents: Any) -> tuple[Any, ...]:
        recorded = any(isinstance(part, Tensor) for part in (g if isinstance(g, tuple) else (g,)))
        known = dict(zip(names, contents, strict=True)) if recorded else {}
        if callable(saved):
            pullback = _with(saved, known)
            result = pullback(g, needed) if selective else pullback(g)
            return result if type(result) is tuple else (result,)
        return tuple(
            _with(function, known)(g) if wanted else None
            for function, wanted in zip(saved, needed, strict=False)
        )

    asked = ["gradient", "saved", "needed", *names]
    made: Any = derivative
    made.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in asked]
    )
    return made


def _inside(code: CodeType) -> list[CodeType]:
    """The functions written inside a function."""
    skipped = ("<listcomp>", "<genexpr>", "<dictcomp>")
    return [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name not in skipped]


def _with(function: Any, known: dict[str, Any]) -> Any:
    """A closure with other contents for the variables in `known`."""
    if not known or not isinstance(function, FunctionType) or function.__closure__ is None:
        return function
    cells = [
        CellType(known.get(name, cell.cell_contents))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True)
    ]
    made = FunctionType(function.__code__, function.__globals__, function.__name__, None, tuple(cells))
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made
