"""Values through a pair of sockets."""

import threading
from multiprocessing import Pipe
from typing import Any

import numpy as np
import pytest

from sampan.transport import messages


def through(value: Any) -> tuple[Any, int, int]:
    """(what arrives, the bytes that were sent, those that were read)."""
    one, other = Pipe()
    parts = messages.packed(value)
    with one, other:
        sender = threading.Thread(target=messages.write, args=(one, parts))
        sender.start()
        found, size = messages.read(other)
        sender.join()
    return found, messages.size(parts), size


def test_arrays_arrive_as_they_were_and_may_be_written_to() -> None:
    numbers = np.random.default_rng(0).normal(size=(5000, 64))
    given = {"large": numbers, "turned": numbers.T, "strided": numbers[::2, ::3], "small": np.arange(3)}
    given |= {"none": np.empty((0, 4)), "bits": numbers.astype(np.float32).view(np.int16)}
    found, sent, read = through([given, ("text", 2.5, None)])
    assert found[1] == ("text", 2.5, None) and sent == read > numbers.nbytes
    for name, array in given.items():
        np.testing.assert_array_equal(found[0][name], array)
        assert found[0][name].dtype == array.dtype and found[0][name].flags.writeable


def test_large_arrays_are_not_copied_before_they_are_sent() -> None:
    array = np.zeros(1 << 20, np.uint8)
    parts = messages.packed([array])
    assert [part.nbytes > 1000 for part in parts] == [False, True]
    array[5] = 7
    assert parts[1][5] == 7


def test_more_arrays_than_one_call_of_the_system_takes() -> None:
    given = [np.full(600, n) for n in range(1500)]
    found, _, _ = through(given)
    assert all((array == n).all() and array.size == 600 for n, array in enumerate(found))


def test_a_closed_end_and_other_bytes_are_errors() -> None:
    one, other = Pipe()
    with other:
        one.close()
        with pytest.raises(EOFError):
            messages.read(other)
    one, other = Pipe()
    with one, other:
        one.send_bytes(b"x" * 100)
        with pytest.raises(OSError, match="is not one of a shard"):
            messages.read(other)
