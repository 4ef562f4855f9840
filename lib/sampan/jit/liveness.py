"""Liveness: from which call to which each buffer of a Program's run is needed, and what that is at once.

The greatest sum over the calls is the least memory in which the calls can run in their order: no layout of
the buffers needs less (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .code import read_by
from .program import Call, Ref, refs


class Buffer(NamedTuple):
    """Memory that calls make. values: the results that are in it, views included. bytes: of the storage.

    born, last: places of the call that makes it and of the last one that reads it. What is returned is
    needed at the place after the last call.
    """

    values: tuple[Ref, ...]
    bytes: int
    born: int
    last: int

    @property
    def name(self) -> str:
        """Of its first value."""
        return repr(self.values[0])


def buffers(
    calls: Sequence[Call], outputs: Sequence[Ref], values: Mapping[Ref, Any], given: Mapping[Ref, Any]
) -> list[Buffer]:
    """The buffers of a run, in the order in which they are made.

    outputs: what is returned. values: torch tensors of all Refs after the run, all still alive. given: those
    of inputs, parameters and constants. A result that is a view of what is given has no buffer of its own.
    """
    owned = {b.untyped_storage().data_ptr() for b in given.values()}
    last = {ref: place for place, call in enumerate(calls) for ref in read_by(call)}
    last |= dict.fromkeys(outputs, len(calls))
    found: dict[int, Buffer] = {}
    for place, call in enumerate(calls):
        for ref in refs(call.result):
            if not isinstance(values[ref], torch.Tensor):
                continue
            storage = values[ref].untyped_storage()
            key, end = storage.data_ptr(), max(place, last.get(ref, place))
            if key in owned:
                continue
            before = found.get(key, Buffer((), storage.nbytes(), place, end))
            found[key] = before._replace(values=(*before.values, ref), last=max(before.last, end))
    return list(found.values())


def alive(made: Sequence[Buffer], steps: int) -> list[int]:
    """Bytes that are needed during each of `steps` calls: what it reads of earlier results and what it makes,
    and what later calls read."""
    return [sum(b.bytes for b in made if b.born <= step <= b.last) for step in range(steps)]


def bound(made: Sequence[Buffer], steps: int) -> int:
    """The bytes that must be there at once: the greatest of `alive`, 0 without calls."""
    return max(alive(made, steps), default=0)
