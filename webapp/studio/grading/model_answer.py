"""The model answer of an exercise: the library's version, and the last hint as its explanation.

Learners' processes have neither while they are graded, so it comes from the grader's process.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelAnswer:
    """`why` explains it in a sentence or two, in English and Chinese; it is empty where the course has no hint."""

    source: str
    why: str = ""
    why_zh: str = ""

    def explained(self, lang: str) -> str:
        return self.why if lang == "en" else self.why_zh


def model_answer(slot: str) -> ModelAnswer:
    """The answer to the exercise of a slot. Raises `ValueError` for a slot that the library does not have."""
    from sampan.learn import lessons, slots

    from .comparison import source_of

    known = lessons.installed()[0]
    return ModelAnswer(source_of(slots.get(slot)), *(known[slot].hints[-1] if slot in known else ()))
