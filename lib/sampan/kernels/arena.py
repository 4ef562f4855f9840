"""Memory that is reserved at once and taken from the machine page by page, as it is first written; and large
results in memory that was written before, because a page's first writing costs more than what is written."""

import math
import mmap
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


def reserved(shape: Sequence[int], dtype: Any, dense: bool = False) -> np.ndarray:
    """Zeros of a shape that may be larger than the machine's memory: a table can grow in place, and is never
    copied.

    Only address space is taken now. Where Linux is not, the memory is taken at once. dense: it fills up from
    its beginning, so it may be taken in pages of 2 MB, which are found quicker where the machine has them.
    Raises MemoryError where the process may not have as much.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < 1 << 20 or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(tuple(shape), dtype)
    return np.frombuffer(_pages(size, _NORESERVE, dense), dtype).reshape(tuple(shape))


def _pages(size: int, flags: int, large: bool) -> mmap.mmap:
    """Zeros that begin where a page does: a row of 64 floats lies in four lines of the caches, and not in
    five."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    except OSError as error:
        raise MemoryError(f"{size:,} bytes could not be had: {error.strerror}") from error
    if large and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a machine that has none
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _block(size: int) -> np.ndarray:
    """[size] bytes of zeros that will all be written. Raises MemoryError where the machine does not have as
    many."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(size, np.uint8)
    return np.frombuffer(_pages(size, 0, True), np.uint8)


LENT_FROM, MOST_KEPT = 1 << 22, 1 << 27  # bytes: of a result that is lent; of blocks that wait for the next
_waiting: dict[int, np.ndarray] = {}


def lent(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised buffer, for a large result. Its memory is reused after its last reference is gone.

    At most MOST_KEPT bytes wait to be reused. A buffer and not an array: views of it keep it alive.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < LENT_FROM:
        return torch.empty(tuple(shape), dtype=dtype)
    block = None
    for key, waiting in list(_waiting.items()):
        if size <= waiting.nbytes <= 2 * size and (block := _waiting.pop(key, None)) is not None:
            break
    if block is None:
        block = _block(size)
    shown = block[:size]
    weakref.finalize(shown, _given_back, block).atexit = False
    return torch.from_numpy(shown).view(dtype).view(tuple(shape))


def empty(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """torch.empty; a large one on the CPU in pages of 2 MB, where the machine has them: rows of it that are
    read in no order are found several times quicker."""
    if device.type != "cpu" or math.prod(shape) * dtype.itemsize < LENT_FROM:
        return torch.empty(tuple(shape), dtype=dtype, device=device)
    return torch.from_numpy(_block(math.prod(shape) * dtype.itemsize)).view(dtype).view(tuple(shape))


def filled_like(buffer: torch.Tensor, value: float = 0.0) -> torch.Tensor:
    """torch.full_like, in memory as `empty` finds it; zeros take theirs when they are first written."""
    if buffer.device.type != "cpu" or not buffer.is_contiguous() or buffer.nbytes < LENT_FROM:
        return torch.full_like(buffer, value)
    if value:
        return empty(buffer.shape, buffer.dtype, buffer.device).fill_(value)
    memory = reserved((buffer.nbytes,), np.uint8, dense=True)
    return torch.from_numpy(memory).view(buffer.dtype).view(buffer.shape)


def array_copy(given: Any) -> np.ndarray:
    """np.array(given, order="C"). The copy of a large array begins where a page does: NumPy's begins 16 bytes
    later, so a row of 64 floats lies in five lines of the caches and not in four."""
    if not isinstance(given, np.ndarray) or given.nbytes < LENT_FROM or given.dtype.hasobject:
        return np.array(given, order="C")
    made = _block(given.nbytes).view(given.dtype).reshape(given.shape)
    made[...] = given
    return made


def _given_back(block: np.ndarray) -> None:
    """From any thread, at any moment: each line is one that others cannot come between."""
    _waiting[id(block)] = block
    total = 0
    for key, waiting in reversed(list(_waiting.items())):
        total += waiting.nbytes
        if total > MOST_KEPT:
            _waiting.pop(key, None)


def copied(
    buffer: torch.Tensor, kind: torch.dtype | None = None, device: torch.device | None = None
) -> torch.Tensor:
    """A contiguous copy, of another dtype or on another device if asked for; on the CPU in memory that is
    lent."""
    kind, device = kind or buffer.dtype, device or buffer.device
    if device.type != "cpu":
        return torch.empty(buffer.shape, dtype=kind, device=device).copy_(buffer)
    return lent(buffer.shape, kind).copy_(buffer)
