"""One block of memory, an arena, for all results of a Program: values that are never needed together share
bytes.

The smallest arena is hard to find (dynamic storage allocation is NP-complete). `offsets` is the greedy rule
by size of Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference", section 4.
Used by notebook 11, where a learner's `offsets` takes the place of the one here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..engine.errors import InvalidArgument
from .evaluation import Lengths, assign, run
from .liveness import Buffer, buffers
from .program import Call, Ref, mapped, refs
from .symbolic import Length

ALIGNMENT = 64  # bytes: a line of the cache


def lifetimes(calls: Sequence[Call], outputs: Sequence[Ref], given: dict[Ref, torch.Tensor]) -> list[Buffer]:
    """The buffers that the calls make, in order of their births. The calls are run once.

    outputs: what is returned. given: buffers of the inputs and of all from outside.
    """
    return buffers(calls, outputs, run(dict(given), calls, _inputs(given)), given)


def aligned(size: int) -> int:
    """Bytes rounded up to whole lines of the cache."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def offsets(sizes: Sequence[int], born: Sequence[int], last: Sequence[int]) -> list[int]:
    """Where each value begins in the arena, in bytes, so that no two that are needed during one call overlap.

    The largest values are placed first, each as low as those placed before allow.
    """
    places = [0] * len(sizes)
    done: list[int] = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        beside = [j for j in done if born[j] <= last[i] and born[i] <= last[j]]
        for j in sorted(beside, key=lambda j: places[j]):
            if places[j] >= places[i] + sizes[i]:
                break  # it fits below this one
            places[i] = max(places[i], places[j] + sizes[j])
        done.append(i)
    return places


def planned(
    made: Sequence[Buffer], place: Callable[..., Sequence[int]] | None = None
) -> tuple[list[int], int]:
    """(the offset of each buffer, the bytes of the arena). place: as `offsets`, which it is if None."""
    sizes = [aligned(buffer.bytes) for buffer in made]
    columns = sizes, [buffer.born for buffer in made], [buffer.last for buffer in made]
    places = [int(at) for at in (place or offsets)(*columns)]
    return places, max((at + size for at, size in zip(places, sizes, strict=False)), default=0)


def run_in_arena(
    calls: Sequence[Call],
    outputs: Sequence[Ref],
    given: dict[Ref, torch.Tensor],
    place: Callable[..., Sequence[int]] | None = None,
) -> tuple[list[torch.Tensor], int]:
    """(copies of the outputs, the bytes of the arena): each result is moved to its place in one block of
    memory, and later calls read it there. The place of a result is spoilt before its call, because a call
    may write while it still reads.

    place: as `offsets`, which it is if None. Where it lets values overlap that are needed together, the
    outputs are wrong. Raises InvalidArgument for an offset that is negative or no multiple of 64.
    """
    made = lifetimes(calls, outputs, given)
    places, height = planned(made, place)
    if len(places) != len(made) or any(at < 0 or at % ALIGNMENT for at in places):
        raise InvalidArgument(
            f"run_in_arena: place: expected {len(made)} multiples of {ALIGNMENT}, got {places}"
        )
    block = torch.zeros(height, dtype=torch.uint8)
    home = {buffer.values[0]: at for buffer, at in zip(made, places, strict=True)}
    spoilt: dict[int, list[torch.Tensor]] = {}  # number of a call: the places of what it makes
    for buffer, at in zip(made, places, strict=True):
        spoilt.setdefault(buffer.born, []).append(block[at : at + buffer.bytes])
    values, lengths = dict(given), Lengths(_inputs(given))

    def filled_in(leaf: Any) -> Any:
        if isinstance(leaf, Ref):
            return values[leaf]
        return leaf.at(lengths) if isinstance(leaf, Length) else leaf

    for number, call in enumerate(calls):
        for part in spoilt.get(number, []):
            part.fill_(0xFF)  # NaN, read as floats
        result = call.function(*mapped(call.args, filled_in), **mapped(call.settings, filled_in))
        assign(call.result, result[0] if call.saved is not None else result, values)
        for ref in refs(call.result):
            if ref in home:
                values[ref] = _moved(values[ref], block, home[ref])
    return [values[ref].clone() for ref in outputs], height


def _moved(buffer: torch.Tensor, block: torch.Tensor, at: int) -> torch.Tensor:
    """The same values with the same strides in the block, from byte `at` on."""
    storage = buffer.untyped_storage()
    as_bytes = torch.empty(0, dtype=torch.uint8).set_(storage)
    block[at : at + storage.nbytes()] = as_bytes
    start = at // buffer.itemsize + buffer.storage_offset()
    made = torch.empty(0, dtype=buffer.dtype)
    return made.set_(block.untyped_storage(), start, buffer.shape, buffer.stride())


def _inputs(given: dict[Ref, torch.Tensor]) -> list[torch.Tensor]:
    """The inputs among the given buffers, in order."""
    return [given[ref] for ref in sorted(given) if ref.kind == "x"]
