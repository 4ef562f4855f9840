"""Running a grader: its verdict, its limits, and that nothing of it is left running."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from studio import processes
from studio.grading.client import Grader, GradingError, Step
from studio.grading.desk import CheckDesk
from studio.grading.verdict import Verdict, parse_report
from tests.webapp.running import until

pytestmark = pytest.mark.servers

RESULT = {
    "id": "ops.add",
    "title": "Add",
    "title_zh": "加法",
    "points": 2,
    "earned": 2,
    "passed": True,
    "message": "right",
    "message_zh": "正确",
}
REPORT = {
    "exercises": [
        RESULT,
        {**RESULT, "id": "ops.mul", "passed": False, "earned": 1, "message": "case 'zero': hint"},
    ],
    "stopped": [{"number": 7, "first_line": "while True:"}],
}


def program(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def answers(*replies: object) -> list[str]:
    """A grader that gives these replies to each question."""
    lines = "".join(json.dumps(reply) + "\n" for reply in replies)
    return program(f"import sys\nfor _ in sys.stdin: print({lines!r}, end='', flush=True)")


async def checked(command: list[str], **more: Any) -> Verdict:
    grader = Grader(command)
    try:
        return await grader.grade(Path("copy"), Path("source"), **more)
    finally:
        await grader.close()


def test_a_verdict_and_how_far_it_was() -> None:
    seen: list[Step] = []
    command = answers({"progress": ["cell", 1, 9]}, {"progress": ["exercise", 1, 2]}, {"report": REPORT})
    verdict = asyncio.run(checked(command, progress=seen.append))
    assert seen == [Step("cell", 1, 9), Step("exercise", 1, 2)]
    assert (verdict.passed, verdict.earned, verdict.points, verdict.complete) == (1, 3, 4, False)
    assert verdict.exercises[0].told("title", "zh") == "加法"
    assert verdict.exercises[1].told("message", "en") == "case 'zero': hint"
    assert verdict.stopped[0].number == 7 and verdict.stopped[0].line == "while True:"


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        (program("import sys; sys.exit('boom')"), "crashed", "boom"),
        (program("import os; os.abort()"), "crashed", "-6"),
        (answers({"broken": ["no notebook", "不是笔记本"]}), "broken", "no notebook"),
        (answers({"refused": ["no sandbox", "没有沙箱"]}), "refused", "no sandbox"),
        (answers("fine, all passed"), "unreadable", "fine"),
        (program("input(); print('fine, all passed', flush=True)"), "unreadable", "fine"),
        (answers({}), "unreadable", "None"),
        (program("input(); print('x' * 5_000_000, flush=True); input()"), "unreadable", "4000000"),
    ],
)
def test_no_verdict(command: list[str], kind: str, says: str) -> None:
    with pytest.raises(GradingError, match=says) as caught:
        asyncio.run(checked(command))
    assert caught.value.kind == kind
    assert caught.value.words("zh") == {"broken": "不是笔记本", "refused": "没有沙箱"}.get(
        kind, str(caught.value)
    )


def test_one_process_for_many_checks_and_another_after_a_crash() -> None:
    counts = 'import os, sys\nfor line in sys.stdin:\n    if \'bad\' in line: os._exit(3)\n    print(\'{"refused": ["%d", ""]}\' % os.getpid(), flush=True)'

    async def pids() -> list[str]:
        grader, found = Grader(program(counts)), []
        for name in ("a", "b", "bad", "c"):
            try:
                await grader.grade(Path(name), Path("source"))
            except GradingError as error:
                found.append(str(error) if error.kind == "refused" else error.kind)
        await grader.close()
        return found

    first, second, crashed, after = asyncio.run(pids())
    assert first == second != after and crashed == "crashed"
    assert not any(psutil.pid_exists(int(pid)) for pid in (first, after))


@pytest.mark.parametrize("passed", ["yes", 1, None])
def test_only_true_is_a_pass(passed: object) -> None:
    with pytest.raises(TypeError, match="passed"):
        parse_report({**REPORT, "exercises": [{**RESULT, "passed": passed}]})


# A grader whose grandchild leads a session of its own, as a Jupyter kernel does; both never end.
FAMILY = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
pathlib.Path({path!r}).write_text(str(child.pid))
time.sleep(1000)
"""


def grandchild(path: Path) -> psutil.Process:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return psutil.Process(int(path.read_text()))
        time.sleep(0.02)
    raise AssertionError("the grandchild did not start")


def gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # between the two questions
        return True


def assert_ends(*processes: psutil.Process) -> None:
    """What was killed runs on for a moment where the machine is busy."""
    until(lambda: all(gone(process) for process in processes))


def test_the_limit_stops_the_whole_family(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def check() -> psutil.Process:
        found = asyncio.create_task(asyncio.to_thread(grandchild, path))  # while it lives
        with pytest.raises(GradingError, match="no verdict after 8 s") as caught:
            await checked(program(FAMILY.format(path=str(path))), limit=8)  # the program sleeps for 1000 s
        assert caught.value.kind == "timeout"
        return await found

    assert_ends(asyncio.run(check()))


def test_cancelling_stops_the_whole_family(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def check() -> tuple[CheckDesk, psutil.Process]:
        desk = CheckDesk()
        desk.start("a", lambda: checked(program(FAMILY.format(path=str(path)))))
        process = await asyncio.to_thread(grandchild, path)
        assert not gone(process)
        await desk.cancel("a")
        return desk, process

    desk, process = asyncio.run(check())
    assert_ends(process)
    assert desk.job("a").state == "cancelled"  # type: ignore[union-attr]


def test_cancelling_while_it_starts_leaves_nothing() -> None:
    async def check() -> None:
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        for steps in range(6):  # at every step of the start
            task = asyncio.ensure_future(checked(program("import time; time.sleep(1000)")))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task], timeout=60)
            assert task.cancelled(), steps
        left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
        assert_ends(*left)

    asyncio.run(check())


# A grader that reads its question and then says nothing; a shell, because many of them are started.
SILENT = ["sh", "-c", "while read -r line; do sleep 1000; done"]


def test_stop_is_answered_wherever_the_check_stands() -> None:
    """Cancelled after each step of the event loop, by two clicks at once, while another visitor looks at the courses."""

    async def check() -> int:
        desk, steps, asked = CheckDesk(), 0, 0
        grader = Grader(SILENT)
        while asked < 5:  # times that the question was on its way
            job = desk.start("a", lambda: grader.grade(Path("copy"), Path("source")))
            look = asyncio.ensure_future(grader.warm_up())
            for _ in range(steps):
                await asyncio.sleep(0 if steps < 12 else 0.002)
            asked += grader._busy
            async with asyncio.timeout(20):
                if steps == 0:  # before the first line of the check
                    await desk.cancel("a")
                await asyncio.gather(desk.cancel("a"), desk.cancel("a"), look)
            assert (job.state, job.active) == ("cancelled", False), steps
            if steps % 3 == 0:  # the next starts its own; else it finds the one started meanwhile
                await grader.close()
            steps += 1
        await grader.close()
        return steps

    before = set(psutil.Process().children(recursive=True))
    assert asyncio.run(check()) > 5
    assert_ends(*set(psutil.Process().children(recursive=True)) - before)


def test_ending_and_starting_at_once_loses_no_process() -> None:
    async def check() -> None:
        companion = processes.Companion(SILENT, 1000, 1000)
        for _ in range(10):
            await companion.running()
            await asyncio.gather(companion.end(), companion.running(), companion.end(), companion.running())
        await companion.end()

    before = set(psutil.Process().children(recursive=True))
    asyncio.run(check())
    assert_ends(*set(psutil.Process().children(recursive=True)) - before)


def test_a_fault_of_our_own_ends_the_check_too() -> None:
    async def check() -> None:
        desk = CheckDesk()

        async def broken() -> Verdict:
            raise RuntimeError("a bug")

        job = desk.start("a", broken)
        await asyncio.wait([job.task])  # type: ignore[list-item]
        assert job.state == "failed" and "a bug" in str(job.error)

    asyncio.run(check())


def test_stopping_what_has_ended_already() -> None:
    process = psutil.Popen([sys.executable, "-c", ""])
    process.wait()
    processes.stop_tree(process.pid)


def test_one_at_a_time_and_in_order() -> None:
    seen: list[str] = []

    async def check() -> None:
        desk = CheckDesk()
        gate = asyncio.Event()

        async def first() -> Verdict:
            seen.append("first")
            await gate.wait()
            return Verdict(())

        async def second() -> Verdict:
            seen.append("second")
            return Verdict(())

        one, two = desk.start("a", first), desk.start("b", second)
        assert desk.start("a", second) is one  # a second click does not start a second check
        await asyncio.sleep(0.05)
        assert (one.state, two.state, seen) == ("running", "waiting", ["first"])
        gate.set()
        await asyncio.wait([one.task, two.task])  # type: ignore[list-item]
        assert (one.state, two.state, seen) == ("done", "done", ["first", "second"])
        desk.forget("a")
        assert desk.job("a") is None

    asyncio.run(check())


def test_one_that_waits_can_be_cancelled() -> None:
    async def check() -> None:
        desk = CheckDesk()
        gate = asyncio.Event()

        async def slow() -> Verdict:
            await gate.wait()
            return Verdict(())

        one, two = desk.start("a", slow), desk.start("b", slow)
        await asyncio.sleep(0)
        await desk.cancel("b")
        assert (one.active, two.state) == (True, "cancelled")
        desk.forget("a")  # not while it runs
        assert desk.job("a") is one
        await desk.cancel("a")

    asyncio.run(check())


def test_a_failed_check_lets_the_next_one_run() -> None:
    async def check() -> None:
        desk = CheckDesk()
        one = desk.start("a", lambda: checked(["/no/such/program"]))
        two = desk.start("b", lambda: checked(answers({"report": REPORT})))
        await asyncio.wait([one.task, two.task])  # type: ignore[list-item]
        assert (one.state, one.error.kind) == ("failed", "crashed")  # type: ignore[union-attr]
        assert two.state == "done"

    asyncio.run(check())
