"""Paddle's module `fleet.utils.timer_helper`: named stopwatches of a training loop."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

_global: list[Timers] = []


class Timer:
    """A stopwatch that adds up, in seconds. AssertionError where it is started twice, or stopped while it
    stands."""

    def __init__(self, name: str) -> None:
        self.name, self.elapsed_, self.started_, self.start_time = name, 0.0, False, time.perf_counter()

    def start(self) -> None:
        """Begin to count."""
        assert not self.started_, "timer has already started"
        self.start_time, self.started_ = _now(), True

    def stop(self) -> None:
        """Stop, and add what was counted."""
        assert self.started_, "timer is not started."
        self.elapsed_ += _now() - self.start_time
        self.started_ = False

    def reset(self) -> None:
        """Stop, and forget."""
        self.elapsed_, self.started_ = 0.0, False

    def elapsed(self, reset: bool = True) -> float:
        """The seconds so far; reset: count from 0 again. A stopwatch that runs goes on."""
        runs = self.started_
        if runs:
            self.stop()
        seconds = self.elapsed_
        if reset:
            self.reset()
        if runs:
            self.start()
        return seconds


class Timers:
    """Stopwatches by name: `timers("forward").start()`."""

    def __init__(self) -> None:
        self.timers: dict[str, Timer] = {}

    def __call__(self, name: str, use_event: bool = False) -> Timer:
        """The stopwatch of that name. use_event: is not used, there is one kind."""
        return self.timers.setdefault(name, Timer(name))

    def log(self, names: Sequence[str], normalizer: float = 1.0, reset: bool = True) -> None:
        """Print the milliseconds of some stopwatches, divided by `normalizer`."""
        assert normalizer > 0.0
        parts = [f" | {name}: {self.timers[name].elapsed(reset) * 1000.0 / normalizer:.2f}" for name in names]
        print("time (ms)" + "".join(parts), flush=True)


def _now() -> float:
    """The time when the GPU has done what it was told, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def is_timer_initialized() -> bool:
    """Whether `set_timers` was called."""
    return bool(_global)


def set_timers() -> None:
    """Make the stopwatches of the program. AssertionError at the second call."""
    assert not _global, "timers has been already initialized."
    _global.append(Timers())


def get_timers() -> Timers:
    """The stopwatches of the program. AssertionError before `set_timers`."""
    assert _global, "timers is not initialized."
    return _global[0]
