"""A lock that a thread does not get again while another waits for it."""

import threading


class Turns:
    """A re-entrant lock. Who waits for it gets it before the thread that has just had it.

    Python's locks go to whichever thread runs first, which is the one that has just released it: a thread
    that updates in a loop would keep one that asks waiting for many updates. Here the one that waits first
    holds a second lock, the door, until it has the first, and others wait at the door.
    """

    def __init__(self) -> None:
        self._door, self._room = threading.Lock(), threading.Lock()
        self._owner = self._depth = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return
        with self._door:
            self._room.acquire()
        self._owner, self._depth = me, 1

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._room.release()
