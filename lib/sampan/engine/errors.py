"""The errors for arguments, which begin with the name of the function that the user called.

`paddle.ge` and `paddle.greater_equal` are one operator, `concat` calls another, `x.add_(y)` writes what `add`
gives. Whichever of them finds the mistake, the error names the function in the user's program.

One rule for the bases: an error of this library is of every class that Paddle raises for the same mistake, so
that an `except` clause written for Paddle catches it. A value: ValueError, AssertionError. A type or dtype:
these, TypeError and RuntimeError. An axis or index: those of a value, and IndexError.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

# Files of this library, and what `generated.define` makes from text.
OF_THIS_LIBRARY = (str(Path(__file__).parents[1]), "<elementwise ", "<activation ")


class InvalidArgument(ValueError, AssertionError):
    """An argument with an invalid value.

    The text begins with the name of the function that the user called.
    """

    def __init__(self, text: str = "") -> None:
        self.reason = text
        super().__init__(prefix_function_name(text))


def prefix_function_name(text: str) -> str:
    """The text of an error after the name of the function of this library that was called from outside, which
    takes the place of the names of functions further inside.

    An object's method stands before the function that it called: `Linear: linear: ...`. The names are those
    of the code in the frames (see `with_name`), read when an error is made: calls need not keep them.
    """
    frame: Any = sys._getframe(2)  # above the error that is made
    called: list[str] = []
    inside = set()
    while frame is not None and frame.f_code.co_filename.startswith(OF_THIS_LIBRARY):
        name, owner = frame.f_code.co_name, frame.f_locals.get("self")
        unsaid = owner is not None and name in ("__init__", "__call__", "forward")
        label = type(owner).__name__ if unsaid else name
        if label[0] not in "_<":
            if owner is None or hasattr(type(owner), "stop_gradient"):  # a Tensor
                inside.add(label)
                called = [label]
            else:
                called = [*dict.fromkeys([label, *called[-1:]])] if name != "__init__" else [label]
        frame = frame.f_back
    while (parts := text.partition(": "))[0] in inside:
        text = parts[2]
    return ": ".join([*(called if parts[0] not in called else []), text])


def with_name(name: str, function: Any) -> Any:
    """A copy of a function under another name, by which errors and tracebacks know it too."""
    code = function.__code__.replace(co_name=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    made.__name__ = made.__qualname__ = name
    return made


class InvalidType(TypeError, InvalidArgument, RuntimeError):
    """An argument of an unsupported type or dtype. Paddle raises TypeError, ValueError (not a Tensor), or
    RuntimeError (no kernel for the dtype), or asserts."""

    __init__ = InvalidArgument.__init__  # not TypeError's, which comes first


class AxisError(InvalidArgument, IndexError):
    """An axis or index out of range (out of bounds).

    Where torch refuses an index, `error_translation.translate_error` makes this of its text. Ids of an
    embedding are checked by `row_sparse.check_ids`, axes in ops/shape.py and ops/reduction.py.
    """
