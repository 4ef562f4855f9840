"""What a course shows openly about its exercises: hints, visible cases and prediction questions.

The library contains no course. An installed package provides one as an entry point of the group
"sampan.course": a module with `LESSONS`, `PREDICTIONS` and `hint(difference, case)`, which also registers the
drivers that its cases name.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from .cases import Case, Difference, Text
from .slots import current_name

GROUP = "sampan.course"


@dataclass(frozen=True)
class Lesson:
    """The open side of an exercise: its slot, three hints from a nudge to almost there, and visible cases."""

    slot: str
    hints: tuple[Text, Text, Text]
    cases: Callable[[], list[Case]]


@dataclass(frozen=True)
class Prediction:
    """A question to answer before measuring; `tolerance` is relative, `why` is shown after the answer."""

    name: str
    question: Text
    answer: float | Callable[[], float]
    why: Text
    tolerance: float = 0.0
    unit: Text = ("", "")


@functools.cache
def _courses() -> list[Any]:
    return [point.load() for point in entry_points(group=GROUP)]


@functools.cache
def installed() -> tuple[dict[str, Lesson], dict[str, Prediction]]:
    """Every lesson by its slot and every question by its name, of all courses on this machine."""
    courses = _courses()
    lessons = {lesson.slot: lesson for course in courses for lesson in course.LESSONS}
    return lessons, {question.name: question for course in courses for question in course.PREDICTIONS}


def exercise(slot: str) -> Lesson:
    """The lesson of a slot. Raises `ValueError` that lists the slots there are."""
    found: Lesson = _found(installed()[0], current_name(slot), "exercise")
    return found


def prediction(name: str) -> Prediction:
    """The question of that name. Raises `ValueError` that lists the questions there are."""
    found: Prediction = _found(installed()[1], name, "prediction question")
    return found


def hint_for(found: Difference, case: Case) -> Text:
    """The hint for a wrong answer; a course may choose it by the kind of mistake."""
    courses = _courses()
    hint: Text = courses[0].hint(found, case) if courses else case.hint
    return hint


def _found(things: Any, name: str, what: str) -> Any:
    if name not in things:
        listed = ", ".join(sorted(things)) or "none: no course is installed"
        raise ValueError(f"there is no {what} {name!r}; there are {listed}")
    return things[name]
