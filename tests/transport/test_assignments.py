"""Entries in the head of a Ray cluster."""

from importlib.util import find_spec

import pytest

from sampan.transport import Actors
from sampan.transport.assignments import Assignments
from tests.transport.counting import Counting

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed (extra cluster)"),
]


def test_an_entry_is_written_once_and_the_last_turn_counts() -> None:
    home = Actors(Counting, 1)  # starts Ray
    first, second, other = (Assignments(name) for name in ("one", "one", "oneself"))
    assert first.last("0") == (-1, "")
    assert first.assign("0", 0, "a") == "a"
    assert second.assign("0", 0, "b") == "a"
    assert second.assign("0", 1, "c") == "c"
    assert first.assign("spare", 0, "d") == "d"
    assert first.assign("10", 0, "e") == "e"
    assert first.last("0") == (1, "c") and first.last("1") == (-1, "")
    assert second.of_shards() == {"a", "c", "e"} and second.all() == {"a", "c", "d", "e"}
    assert other.all() == set()
    other.assign("0", 0, "z")
    first.clear()
    assert second.all() == set() and other.all() == {"z"}
    other.clear()
    home.close()
