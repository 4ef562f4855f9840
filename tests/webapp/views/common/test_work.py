"""What takes its time in a thread: its states, how it is cancelled, and that the last wish counts."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from studio.views.common.work import Latest, Work

pytestmark = pytest.mark.alone


class Steps(Work):
    """Ten steps, each of which waits until it may go on."""

    def __init__(self, on_change: Any = lambda _: None) -> None:
        super().__init__("steps", on_change)
        self.taken = 0
        self.go = threading.Semaphore(0)

    @property
    def progress(self) -> float:
        return self.taken / 10

    def _work(self) -> None:
        while self.taken < 10 and not self._cancel.is_set():
            assert self.go.acquire(timeout=60)
            self.taken += 1
            if self.taken == 1:
                self._running()
            if self.taken == 9:
                raise ValueError("the ninth")
            self._tell()


def test_the_states_of_work() -> None:
    seen: list[tuple[str, float]] = []
    changed = threading.Semaphore(0)

    def follow(work: Steps) -> None:
        seen.append((work.state, work.fraction))
        changed.release()

    work = Steps(follow)
    assert work.state == "waiting" and not work.alive and work.seconds == 0
    work.start()
    assert work.state == "loading" and work.alive and not work.rests
    work.go.release()
    assert changed.acquire(timeout=60) and seen == [("running", 0.1)]
    assert work.seconds_left is None, "progress before it ran is not a measure"
    time.sleep(0.1)  # a step is long beside the time between the two readings below
    work.go.release()
    assert changed.acquire(timeout=60)
    left, seconds = work.seconds_left, work.seconds
    assert left is not None and seconds >= 0.1
    assert left >= 7.9 * seconds * 0.5  # one step of ten taken, eight are left
    work.cancel()
    work.go.release()
    assert work.join(10) and work.state == "cancelled" and work.rests and work.fraction == 0.3
    assert work.seconds_left is None and work.seconds == work.seconds


def test_an_error_ends_work_and_is_told() -> None:
    states: list[str] = []
    work = Steps(lambda work: states.append(work.state)).start()
    work.go.release(10)
    assert work.join(10)
    assert (work.state, work.error, work.rests) == ("failed", "ValueError: the ninth", False)
    assert states[-1] == "failed"


def test_of_many_wishes_the_last_is_fulfilled() -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[int] = []
    stopped: list[int] = []
    rested = threading.Event()

    def do(wish: int) -> None:
        begun.set()
        assert go_on.wait(10)
        done.append(wish)

    latest = Latest(do, lambda: stopped.append(len(done)), rested.set)
    latest.ask(1)
    assert begun.wait(10) and not latest.waits
    for wish in range(2, 9):
        latest.ask(wish)
    assert latest.waits and stopped == [0] * 8
    go_on.set()
    latest.wait(10)
    assert done == [1, 8] and rested.is_set() and not latest.waits
    latest.ask(9)
    latest.wait(10)
    assert done == [1, 8, 9]

    begun.clear()
    go_on.clear()
    latest.ask(10)
    assert begun.wait(10)
    latest.ask(11)
    latest.forget()
    go_on.set()
    latest.wait(10)
    assert done[-1] == 10


def test_after_an_error_the_next_wish_is_fulfilled(monkeypatch: Any) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    done: list[int] = []

    def do(wish: int) -> None:
        done.append(1 // wish)

    latest = Latest(do)
    latest.ask(0)
    latest.wait(10)
    latest.ask(1)
    latest.wait(10)
    assert done == [1]
