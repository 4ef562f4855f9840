"""Performance in rungs: a race tells the fast from the slow, and cannot be won by cheating the clock."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

from studio.grading import race

CHECKS = """
import time
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise, Lap, Race

def cases(rng):
    def lap():
        x = rng.normal(size=(100, 10))
        return Lap(([x], np.ones((100, 10))), (-x, [-np.ones((100, 10))]), lambda: sum(range(600_000)))
    first = lap()
    yield Case(("right", "\u5bf9"), "gradient", first.args, first.expected, ("", ""))
    yield Race(("twice as fast", "\u5feb\u4e00\u500d"), "gradient", first.args, first.expected, ("Faster.", "\u5feb\u70b9\u3002"), lap=lap, times=2, ratios=[])

EXERCISES = [Exercise("ops.relu", 2, "Negate", "\u53d6\u8d1f", cases)]
"""
HEAD = '@learn.exercise("ops.relu")\ndef relu(x):\n'
END = "    return -x, lambda g: -g"
SLEEP = "    import time\n    time.sleep(0.03)\n"
CHEATS = {
    "honestly slow": HEAD + SLEEP + END,
    "remembered answers": f"kept = {{}}\n{HEAD}    if x.shape in kept:\n        return kept[x.shape]\n{SLEEP}"
    f"    kept[x.shape] = -x, lambda g: -g\n    return kept[x.shape]",
    "another clock": "import time\nsleep = time.sleep\ntime.perf_counter = time.monotonic = lambda: 0.0\n"
    + HEAD
    + SLEEP
    + END,
    "a neighbour that takes the processor": "import os\nfor _ in range(8):\n    if os.fork() == 0:\n        while True:\n"
    "            pass\n" + HEAD + SLEEP + END,
}


@pytest.fixture
def racing(course, graded):
    (course.parent / "checks" / "lesson.py").write_text(CHECKS)
    return graded


def test_a_race_that_is_won(racing):
    report = racing(HEAD + END)
    (result,) = report.exercises
    assert result.passed and result.earned == 2, result.message


@pytest.mark.parametrize("cell", CHEATS.values(), ids=CHEATS)
def test_a_race_that_is_not(racing, cell):
    (result,) = racing(cell).exercises
    assert not result.passed and (result.verdict, result.case) == ("failed", "twice as fast")
    assert (
        "numbers are wrong" in result.message
        or "2 times the speed of the plain loop was expected" in result.message
    )


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([], None),
        ([3.0] * 5, None),
        ([3.0] * 6, True),
        ([1.0] * 6, False),
        ([3.0, 1.0] * 6, None),
        ([3.0] * 8 + [1.0], True),
        ([3.0, 1.0] * 11 + [3.0, 3.0], True),
        ([3.0, 1.0] * 11 + [1.0, 1.0], False),
    ],
)
def test_a_verdict_waits_until_it_is_stable(ratios, verdict):
    assert race.verdict(ratios, 2.0) is verdict


def test_noise_does_not_move_a_verdict():
    """Ratios that scatter by a factor of two around 30 % above or below the rung: one in a hundred may err."""
    rng = np.random.default_rng(3)
    for true, expected in ((2.6, True), (1.5, False)):
        told = []
        for _ in range(300):
            draw = lambda true=true: float(true * np.exp(rng.normal(0, 0.3)))
            told.append(race.won([], 2.0, draw) is expected)
        assert np.mean(told) > 0.97


COUNTS = """
import os
if os.fork() == 0:
    number = 0
    while True:
        number += 1
        os.write(1, b"%d\\n" % number)
"""


def test_while_the_baseline_runs_the_learners_processes_stand_still(warm):
    with contextlib.closing(warm.fork()) as sandbox:
        reply = sandbox.ask({"kind": "cell", "number": 1, "source": COUNTS, "seconds": 5}, 5)
        assert reply["error"] is None

        def counted():
            return int((sandbox.output() or "0").split()[-1])

        wait_until(lambda: counted() > 10)
        with sandbox.standing_still():
            last = [counted()]
            wait_until(
                lambda: last.append(counted()) or last[-1] == last[-2]
            )  # what was under way has arrived
            time.sleep(0.2)
            assert counted() == last[-1]
        wait_until(lambda: counted() > last[-1])


def wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
