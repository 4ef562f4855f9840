"""The titles of a notebook's exercises, read from its file of hidden checks without running it."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from studio.grading.cells import parse
from studio.grading.release import check_id

from .classroom import Classroom

FIELDS = ("slot", "points", "title", "title_zh")  # of `studio.grading.exercise.Exercise`, in their order


def titles(classroom: Classroom, assignment: str, notebook: str) -> dict[str, dict[str, str]]:
    """{graded cell: {language: title}}; empty for a notebook without hidden checks."""
    instructor = classroom.instructor(assignment, notebook)
    if instructor is None:
        return {}
    checks = instructor.parent / "checks" / f"{notebook}.py"
    return _titles(checks, checks.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _titles(checks: Path, _changed: int) -> dict[str, dict[str, str]]:
    try:
        tree = parse(checks.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError):  # a run says so
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Exercise":
            given = dict(zip(FIELDS, node.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in FIELDS}
            told = {name: value.value for name, value in given.items() if isinstance(value, ast.Constant)}
            if all(isinstance(told.get(name), str) for name in ("slot", "title", "title_zh")):
                found[check_id(str(told["slot"]))] = {"en": str(told["title"]), "zh": str(told["title_zh"])}
    return found
