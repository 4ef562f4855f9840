"""Items that a thread makes ahead of their use."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any


def prefetched(items: Iterator[Any], ahead: int) -> Iterator[Any]:
    """The same items in the same order; a thread makes at most `ahead` of them before they are asked for.

    An exception of `items` is raised here, after the items before it. When this iterator is closed or
    collected, the thread finishes the item that it is making and ends. ahead: 0 makes each item here, when it
    is asked for.
    """
    if ahead == 0:
        yield from items
        return
    made: deque[Any] = deque()
    places, filled = threading.Semaphore(ahead), threading.Semaphore(0)
    stopped = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while places.acquire() and not stopped.is_set():
                made.append(next(items))
                filled.release()
        except StopIteration:
            stopped.set()
        except BaseException as error:  # raised again where the items are used
            errors.append(error)
            stopped.set()
        filled.release()

    thread = threading.Thread(target=work, name="sampan prefetch", daemon=True)
    thread.start()
    try:
        while filled.acquire() and made:
            yield made.popleft()
            places.release()
        if errors:
            raise errors[0]
    finally:
        stopped.set()
        places.release()
        if threading.current_thread() is not thread:  # which may collect a cycle with this iterator in it
            thread.join()
