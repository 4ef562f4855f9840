import gc
import threading
import time
from collections.abc import Iterator

import pytest

from sampan.graph.prefetch import prefetched


def threads() -> int:
    return sum(thread.name == "sampan prefetch" for thread in threading.enumerate())


@pytest.mark.parametrize("ahead", [0, 1, 3, 50])
def test_the_same_items_in_the_same_order(ahead: int) -> None:
    assert list(prefetched(iter(range(20)), ahead)) == list(range(20))
    assert list(prefetched(iter([]), ahead)) == []
    assert threads() == 0


@pytest.mark.parametrize("ahead", [1, 2])
def test_at_most_so_many_are_made_ahead(ahead: int) -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(10):
            made.append(number)
            yield number

    found = prefetched(items(), ahead)
    for used in range(1, 4):
        next(found)
        time.sleep(0.05)
        assert used <= len(made) <= used + ahead
    found.close()  # type: ignore[attr-defined]
    assert threads() == 0 and len(made) < 10


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_an_error_of_the_thread_comes_after_the_items_before_it(ahead: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("the third")

    found = []
    with pytest.raises(KeyError, match="the third"):
        for item in prefetched(items(), ahead):
            found.append(item)
    assert found == [1, 2] and threads() == 0


def test_leaving_the_loop_ends_the_thread() -> None:
    def use() -> None:
        for item in prefetched(iter(range(1_000_000)), 2):
            if item == 3:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()
    for item in prefetched(iter(range(1_000_000)), 2):
        if item == 3:
            break
    assert threads() == 0


def test_the_thread_may_collect_a_cycle_with_its_own_iterator() -> None:
    collect = threading.Event()

    class Holder:
        found: Iterator[int]

    def items() -> Iterator[int]:
        yield 1
        collect.wait(10)
        gc.collect()  # in the thread
        yield 2

    holder = Holder()
    holder.found = prefetched(items(), 2)
    holder.cycle = holder  # type: ignore[attr-defined]
    assert next(holder.found) == 1
    thread = next(thread for thread in threading.enumerate() if thread.name == "sampan prefetch")
    gc.disable()
    try:
        del holder
        collect.set()
        thread.join(10)
    finally:
        gc.enable()
    assert not thread.is_alive()
