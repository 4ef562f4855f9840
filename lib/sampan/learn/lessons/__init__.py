"""What the course shows openly about each exercise: hints, visible cases, prediction questions. One file a notebook.

The hidden cases are not here: they live beside the instructor's notebooks, outside of any learner's process.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass

from ..cases import Case

MODULES = ("orientation", "tensors", "training")


@dataclass(frozen=True)
class Lesson:
    """The open side of an exercise: its slot, three hints from a nudge to almost there, and visible cases."""

    slot: str
    hints: tuple[str, str, str]
    cases: Callable[[], list[Case]]


@dataclass(frozen=True)
class Prediction:
    """A question to answer before measuring; `tolerance` is relative, `why` is read after the answer."""

    name: str
    question: str
    answer: float | Callable[[], float]
    why: str
    tolerance: float = 0.0
    unit: str = ""


@functools.cache
def _all() -> tuple[dict[str, Lesson], dict[str, Prediction]]:
    modules = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return (
        {lesson.slot: lesson for module in modules for lesson in module.LESSONS},
        {question.name: question for module in modules for question in module.PREDICTIONS},
    )


def exercise(slot: str) -> Lesson:
    """The lesson of a slot. Raises `ValueError` that lists the slots there are."""
    found, _ = _all()
    if slot not in found:
        raise ValueError(f"there is no exercise {slot!r}; there are {', '.join(sorted(found))}")
    return found[slot]


def prediction(name: str) -> Prediction:
    """The question of that name. Raises `ValueError` that lists the questions there are."""
    _, found = _all()
    if name not in found:
        raise ValueError(f"there is no prediction question {name!r}; there are {', '.join(sorted(found))}")
    return found[name]
