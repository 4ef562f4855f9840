"""What is wrong with a file, a form or a request: the kind and its values; pages and commands put it into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studio import i18n
from studio.grading.cleaning import clean

Problem = tuple[str, dict[str, Any]]  # the end of a key `competitions.problem.<kind>`, and its {values}
SHOWN = 3  # examples in one sentence


class Refused(ValueError):
    """Raised for what cannot be accepted; `problems` say why."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(told(problem, "en") for problem in problems))
        self.problems = list(problems)


def told(problem: Problem | Sequence[Any], lang: str) -> str:
    """The sentence of a problem."""
    kind, values = problem
    return i18n.t(f"competitions.problem.{kind}", lang, **values)


def refuse(kind: str, **values: Any) -> Refused:
    """The exception for one problem."""
    return Refused((kind, values))


def examples(texts: Sequence[str]) -> str:
    """The first of them, cut to what can be read."""
    return ", ".join(clean(text if len(text) <= 30 else f"{text[:30]}…") for text in texts[:SHOWN])
