"""Performance in rungs: a race tells the fast from the slow, and cannot be won by cheating the clock."""

from __future__ import annotations

import contextlib
import platform
import signal
import time

import numpy as np
import psutil
import pytest

from studio.grading import family, race
from studio.grading.sandbox import Gone
from tests.webapp.running import until

pytestmark = pytest.mark.alone

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
# As the baseline is, it is slowed down by whatever else the machine does.
SLOW = "    sum(range(1_800_000))\n"
CHEATS = {
    "honestly slow": HEAD + SLOW + END,
    "remembered answers": f"kept = {{}}\n{HEAD}    if x.shape in kept:\n        return kept[x.shape]\n{SLOW}"
    f"    kept[x.shape] = -x, lambda g: -g\n    return kept[x.shape]",
    "another clock": "import time\ntime.perf_counter = time.monotonic = lambda: 0.0\n" + HEAD + SLOW + END,
    "a neighbour that takes the processor": "import os\nfor _ in range(8):\n    if os.fork() == 0:\n        while True:\n"
    "            pass\n" + HEAD + SLOW + END,
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
        or "expected 2 times the speed of the plain loop" in result.message
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


SPINS = """
import os
for _ in range(2):
    if os.fork() == 0:
        while True:
            pass
"""


@pytest.fixture
def spinning(warm):
    """A sandbox with two processes that take all the processor time they get, and the seconds that all of it has used."""
    others = set(psutil.Process(warm.process.pid).children(recursive=True)) if warm._ready else set()
    with contextlib.closing(warm.fork()) as sandbox:
        reply = sandbox.ask({"kind": "cell", "number": 1, "source": SPINS, "seconds": 5}, 5)
        assert reply["error"] is None
        mine = set(psutil.Process(warm.process.pid).children(recursive=True)) - others
        mine -= {
            process for process in mine if process.ppid() not in {other.pid for other in mine}
        }  # the guard

        def seconds():
            return sum(family.seconds(process.pid) for process in mine)

        yield sandbox, mine, seconds


def test_while_the_baseline_runs_the_learners_processes_stand_still(spinning):
    sandbox, _, seconds = spinning
    started = seconds()
    until(lambda: seconds() > started + 0.1)
    with sandbox.standing_still():
        before = seconds()
        time.sleep(0.3)
        assert seconds() - before < 0.01
    before = seconds()
    until(lambda: seconds() > before + 0.1)


def test_a_lap_in_which_they_ran_on_is_void(spinning):
    """Woken from outside: from inside no way is known (`test_no_clock_wakes_a_process_that_stands_still`)."""
    sandbox, mine, _ = spinning
    with pytest.raises(Gone, match="kept running"), sandbox.standing_still():
        for process in mine:
            if process.status() == psutil.STATUS_STOPPED:
                process.send_signal(signal.SIGCONT)
        time.sleep(0.3)


WAKES = """
import ctypes, errno, fcntl, os, signal, struct
libc = ctypes.CDLL(None, use_errno=True)
told = {}
def made(name, answer):
    told[name] = "went through" if answer >= 0 else errno.errorcode[ctypes.get_errno()]
event = ctypes.create_string_buffer(struct.pack("qii", 0, signal.SIGCONT, 0), 64)
made("timer_create", libc.syscall(222, 1, event, ctypes.byref(ctypes.c_int())))
made("timerfd_create", libc.syscall(283, 1, 0))
made("the death of a parent", libc.prctl(1, signal.SIGCONT, 0, 0, 0))
made("the same, spelled wide", libc.syscall(157, ctypes.c_long(1 + (1 << 32)), signal.SIGCONT, 0, 0, 0))
reading, writing = os.pipe()
made("a pipe", libc.fcntl(writing, 10, signal.SIGCONT))
made("a pipe, spelled wide", libc.syscall(72, writing, ctypes.c_long(10 + (1 << 32)), signal.SIGCONT))
made("a queue", libc.syscall(240, b"q", os.O_CREAT | os.O_RDWR, 0o600, None))
print({name: answer for name, answer in told.items() if answer != "EPERM"})
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")
def test_no_clock_wakes_a_process_that_stands_still(warm):
    with contextlib.closing(warm.fork()) as sandbox:
        reply = sandbox.ask({"kind": "cell", "number": 1, "source": WAKES, "seconds": 10}, 10)
        sandbox.kill()
        assert (reply["error"], sandbox.output()) == (None, "{}")


ORPHANS = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    middle = os.getpid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        while True:
            pass
    state = lambda: open(f"/proc/{os.getpid() + 1}/stat").read().rpartition(")")[2].split()[0]
    while True:
        try:
            if state() == "T":
                os._exit(0)
        except OSError:
            pass
"""


def test_the_end_of_a_helper_wakes_nobody(warm):
    """The kernel continues a stopped group of processes when the last of its family's leaders ends."""
    for _ in range(5):
        with contextlib.closing(warm.fork()) as sandbox:
            reply = sandbox.ask({"kind": "cell", "number": 1, "source": ORPHANS, "seconds": 5}, 5)
            assert reply["error"] is None
            time.sleep(0.1)
            with sandbox.standing_still():
                time.sleep(0.05)
