"""Calls in this process: order, errors, bytes of arrays."""

import numpy as np
import pytest

from sampan.transport import InProcess, ShardError
from sampan.transport.calls import array_bytes
from tests.transport.counting import Counting


def test_calls_are_made_in_their_order_after_the_openings() -> None:
    home = InProcess(Counting, 2, [(0, "note", ("first",))])
    assert home.request([(0, "note", (1,)), (1, "note", (2,)), (0, "note", (3,))]) == [2, 1, 3]
    assert home.request([(0, "all", ()), (1, "all", ())]) == [["first", 1, 3], [2]]


def test_calls_after_one_that_fails_are_made_too() -> None:
    home = InProcess(Counting, 1)
    asked = home.ask([(0, "fail", ("ValueError",)), (0, "note", (1,))])
    with pytest.raises(ValueError, match=r"^no$"):
        asked.wait()
    with pytest.raises(ShardError, match=r"^shard 0: ZeroDivisionError: no$"):
        home.request([(0, "fail", ("ZeroDivisionError",))])
    assert home.request([(0, "all", ())]) == [[1]]


def test_bytes_of_arrays_at_any_depth() -> None:
    a = np.zeros(10, np.int64)
    assert array_bytes([{"x": a, "y": (a, 3, "text")}, a]) == 240
