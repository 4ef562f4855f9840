"""Whether the processes of a group call the same collective, and which of them the others wait for.

gloo ends the process when two messages differ in size, mixes up the values when they have the same size, and
waits without a word when a process is missing. Therefore each call has a signature: name, dtype, shape,
operation and root. By default a pair of calls that follow one another for the first time is compared with the
other processes, by messages of 16 bytes over connections of their own; the pairs of a training loop are all
known after its second step, and then a call costs a look-up in a set. SAMPAN_CHECK_COLLECTIVES=all compares
every call, =none none.

A process that waits for more than a second writes its call to the key-value store and reads those of the
others: a difference raises CommunicationError on both; without one a warning names the processes that are
waited for. A store whose process is stopped does not answer, and torch then waits without end: each request
runs in a thread, which is left behind after two seconds.
"""

import hashlib
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as c10d

from ..dtype import name_of
from ..engine.errors import OF_THIS_LIBRARY
from . import environment, waiting
from .group import Group

CHECK = "SAMPAN_CHECK_COLLECTIVES"
KNOWN_PAIRS = 100_000
NOTED_AFTER, WARNED_AFTER = 1.0, 5.0  # seconds of waiting
ANSWER = 2.0  # seconds that the store has for an answer
SHORTEST_PAUSE = 20e-6  # between two looks at torch's work
_last_note = [0.0]
_turns = threading.Lock()
_unanswered: list[threading.Thread] = []  # the request that the store has not answered yet


class CommunicationError(RuntimeError):
    """Processes call different collectives, or one of them is missing. The text names ranks, tensors and
    lines."""


class Call(NamedTuple):
    """A collective that this process calls: the number among those of its group, and the line of the
    program."""

    name: str
    group: Group
    number: int
    signature: str
    compared: bool
    file: str
    line: int

    def __str__(self) -> str:
        place = f"(call {self.number} of {self.group.name}) at {self.file}:{self.line}"
        return " ".join(part for part in (self.name, self.signature, place) if part)


def enter(
    name: str, group: Group, buffer: Any = None, setting: str = "", label: str = "", compared: bool = True
) -> Call:
    """The call of a collective; it raises CommunicationError where another process calls a different one.

    buffer: its dtype and shape must be the same in all processes. setting: what else must, as a text. label:
    what the tensor is, such as the name of a parameter. compared: whether all members call it. RuntimeError
    where another thread is in a call of the group: the order of threads differs between processes, so each
    needs a group of its own. `leave` ends a call.
    """
    signature = "" if buffer is None else f"{name_of(buffer.dtype)}{[*buffer.shape]}"
    signature = " ".join(part for part in (signature, setting, label) if part)
    if group.checks is not None:
        _take_turn(name, group)
    group.calls += compared
    call = Call(name, group, group.calls, signature, compared, *_call_site())
    if group.checks is not None:
        if compared:
            group.recent.append(call)
        now = time.monotonic()
        if now - _last_note[0] > NOTED_AFTER:
            _note(call)
        if compared:
            try:
                _compare(call)
            except BaseException:
                leave(group)
                raise
    return call


def _take_turn(name: str, group: Group) -> None:
    own = threading.current_thread()
    with _turns:
        thread, other = group.inside or (own, "")
        if thread is not own and thread.is_alive():
            raise RuntimeError(
                f"{name}: thread {thread.name!r} is in {other} of group {group.name}; make a group for each "
                "thread with new_group"
            )
        group.inside = own, name


def leave(group: Group) -> None:
    """The call of this thread has been started, and waited for where it is to be: others may call."""
    group.inside = None


def _call_site() -> tuple[str, int]:
    """File and line of the first frame outside the library."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OF_THIS_LIBRARY):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _compare(call: Call) -> None:
    mode = os.environ.get(CHECK, "new")
    if mode == "none":
        return
    group, own = call.group, (call.name, call.signature)
    pair = (group.previous, own)
    group.previous = own
    if mode != "all":
        if pair in group.seen:
            return
        if len(group.seen) >= KNOWN_PAIRS:  # in all members at the same call
            group.seen.clear()
        group.seen.add(pair)
    digest = hashlib.blake2b(repr((own, call.number)).encode(), digest_size=8).digest()
    word = torch.frombuffer(bytearray(digest), dtype=torch.int64)
    words = [torch.zeros_like(word) for _ in group.ranks]
    group.compared += 1
    until_done(c10d.all_gather(words, word, group=group.checks, async_op=True), call)
    if any(int(other) != int(word) for other in words):
        keys = [
            f"different/{group.checks.group_name}/{group.compared}/{rank}" for rank in range(group.nranks)
        ]
        _write(keys[group.rank], str(call))
        raise _different(call, call.number, [text or "no answer" for text in _read(keys, seconds=3)])


def _different(call: Call, number: int, calls: Sequence[str]) -> CommunicationError:
    """The error for the members' calls with this number, which the others find in the store while they
    wait."""
    lines = [f"\n  rank {rank}: {text}" for rank, text in zip(call.group.ranks, calls, strict=True)]
    text = f"the processes call different collectives:{''.join(lines)}"
    _write(f"broken/{call.group.checks.group_name}/{number}", text)
    _forget(call.group)
    return CommunicationError(f"{call.name}: {text}")


def withdraw(group: Group, text: str) -> None:
    """Let members that wait in the next collective of a group fail with this text: this process will not call
    it."""
    if group.checks is not None:
        _write(f"broken/{group.checks.group_name}/{group.calls + 1}", text)
        _forget(group)


def _forget(group: Group) -> None:
    """Compare all calls again, so that the members' known pairs are the same."""
    group.seen.clear()
    group.previous = None
    group.recent.clear()


# --- waiting ---


def until_done(work: Any, call: Call) -> None:
    """Wait for torch's Work of a call. Raises CommunicationError if it fails, or the others do something
    else."""
    with waiting.for_others(call.name):
        _until_done(work, call)


def _until_done(work: Any, call: Call) -> None:
    start = time.monotonic()
    waited, noted, warned = 0.0, 0.0, False
    try:
        while not work.is_completed():
            time.sleep(max(SHORTEST_PAUSE, min(waited / 50, 0.01)))
            waited = time.monotonic() - start
            if waited > NOTED_AFTER + noted:
                noted = waited
                _note(call)
                _refuse_difference(call)
            if waited > WARNED_AFTER and not warned:
                warned = True
                text = f"{call} has waited {waited:.0f} s; {_others(call)}"
                warnings.warn(text, RuntimeWarning, stacklevel=5)
        work.wait()
    except CommunicationError:
        raise
    except RuntimeError as error:
        raise failed(call, error) from error


def failed(call: Call, error: Exception) -> CommunicationError:
    """The error of a call which torch's error ended."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    leave(call.group)
    _note(call)
    if told := _read([f"broken/{call.group.checks.group_name}/{call.number}"])[0]:
        _forget(call.group)
        return CommunicationError(f"{call.name}: {told}")
    return CommunicationError(
        f"{call} of rank {call.group.ranks[call.group.rank]} failed: {text}. {_others(call, NOTED_AFTER)}"
    )


def _refuse_difference(call: Call) -> None:
    """CommunicationError where another process's call with the same number as one of this process is
    another."""
    own = {recent.number: recent for recent in call.group.recent}
    if text := _read([f"broken/{call.group.checks.group_name}/{call.number}"])[0]:
        _forget(call.group)
        raise CommunicationError(f"{call.name}: {text}")
    states = _states(call.group)
    for state in states:
        for number, signature, _ in state["recent"] if state else ():
            if number in own and signature != [own[number].name, own[number].signature]:
                texts = [{n: t for n, _, t in other["recent"]} if other else {} for other in states]
                texts[call.group.rank] = {number: str(own[number])}
                raise _different(call, number, [each.get(number, "not known") for each in texts])


def _note(call: Call) -> None:
    """Write what this process calls to the key-value store."""
    _last_note[0] = time.monotonic()
    recent = [(each.number, [each.name, each.signature], str(each)) for each in call.group.recent]
    state = {"call": str(call), "number": call.number, "recent": recent, "time": time.time()}
    _write(f"state/{call.group.checks.group_name}/{call.group.rank}", json.dumps(state))


def _states(group: Group, seconds: float = 0.0) -> list[Any]:
    texts = _read([f"state/{group.checks.group_name}/{rank}" for rank in range(group.nranks)], seconds)
    return [json.loads(text) if text else None for text in texts]


def _others(call: Call, seconds: float = 0.0) -> str:
    """What the other processes were last seen calling; those that have noted nothing have some seconds for
    it."""
    states = _states(call.group, seconds)
    if _silent():
        return "rank 0, which keeps the notes of all, does not answer: it is stopped or cannot be reached"
    parts = []
    for rank, state in zip(call.group.ranks, states, strict=True):
        if rank == call.group.ranks[call.group.rank]:
            continue
        if state is None:
            parts.append(f"rank {rank} has noted no call")
        elif state["number"] < call.number:
            parts.append(
                f"rank {rank} is missing: {time.time() - state['time']:.0f} s ago it was in {state['call']}"
            )
        else:
            parts.append(f"rank {rank} is in {state['call']}")
    return "; ".join(parts)


# --- the key-value store ---


def _write(key: str, text: str) -> None:
    store = environment.state["store"]
    _asked(lambda: store.set(key, text), ANSWER)


def _read(keys: Sequence[str], seconds: float = 0.0) -> list[str | None]:
    """The text of each key, None if it is not there within some seconds."""
    store, end = environment.state["store"], time.monotonic() + seconds

    def read() -> list[str | None]:
        while not all(there := [store.check([key]) for key in keys]):
            if time.monotonic() >= end:
                break
            time.sleep(0.01)
        return [
            store.get(key).decode() if present else None for key, present in zip(keys, there, strict=True)
        ]

    return _asked(read, ANSWER + seconds) or [None] * len(keys)


def _asked(request: Callable[[], Any], seconds: float) -> Any:
    """The store's answer to a request; None, with a warning, where it fails, and where there is none in
    time."""
    if _silent():
        return None
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(request())
        except RuntimeError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, name="sampan-store", daemon=True)
    thread.start()
    thread.join(seconds)
    answer = answers[0] if answers else None
    if not answers:
        _unanswered[:] = [thread]
    elif isinstance(answer, RuntimeError):
        text = f"the key-value store of rank 0 does not answer: {str(answer).splitlines()[0]}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        answer = None
    return answer


def _silent() -> bool:
    """Whether the store still owes an answer."""
    return any(thread.is_alive() for thread in _unanswered)
