"""A class from the first login to the last mark, in browsers, under a real JupyterHub with an account for each learner.

A teacher hands out an assignment and makes a competition; learners wait for places, work in JupyterLab, check, hand in, compete, and
read marks and comments. `make classroom LEARNERS=30` runs it with thirty learners, who come in groups.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")

from tests.webapp.hub.classroom import COINS, RIGHT, WRONG, Learner, Teacher
from tests.webapp.hub.serving import ClassHub, serving, wait_for
from tests.webapp.hub.test_class import missing

LEARNERS = int(os.environ.get("SAMPAN_CLASSROOM_LEARNERS", "3"))
TOGETHER = 4  # learners whose Studios run at the same time: each takes some hundred megabytes
PLACES = 2  # sessions at the same time, for all learners
DAY_S = 86400
COMMENT = "Which numbers does <clamp> keep?"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300 + 120 * LEARNERS),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture(scope="module")
def hub() -> Iterator[ClassHub]:
    people = "name,first_name,last_name,email,role\ntia,Tia,Zhang,,teacher\n"
    people += "".join(f"{name},Learner,{name.title()},,learner\n" for name in names())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMPAN_CPU_SLOTS", str(PLACES))
        with serving(people=people) as running:
            yield running


def names() -> list[str]:
    return [f"learner{number:02d}" for number in range(1, LEARNERS + 1)]


def groups() -> Iterator[list[str]]:
    everyone = names()
    for start in range(0, LEARNERS, TOGETHER):
        yield everyone[start : start + TOGETHER]


def number_of(name: str) -> int:
    return names().index(name)


def wrong(name: str) -> bool:
    return number_of(name) % 3 == 1


def test_a_class_from_the_first_login_to_the_last_mark(
    new_page: Callable[..., Any], hub: ClassHub, tmp_path: Path
) -> None:
    teacher = Teacher(new_page, hub, "tia")
    teacher.arrive()
    teacher.hand_out(time.time() + DAY_S)
    teacher.make_competition(tmp_path)

    late = names()[-1]
    kept: list[Learner] = []  # whose Studios go on running: the last group's
    for group in groups():
        learners = [Learner(new_page, hub, name) for name in group]
        work(learners, late, teacher, tmp_path)
        if group[-1] == late:
            kept = learners
        else:
            for learner in learners:
                learner.stop()
                learner.leave()

    marks = wait_for(lambda: found if all_graded(found := teacher.shown()) else None, 120)
    for name in names():
        points = 0.2 if wrong(name) else 1.0
        points -= 0.1 if name == late else 0.0
        assert float(marks[name][0]) == pytest.approx(points), (name, marks)
        assert marks[name][1].endswith("Not passed" if wrong(name) else "Passed"), (name, marks)
    teacher.look()
    mistaken = names()[1]
    teacher.comment(mistaken, "0.5", COMMENT)
    teacher.return_marks(LEARNERS)
    teacher.end_competition()

    for group in groups():
        learners = kept if group[-1] == late else [Learner(new_page, hub, name) for name in group]
        absent = [learner for learner in learners if learner not in kept]
        for learner in absent:
            learner.come()
        for learner in absent:
            learner.arrive()
        for learner in learners:
            text = learner.marks()
            assert "Marks and comments" in text
            assert (COMMENT in text) == (learner.name == mistaken)
            assert ("0.5 of 1 points" in text) == (learner.name == mistaken)
            assert ("Late: 0.1 points are subtracted." in text) == (learner.name == late)
            final = learner.board()
            assert sum("learner" in row for row in final) == LEARNERS
            assert "learner01" in final[0] and "1.00000 1.00000" in final[0]  # private, public
            if learner in absent:
                learner.stop()
            learner.leave()


def work(learners: list[Learner], late: str, teacher: Teacher, folder: Path) -> None:
    """One group: the first ones get the places, the others wait until one is free."""
    for learner in learners:
        learner.come()
    for learner in learners:
        learner.arrive()
        learner.page.get_by_text("Welcome. Start with week 1.").wait_for()
    for learner in learners:
        learner.fetch()
    waiting = learners[PLACES:]
    for number, learner in enumerate(waiting, 1):
        learner.waits(f"{('1st', '2nd')[number - 1]} of {len(waiting)}")
    for learner in learners:
        assert learner.answer(WRONG if wrong(learner.name) else RIGHT) == (
            "failed" if wrong(learner.name) else "passed"
        )
        if learner.name == late:
            teacher.set_terms(time.time() - 1)
        receipt = learner.hand_in()
        learner.free_the_place()
        learner.go(f"{learner.own}/studio/assignments")
        assert receipt in learner.text() and "Hand-ins left: 2 of 3." in learner.text()
    learners[0].compute()
    for learner in learners:
        learner.compete(folder, COINS - number_of(learner.name) % COINS)
    rows = learners[0].board()
    assert any(learners[0].name in row for row in rows)


def all_graded(marks: dict[str, tuple[str, str]]) -> bool:
    return len(marks) == LEARNERS and not any("Not graded yet" in mark for _, mark in marks.values())
