"""The history of checks: kept over restarts, written whole, numbered on, and silent about a copy that was put aside."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from studio.attempts import KEPT, Attempts
from studio.grading.verdict import Result, StoppedCell, Verdict


def verdict(earned: float, of: float = 4) -> Verdict:
    texts = {
        "title": "f",
        "title_zh": "函数",
        "message": "case 'x'",
        "message_zh": "用例",
        "case": "x",
        "case_zh": "某",
    }
    marks = {"points": of, "earned": earned, "passed": earned == of}
    kind = "passed" if earned == of else "timed_out"
    one = Result("ops.f", **texts, **marks, verdict=kind, traceback="line 1")  # type: ignore[arg-type]
    return Verdict((one,), (StoppedCell(3, "while True:"),), sandboxed=False)


def test_nothing_was_tried_yet(tmp_path: Path) -> None:
    history = Attempts(tmp_path / "attempts").history("01_x")
    assert history.attempts == () and history.last is None and history.best is None


def test_what_was_written_is_read_by_the_next_start(tmp_path: Path) -> None:
    first = Attempts(tmp_path).add("01_x", verdict(0))
    second = Attempts(tmp_path).add("01_x", verdict(4))
    assert Attempts(tmp_path).history("01_x").attempts == (first, second)
    assert (first.number, second.number) == (1, 2) and second.when >= first.when
    assert Attempts(tmp_path).history("02_y").attempts == ()


def test_the_best_stays_when_a_later_one_is_worse(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    for earned in (1, 3, 3, 0):
        attempts.add("01_x", verdict(earned))
    history = attempts.history("01_x")
    assert history.best is not None and history.best.number == 3
    assert history.last is not None and history.last.number == 4


def test_a_copy_that_was_put_aside_has_no_last_verdict_but_its_history(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    attempts.put_aside("01_x")  # before the first check there is nothing to do
    attempts.add("01_x", verdict(4))
    attempts.put_aside("01_x")
    history = attempts.history("01_x")
    assert history.last is None and history.best is not None and len(history.attempts) == 1
    attempts.add("01_x", verdict(0))
    last = attempts.history("01_x").last
    assert last is not None and last.number == 2


def test_old_ones_leave_and_numbers_go_on(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    for _ in range(KEPT + 2):
        attempts.add("01_x", verdict(0))
    numbers = [attempt.number for attempt in attempts.history("01_x").attempts]
    assert numbers == list(range(3, KEPT + 3))


# Written by the Studio of November 2026, when each text of a result was a table by language.
BEFORE = """{"attempts": [{"number": 7, "when": 1763900000.5, "verdict": {"exercises": [
  {"id": "ops.f", "titles": {"en": "f", "zh": "函数"}, "points": 4.0, "earned": 0.0, "passed": false,
   "messages": {"en": "case 'x'", "zh": "用例"}, "verdict": "timed_out", "cases": {"en": "x", "zh": "某"}, "hints": {},
   "traceback": "line 1"}], "stopped": [{"number": 3, "line": "while True:"}], "sandboxed": false}}], "set_aside": false}"""


def test_a_file_of_before_is_read_and_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "01_x.json").write_text(BEFORE, "utf-8")
    (old,) = Attempts(tmp_path).history("01_x").attempts
    assert (old.number, old.when, old.verdict) == (7, 1763900000.5, verdict(0))
    assert Attempts(tmp_path).add("01_x", verdict(4)).number == 8
    assert Attempts(tmp_path).history("01_x").attempts[0] == old


@pytest.mark.parametrize("text", ["", "{", "[]", '{"attempts": [{"number": 1}], "set_aside": false}'])
def test_a_spoiled_file_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str) -> None:
    (tmp_path / "01_x.json").write_text(text)
    with caplog.at_level(logging.WARNING):
        assert Attempts(tmp_path).history("01_x").attempts == ()
    [kept] = tmp_path.glob("*.json")
    assert kept.read_text() == text and kept.name in caplog.text
    assert Attempts(tmp_path).add("01_x", verdict(0)).number == 1


def test_attempts_at_exercises_that_moved_to_another_notebook_move_too(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    stays, moves = "kernels.sparse.grouped", "sparse.operators.spmm"
    for earned in (0, 4):
        (one,) = verdict(earned).exercises
        attempts.add("05_sparse", Verdict((replace(one, id=stays), replace(one, id=moves))))
    for _ in range(2):  # the second time there is nothing to do
        attempts.settle()
        old, new = attempts.history("05_sparse"), attempts.history("05b_sparse_training")
        for history, slot in ((old, stays), (new, moves)):
            assert [[e.id for e in one.verdict.exercises] for one in history.attempts] == [[slot], [slot]]
            assert history.best is not None and (history.best.number, history.best.verdict.earned) == (2, 4)
        assert old.last is not None and new.last is None  # there is no copy of the new notebook
    assert attempts.add("05b_sparse_training", verdict(4)).number == 3
