"""One's own checks land in the gradebook, however quickly one follows the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from studio import identity
from studio.attempts import Attempts
from studio.gradebook import book, outcomes, own
from studio.gradebook.classroom import COURSE, OWN, Classroom, Submission
from studio.grading.verdict import Verdict, parse_report
from tests.webapp.gradebook.conftest import EXERCISE, NOTEBOOK, ROOT

pytestmark = pytest.mark.servers

INSTRUCTOR = ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"
SECOND = ROOT / "notebooks" / "01_tensors_and_the_tape.ipynb"


def verdict(earned: int, *slots: str) -> Verdict:
    entries = [
        {**EXERCISE, "id": slot, "earned": earned, "passed": bool(earned)} for slot in slots or ("ops.relu",)
    ]
    return parse_report({"exercises": entries, "stopped": []})


def at_once(*works: Callable[[], object]) -> None:
    barrier = Barrier(len(works))

    def go(work: Callable[[], object]) -> object:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(go, work) for work in works]:
            done.result()


def scores(home: Path) -> dict[str, float | None]:
    classroom = Classroom(home / "classes" / OWN)
    with book.opened(classroom) as gradebook:
        submission = gradebook.find_submission(COURSE, identity.local().name)
        return {
            grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades
        }


@pytest.mark.parametrize("_", range(3))
def test_checks_of_two_notebooks_that_end_together_are_both_entered(tmp_path: Path, _: int) -> None:
    slots = ("autograd.unbroadcast", "ops.multiply", "autograd.topological_order")
    at_once(
        lambda: own.enter(tmp_path, INSTRUCTOR, b"one", verdict(1), 1),
        lambda: own.enter(tmp_path, SECOND, b"two", verdict(1, *slots), 1),
    )
    assert scores(tmp_path) == {
        **{"check-ops-relu": 1, "check-autograd-unbroadcast": 1, "check-ops-multiply": 1},
        "check-autograd-topological_order": 1,
    }


def test_of_two_checks_of_one_notebook_the_later_is_kept(tmp_path: Path) -> None:
    own.enter(tmp_path, INSTRUCTOR, b"old", verdict(0), 1)
    at_once(
        *(lambda n=n: own.enter(tmp_path, INSTRUCTOR, b"%d" % n, verdict(n == 5), n) for n in (5, 2, 3, 4)),
    )
    assert scores(tmp_path) == {"check-ops-relu": 1}
    classroom = Classroom(tmp_path / "classes" / OWN)
    place = Submission(identity.local().name, COURSE, NOTEBOOK)
    with book.opened(classroom) as gradebook:
        kept = outcomes.load(gradebook, place)
    assert kept is not None and kept.attempt == 5 and classroom.path(place).read_bytes() == b"5"


def test_no_attempt_is_lost(tmp_path: Path) -> None:
    """Two Studios of one person, or a check and a fresh copy, write at once."""
    at_once(*(lambda: Attempts(tmp_path).add("lesson", verdict(1)) for _ in range(8)))
    assert [attempt.number for attempt in Attempts(tmp_path).history("lesson").attempts] == list(range(1, 9))
