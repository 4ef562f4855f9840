"""One warm process for all tests of grading, as a server keeps one, and a course to grade against."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.compute.limits import Limits
from studio.grading import grader, release
from studio.grading.sandbox import Warm, available
from tests.webapp.grading.book import book, write_course

# Less than in a classroom, so that it is used up soon. A torch for GPUs alone maps 900 MB of data.
LIMITS = Limits(memory=1400 << 20, processes=24, files=256, file_bytes=256 << 20)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    reason = available()
    if reason is not None:
        pytest.skip(reason[0])
    with Warm(limits=LIMITS) as process:
        yield process


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return write_course(tmp_path)


@pytest.fixture
def graded(course: Path, warm: Warm) -> Callable[..., grader.Report]:
    """Grades a notebook, or one made of a function and more cells."""

    def grade(function: Any, *more: str, limit: float = 20.0) -> grader.Report:
        mine = course.parent / "mine.ipynb"
        release.write(function if not isinstance(function, str) else book(function, *more), mine)
        return grader.grade(mine, course, time_limit=limit, warm=warm)

    return grade
