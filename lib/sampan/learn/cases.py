"""A case: one call of a learner's function, the values expected back, and what to say when they differ.

Visible checks and hidden checks are both lists of cases; they differ in where their inputs come from (written by hand,
or drawn fresh) and in what the learner is told (everything, or the case's name and the kind of mistake).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .plain import Foreign

Text = tuple[str, str]  # English, Chinese


@dataclass(frozen=True)
class Holds:
    """Expected of an answer of which many are right: `fault(came)` says what is wrong with it, or None."""

    fault: Callable[[Any], Text | None]
    what: str  # in words, for the visible check


@dataclass(frozen=True)
class Case:
    """`driver` names how the function is called (see `drivers.py`), `args` are plain values, `expected` too.

    Numbers match when |came - expected| <= atol + rtol * |expected|. `dtype` asks for that dtype exactly.
    """

    name: Text
    driver: str
    args: tuple[Any, ...]
    expected: Any
    hint: Text
    rtol: float = 1e-5
    atol: float = 1e-6
    dtype: str | None = None
    earns: int = 0  # points that are kept once this case is right, though a later one may fail


@dataclass(frozen=True)
class Difference:
    """How an answer differs: the kind, where in the answer, and the two sides."""

    kind: str  # "type", "length", "shape", "dtype", "values" or "fault"
    where: str
    came: Any
    expected: Any
    wrong: int = 0
    total: int = 0
    fault: Text = ("", "")

    def told(self) -> Text:
        """The kind of mistake, without any expected number."""
        if self.kind == "fault":
            return self.fault
        where, where_zh = (f" in {self.where}", f"（位置：{self.where}）") if self.where else ("", "")
        if self.kind == "values":
            text = f"{self.wrong} of {self.total} numbers are not right{where}"
            return text, f"{self.total} 个数中有 {self.wrong} 个不对{where_zh}"
        if self.kind == "shape":
            came, expected = f"shape {list(self.came.shape)}", f"shape {list(self.expected.shape)}"
            return f"{came} came{where}, {expected} was expected", f"得到 {came}，应为 {expected}{where_zh}"
        came, expected = describe(self.came, numbers=False), describe(self.expected, numbers=False)
        return f"{came} came{where}, {expected} was expected", f"得到 {came}，应为 {expected}{where_zh}"


def describe(value: Any, numbers: bool = True) -> str:
    """One line for a message: dtype and shape of an array, its numbers when they are wanted."""
    if isinstance(value, np.ndarray):
        head = f"{value.dtype.name} [{', '.join(map(str, value.shape))}]"
        if not numbers:
            return head
        text = np.array2string(
            value, precision=5, suppress_small=True, threshold=24, edgeitems=3, separator=", "
        )
        return f"{head} {text}" if "\n" not in text else f"{head}\n{text}"
    if isinstance(value, Holds):
        return value.what
    if isinstance(value, Foreign):
        return repr(value)
    if isinstance(value, (list, tuple)) and not numbers:
        return f"{'a list' if isinstance(value, list) else 'a tuple'} of {len(value)}"
    if isinstance(value, dict) and not numbers:
        return f"a dict of {len(value)}"
    if value is None:
        return "nothing (None)"
    return f"{value!r:.400}" if numbers else type(value).__name__


def difference(
    came: Any, expected: Any, rtol: float, atol: float, dtype: str | None = None, where: str = ""
) -> Difference | None:
    """None when the answer is right, else the first difference. Both sides are plain values (`plain.py`)."""
    if isinstance(expected, Holds):
        fault = expected.fault(came)
        return None if fault is None else Difference("fault", where, came, expected, fault=fault)
    if isinstance(expected, (list, tuple)):
        if not isinstance(came, (list, tuple)):
            return Difference("type", where, came, expected)
        if len(came) != len(expected):
            return Difference("length", where, came, expected)
        for index, (one, other) in enumerate(zip(came, expected, strict=True)):
            inside = f"{where}[{index}]" if where else f"item {index}"
            part = difference(one, other, rtol, atol, dtype, inside)
            if part is not None:
                return part
        return None
    if isinstance(expected, dict):
        if not isinstance(came, dict) or set(came) != set(expected):
            return Difference("type", where, came, expected)
        for key in expected:
            part = difference(came[key], expected[key], rtol, atol, dtype, f"{where}.{key}" if where else key)
            if part is not None:
                return part
        return None
    if expected is None or isinstance(expected, (str, bool)):
        same = type(came) is type(expected) and came == expected
        return None if same else Difference("type", where, came, expected)
    return _numbers(came, np.asarray(expected), rtol, atol, dtype, where)


def _numbers(
    came: Any, expected: np.ndarray, rtol: float, atol: float, dtype: str | None, where: str
) -> Difference | None:
    if isinstance(came, bool) or not isinstance(came, (int, float, np.ndarray)):
        return Difference("type", where, came, expected)
    array = np.asarray(came)
    if array.shape != expected.shape:
        return Difference("shape", where, array, expected)
    if dtype is not None and array.dtype.name != dtype:
        return Difference("dtype", where, array, expected.astype(dtype))
    kinds = array.dtype.kind, expected.dtype.kind
    if kinds[0] != kinds[1] and not (kinds[0] in "iu" and kinds[1] in "iuf"):
        return Difference("dtype", where, array, expected)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    right = np.isclose(array.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    if right.all():
        return None
    return Difference("values", where, array, expected, int((~right).sum()), right.size)
