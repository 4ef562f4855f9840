"""A lock whose waiting threads come first."""

import threading
import time

import pytest

from sampan.graph.turns import Turns


def test_who_waits_comes_before_who_has_had_it():
    for _ in range(20):
        turns, order = Turns(), []

        def wait(turns=turns, order=order):
            with turns:
                order.append("other")

        other = threading.Thread(target=wait)
        with turns:
            order.append("first")
            other.start()
            while not turns._door.locked():  # until the other waits
                time.sleep(0.0001)
        with turns:
            order.append("first again")
        other.join()
        assert order == ["first", "other", "first again"]


def test_it_is_re_entrant_and_left_by_an_error():
    turns = Turns()
    with pytest.raises(ValueError, match="inner"), turns:
        with turns, turns:
            pass
        assert turns._room.locked()
        raise ValueError("inner")
    assert not turns._room.locked() and not turns._door.locked()


def test_one_thread_at_a_time():
    turns, counts = Turns(), [0]

    def add():
        for _ in range(2000):
            with turns, turns:
                before = counts[0]
                if before % 100 == 0:
                    time.sleep(0)
                counts[0] = before + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [8000]
