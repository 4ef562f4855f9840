"""Long-running work in a thread, with progress and cancellation, replaced by later requests. Independent of
widgets.

`Work` is one task; `Latest` runs one after the other.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

Wish = TypeVar("Wish")


class Work:
    """A task that `_work` does in a thread after `start()`.

    States: waiting, loading, running once `_running()` was called, then done, cancelled or failed (`error` says
    how). `on_change` is called from the thread, always at its end.
    """

    def __init__(self, name: str, on_change: Callable[[Any], None] = lambda _: None) -> None:
        self.state, self.error = "waiting", ""
        self._on_change = on_change
        self._began = self._ended = self._told = 0.0
        self._done_at_start = 0.0
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Self:
        self.state = "loading"
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Asks it to stop after the present step. The results so far can be used."""
        self._cancel.set()

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the end; returns whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def alive(self) -> bool:
        return self.state in ("loading", "running")

    @property
    def rests(self) -> bool:
        """Whether its result can be used: it has ended without an error, or the caller is its own thread, between
        two steps."""
        return self.state in ("done", "cancelled") or threading.current_thread() is self._thread

    @property
    def progress(self) -> float:
        """The fraction that is done, 0..1, for a work without its own measure."""
        return 0.0

    @property
    def fraction(self) -> float:
        return 1.0 if self.state == "done" else min(max(self.progress, 0.0), 1.0)

    @property
    def seconds(self) -> float:
        """Since it is running."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def seconds_left(self) -> float | None:
        """None if unknown."""
        gone = self.fraction - self._done_at_start
        if self.state != "running" or gone <= 0:
            return None
        return self.seconds * (1 - self.fraction) / gone

    # ---- for subclasses

    def _work(self) -> None:
        """The work itself; checks `_cancel` regularly."""
        raise NotImplementedError

    def _running(self) -> None:
        """Start the clock: the time before was reading and compiling, and does not predict the rest."""
        self._began, self._done_at_start = time.monotonic(), self.fraction
        self.state = "running"

    def _tell(self, every: float = 0.0) -> None:
        """Calls `on_change`, unless it was called less than `every` seconds ago."""
        now = time.monotonic()
        if now - self._told >= every:
            self._told = now
            self._on_change(self)

    def _run(self) -> None:
        try:
            self._work()
            state = "cancelled" if self._cancel.is_set() else "done"
        except Exception as error:  # show every error on the page: the visitor does not see the log
            state, self.error = "failed", f"{type(error).__name__}: {error}"
        self._ended = time.monotonic()
        self.state = state
        self._on_change(self)


class Latest(Generic[Wish]):
    """Runs only the latest request, in one thread at a time, so that moving a slider does not wait for older
    requests. `do` runs a request, `stop` ends the running one, `rest` is called when none is left.
    """

    def __init__(
        self,
        do: Callable[[Wish], None],
        stop: Callable[[], None] = lambda: None,
        rest: Callable[[], None] = lambda: None,
        name: str = "latest",
    ) -> None:
        self._do, self._stop, self._rest, self._name = do, stop, rest, name
        self._lock = threading.Lock()
        self._wishes: list[Wish] = []  # at most one
        self._thread: threading.Thread | None = None

    def ask(self, wish: Wish) -> None:
        with self._lock:
            self._wishes = [wish]
            self._stop()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def forget(self) -> None:
        """Drop all requests."""
        with self._lock:
            self._wishes = []
            self._stop()

    @property
    def waits(self) -> bool:
        """Whether a newer request waits for the present one to end."""
        return bool(self._wishes)

    def wait(self, timeout: float = 60.0) -> None:
        """Waits until no request is running (for tests)."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._wishes:
                    self._rest()
                    self._thread = None
                    return
                wish = self._wishes.pop()
            self._do(wish)


def one_core_less() -> int:
    """Sets the number of compute threads: one core is left for the browser and the server, which would disturb the
    times."""
    import numba

    from sampan.transport.threads import use_threads

    threads = min(max(1, len(os.sched_getaffinity(0)) - 1), numba.get_num_threads())
    use_threads(threads)
    return threads
