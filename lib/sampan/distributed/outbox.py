"""Messages that this process has started and not waited for.

gloo loses a message whose work is freed before it has ended, and a work does not say that it has ended before
it is waited for. So the works are kept here until they are waited for: by the program, or, where the program
has dropped the Task, by a later message once too many are left behind, and by the end of the connection.
PaddlePaddle's `isend` and `irecv` wait at once on a CPU, so a program for it may drop their Tasks.
"""

import time
import warnings
from collections import deque
from datetime import timedelta
from typing import Any

LEFT_MESSAGES = 64
LEFT_BYTES = 64 << 20
AT_THE_END_S = (
    10.0  # time-out, in seconds, for messages that are still being sent when connections are closed
)

_sends: dict[int, Any] = {}  # tasks' works by their id, so that a dropped one stays alive
_left: deque[tuple[Any, Any]] = deque()  # (works, finish) of dropped Tasks, oldest first


def add(work: Any) -> None:
    """Keep the work of a message that is being sent, until `ended`."""
    _sends[id(work)] = work


def ended(work: Any) -> None:
    """Let go of a work that was waited for."""
    _sends.pop(id(work), None)


def leave(works: Any, finish: Any) -> None:
    """Keep what a Task held that the program has dropped."""
    _left.append((works, finish))


def make_room() -> None:
    """Wait for the oldest messages of dropped Tasks while these are too many, or hold too many bytes.

    Raises CommunicationError where such a message fails: the other process has not received it.
    """
    while _left and (
        len(_left) > LEFT_MESSAGES or sum(w.size for works, _ in _left for w in works) > LEFT_BYTES
    ):
        works, finish = _left.popleft()
        for work in works:
            work.wait_for(work.call)
        if finish is not None:
            finish()


def close(process_groups: Any = None) -> None:
    """Before connections are closed: wait until messages have left, for ten seconds together.

    process_groups: torch's groups, None for all. Warns of messages that were not received.
    """
    until = time.monotonic() + AT_THE_END_S
    lost = []
    for work in list(_sends.values()):
        if process_groups is None or work.call.group.torch_group in process_groups:
            ended(work)
            rest = max(until - time.monotonic(), 0.001)
            try:
                work.work.wait(timedelta(seconds=rest))
            except RuntimeError:
                lost.append(str(work.call))
    if lost:
        text = f"the connections are closed, and these messages were not received: {'; '.join(lost)}"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    kept = [entry for entry in _left if entry[0] and _is_open(entry[0][0], process_groups)]
    _left.clear()
    _left.extend(kept)


def _is_open(work: Any, closed: Any) -> bool:
    return closed is not None and work.call.group.torch_group not in closed
