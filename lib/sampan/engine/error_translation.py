"""Errors for invalid arguments: the function that the user called, its arguments, and the reason.

The checks of a body cost time at every call; where Python, NumPy or torch refuse wrong input by themselves,
their error is translated instead, which costs nothing until it happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

from ..dtype import name_of
from .errors import OF_THIS_LIBRARY, AxisError, InvalidArgument, InvalidType, prefix_function_name
from .tensor import Tensor

# What Python, NumPy and torch raise for input that they cannot take.
RAISED_INSIDE = (
    AttributeError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    ZeroDivisionError,
    OverflowError,
    RuntimeError,
)
_PACKAGES = tuple(str(Path(m.__file__ or "").parent) for m in (torch, np)) + OF_THIS_LIBRARY


def describe(value: Any) -> str:
    """`float32[3, 4]` for an array, the value itself for anything else."""
    if isinstance(value, Tensor):
        sparse = "sparse " if value.is_sparse() else ""
        return f"{sparse}{name_of(value.dtype)}{list(value.shape)}"
    if isinstance(value, torch.Tensor):
        return f"{name_of(value.dtype)}{list(value.shape)}"
    if isinstance(value, np.ndarray):
        return f"numpy {value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(describe(v) for v in value[:8]) + (", ...]" if len(value) > 8 else "]")
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def described(names: Iterable[str], values: Sequence[Any], settings: Mapping[str, Any]) -> str:
    """`x=float32[3, 4], axis=2`: the arguments of a call."""
    return ", ".join(f"{n}={describe(v)}" for n, v in _labelled(names, values, settings))


def _labelled(
    names: Iterable[str], values: Sequence[Any], settings: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    labels = [*names, *["argument"] * len(values)]
    return [*zip(labels, values, strict=False), *settings.items()]


def first_line(error: BaseException) -> str:
    """Its text, without the name of the inner function that Python and torch write in front: `f() takes`."""
    text = re.sub(r"^[\w.<>]+\(\):? ", "", (getattr(error, "reason", "") or str(error)).split("\n")[0])
    if "device-side assert" in text:
        return (
            "an index or a label of an earlier call was out of range, and this process can no longer use the "
            "GPU; run the program on the CPU to see which"
        )
    return text if len(text) <= 240 else text[:237] + "..."


class InvalidOperand(InvalidType):
    """An argument that Python, NumPy or torch cannot take. Where a function further inside was named, the
    error is made again for the one that the user called.

    reason: the text of the first error. culprit: in a tuple, the argument that is not a Tensor, if that is
    the reason.
    """

    culprit: tuple[Any, ...] = ()


def raised_inside(error: Exception) -> bool:
    """Whether an error lacks the name of the function that the user called: Python, NumPy or torch raised it
    inside this library, or this library without the name. False for errors that have the name, and for those
    of a user's own functions."""
    if isinstance(error, InvalidOperand):
        return True
    text = str(error)
    if isinstance(error, NotImplementedError) and not re.search("implemented for|support", text):
        return False  # an operation that this library lacks, not a dtype that torch lacks
    if isinstance(error, (InvalidArgument, RecursionError, torch.OutOfMemoryError)):
        return False
    return prefix_function_name(text) != text and _innermost(error.__traceback__).startswith(_PACKAGES)


def _innermost(trace: TracebackType | None) -> str:
    file = ""
    while trace is not None:
        file, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return file


def _culprit(error: Exception, values: Iterable[Any]) -> tuple[Any, ...]:
    """The argument that Python or torch refused because it is not a tensor, in a tuple."""
    text = first_line(error)
    if isinstance(error, (AttributeError, TypeError)) and re.search("object has no|must be Tensor", text):
        text = text.replace("must be Tensor", "")
        words = re.sub(r"memoryview|numpy[.]dtypes[.]\w+|numpy[.]ndarray", "ndarray", text)
        for value in values:
            if re.search(rf"\b{type(value).__name__}\b", words):
                return (value,)
    return ()


def translate_error(
    error: Exception,
    parameters: Sequence[str] | Mapping[str, Any],
    args: Sequence[Any],
    settings: Mapping[str, Any],
) -> Exception:
    """The error to raise in place of one that `raised_inside` found."""
    given = _labelled(parameters, args, settings)
    if isinstance(error, InvalidOperand):
        reason, culprit = error.reason, error.culprit
    else:
        reason, culprit = first_line(error), _culprit(error, [v for _, v in given])
    text = reason
    if culprit:
        label = next((f"{n}: " for n, v in given if v is culprit[0]), "")
        sparse = isinstance(culprit[0], Tensor)
        text = f"{label}{reason if sparse else f'expected a Tensor, got {type(culprit[0]).__name__}'}"
    text = f"{text} (got {described(parameters, args, settings)})"
    if isinstance(error, IndexError):
        return AxisError(text)
    found = InvalidOperand(text)
    found.reason, found.culprit = reason, culprit
    return found
