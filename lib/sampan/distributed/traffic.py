"""What this process sends to others: bytes by collective and by step, counted always.

payload: the bytes of the tensors that a program gives to a collective. wire: the bytes that this process then
sends, by the algorithm that the backend uses (a ring for `all_reduce`: 2 (n - 1) / n of the payload for n
processes). Headers of TCP and of the backend are not counted.
"""

from typing import NamedTuple

from . import throttle

__all__ = ["Bytes", "count", "reset", "ring", "step", "steps", "totals", "tree"]


class Bytes(NamedTuple):
    """calls: how many exchanges. payload, wire: bytes."""

    calls: int = 0
    payload: int = 0
    wire: int = 0


_totals: dict[str, Bytes] = {}
_at_last_step: dict[str, Bytes] = {}
_steps: list[dict[str, Bytes]] = []
KEPT_STEPS = 1000


def count(name: str, payload: int, wire: int) -> None:
    """Add one call of the collective `name`, which is sent now: where `throttle` limits the network, wait."""
    before = _totals.get(name) or Bytes()
    _totals[name] = Bytes(before.calls + 1, before.payload + payload, before.wire + wire)
    if throttle.rate() is not None:
        throttle.pause(wire)


def ring(size: int, count: int) -> int:
    """Bytes that each of `count` processes sends in an all_reduce of `size` bytes by a ring."""
    return 2 * (count - 1) * size // count


def tree(size: int, count: int, place: int) -> int:
    """Bytes that the process which is `place` after the root sends in a broadcast by a binomial tree."""
    sent, step = 0, 1
    while step < count:
        sent += place < step and place + step < count
        step *= 2
    return sent * size


def totals() -> dict[str, Bytes]:
    """The counts since the start or `reset`, by collective."""
    return dict(_totals)


def step() -> dict[str, Bytes]:
    """End a step: the counts since the last one, by collective. The last 1000 are kept, see `steps`."""
    global _at_last_step
    none = Bytes()
    ended = {
        name: Bytes(
            *(now - before for now, before in zip(counts, _at_last_step.get(name, none), strict=True))
        )
        for name, counts in _totals.items()
        if counts != _at_last_step.get(name)
    }
    _at_last_step = dict(_totals)
    _steps.append(ended)
    del _steps[:-KEPT_STEPS]
    return ended


def steps() -> list[dict[str, Bytes]]:
    """The counts of each of the last steps, oldest first."""
    return list(_steps)


def reset() -> None:
    """Forget all counts."""
    global _at_last_step
    _totals.clear()
    _steps.clear()
    _at_last_step = {}
