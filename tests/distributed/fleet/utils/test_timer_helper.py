"""Named stopwatches."""

import time

import pytest

from sampan.distributed.fleet.utils import timer_helper


def test_seconds_add_up(capsys):
    timers = timer_helper.Timers()
    for _ in range(2):
        timers("forward").start()
        time.sleep(0.01)
        timers("forward").stop()
    assert 0.02 <= timers("forward").elapsed(reset=False) < 60
    timers.log(["forward"])
    assert capsys.readouterr().out.startswith("time (ms) | forward: ")
    assert timers("forward").elapsed() == 0
    with pytest.raises(AssertionError, match="timer is not started"):
        timers("forward").stop()
    timers("forward").start()
    assert timers("forward").elapsed() > 0  # and it goes on
    with pytest.raises(AssertionError, match="timer has already started"):
        timers("forward").start()
    with pytest.raises(KeyError):
        timers.log(["backward"])


def test_those_of_the_program(monkeypatch):
    monkeypatch.setattr(timer_helper, "_global", [])
    with pytest.raises(AssertionError, match="timers is not initialized"):
        timer_helper.get_timers()
    timer_helper.set_timers()
    assert timer_helper.is_timer_initialized()
    assert timer_helper.get_timers() is timer_helper.get_timers()
    with pytest.raises(AssertionError, match="already initialized"):
        timer_helper.set_timers()
