"""A case: one call of a learner's function, the expected values, and a hint for when they differ.

Visible checks and hidden checks are both lists of cases; they differ in the source of their inputs
(written by hand or random) and in what the learner is shown (everything, or the case's name and the kind
of mistake).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .plain import Foreign

Text = tuple[str, str]  # English, Chinese
# The names of the parts of an answer: a Text for a part, a list for a part that is itself a list; None
# where it has no name.
Names = list[Any] | Text | None


@dataclass(frozen=True)
class Holds:
    """An expectation that many answers meet: `fault(came)` describes the fault of an answer, or is None."""

    fault: Callable[[Any], Text | None]
    what: Text  # in words, for the visible check


@dataclass(frozen=True)
class Case:
    """`driver` names how the function is called (see `drivers.py`), `args` are plain values, `expected` too.

    Numbers match when |came - expected| <= atol + rtol * |expected|. `dtype`, if given, must match exactly.
    """

    name: Text
    driver: str
    args: tuple[Any, ...]
    expected: Any
    hint: Text
    rtol: float = 1e-5
    atol: float = 1e-6
    dtype: str | None = None
    earns: int = 0  # points for this case alone; the others share the rest of the exercise's points


@dataclass(frozen=True)
class Difference:
    """How an answer differs: the kind, which part of the answer, and the two sides."""

    kind: str  # "type", "length", "shape", "dtype", "values" or "fault"
    where: Text
    came: Any
    expected: Any
    wrong: Any = None  # of "values": a bool array, True where a number is wrong
    fault: Text = ("", "")

    def told(self) -> Text:
        """The mistake in one sentence: which part, what was given and what was expected. Of many numbers, the
        first one that is wrong."""
        if self.kind == "fault":
            return self.fault
        if self.kind == "values":
            return self._first_wrong_number()
        if self.kind == "shape":
            came, expected = (
                (f"shape {list(side.shape)}", f"形状 {list(side.shape)}")
                for side in (self.came, self.expected)
            )
        else:
            came, expected = describe(self.came, numbers=False), describe(self.expected, numbers=False)
        part, part_zh = self.where[0] or "your answer", self.where[1] or "你的结果"
        return (
            f"{part}: {came[0]} given, {expected[0]} expected",
            f"{part_zh}：给出 {came[1]}，应为 {expected[1]}",
        )

    def _first_wrong_number(self) -> Text:
        place = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(self.wrong)))
        came, expected = _distinct_texts(np.atleast_1d(self.came)[place], np.atleast_1d(self.expected)[place])
        at = f"[{', '.join(map(str, place))}]" if self.wrong.ndim else ""
        part, part_zh = f"{self.where[0] or 'your answer'}{at}", f"{self.where[1] or '你的结果'}{at}"
        text, text_zh = (
            f"{part}: {came} given, {expected} expected",
            f"{part_zh}：给出 {came}，应为 {expected}",
        )
        if self.wrong.ndim:
            wrong, total = int(self.wrong.sum()), self.wrong.size
            text += f" ({wrong} of {total} numbers are wrong)"
            text_zh += f"（{total} 个数中有 {wrong} 个不对）"
        return text, text_zh


def _distinct_texts(one: Any, other: Any) -> tuple[str, str]:
    """Two numbers as text, with enough digits to distinguish them."""
    for digits in (6, 9, 17):
        texts = f"{one.item():.{digits}g}", f"{other.item():.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def describe(value: Any, numbers: bool = True) -> Text:
    """One line for a message: dtype and shape of an array, and its values if `numbers`."""
    if isinstance(value, np.ndarray):
        head = f"{value.dtype.name} [{', '.join(map(str, value.shape))}]"
        if not numbers:
            return head, head
        text = np.array2string(
            value, precision=5, suppress_small=True, threshold=24, edgeitems=3, separator=", "
        )
        text = f"{head} {text}" if "\n" not in text else f"{head}\n{text}"
        return text, text
    if isinstance(value, Holds):
        return value.what
    if isinstance(value, Foreign):
        return repr(value), f"类型为 {value.type_name} 的对象"
    if isinstance(value, (list, tuple, dict)) and not numbers:
        kind, count = type(value).__name__, len(value)
        return f"a {kind} of {count}", f"{count} 项的 {kind}"
    if value is None:
        return "nothing (None)", "什么也没有（None）"
    text = f"{value!r:.400}" if numbers else type(value).__name__
    return text, text


def difference(
    came: Any,
    expected: Any,
    rtol: float,
    atol: float,
    dtype: str | None = None,
    where: Text = ("", ""),
    names: Names = None,
) -> Difference | None:
    """None when the answer is correct, else the first difference. Both sides are plain values (`plain.py`).

    names: names of the items of a list; other items are named by their index, `result[0]`.
    """
    if isinstance(expected, Holds):
        fault = expected.fault(came)
        return None if fault is None else Difference("fault", where, came, expected, fault=fault)
    if isinstance(expected, (list, tuple)):
        if not isinstance(came, (list, tuple)):
            return Difference("type", where, came, expected)
        if len(came) != len(expected):
            return Difference("length", where, came, expected)
        for index, (one, other) in enumerate(zip(came, expected, strict=True)):
            name = names[index] if names is not None and index < len(names) else None
            inner = name if isinstance(name, list) else None
            inside = name if isinstance(name, tuple) else _inside(where, f"[{index}]")
            part = difference(one, other, rtol, atol, dtype, inside, inner)
            if part is not None:
                return part
        return None
    if isinstance(expected, dict):
        if not isinstance(came, dict) or set(came) != set(expected):
            return Difference("type", where, came, expected)
        for key in expected:
            inside = _inside(where, f".{key}") if any(where) else (str(key), str(key))
            part = difference(came[key], expected[key], rtol, atol, dtype, inside)
            if part is not None:
                return part
        return None
    if expected is None or isinstance(expected, (str, bool)):
        same = type(came) is type(expected) and came == expected
        return None if same else Difference("type", where, came, expected)
    return _array_difference(came, np.asarray(expected), rtol, atol, dtype, where)


def _inside(where: Text, index: str) -> Text:
    return (where[0] or "result") + index, (where[1] or "result") + index


def _array_difference(
    came: Any, expected: np.ndarray, rtol: float, atol: float, dtype: str | None, where: Text
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
    with np.errstate(invalid="ignore"):  # memory that was never written may hold signalling NaNs
        right = np.isclose(array.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    if right.all():
        return None
    return Difference("values", where, array, expected, wrong=~right)
