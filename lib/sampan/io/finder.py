"""The batch size at which training is fastest."""

import time
from collections.abc import Callable
from typing import Any

import torch


def find_batch_size(
    step: Callable[[int], Any], start: int = 1, limit: int = 65536, gain: float = 1.05
) -> int:
    """The smallest batch size from which doubling gains no more samples a second, or memory ends.

    step(batch_size): one training step with random data of that size. It is called for start, 2 start, ... up
    to limit, three times each, the first unmeasured; sizes after one that is not `gain` times faster, or that
    raises MemoryError, are not tried. Raises MemoryError when `start` itself does not fit.
    """
    if not 1 <= start <= limit:
        raise ValueError(f"start, limit: expected 1 <= start <= limit, got {start} and {limit}")
    best, fastest, size = start, 0.0, start
    while size <= limit:
        try:
            step(size)
            took = []
            for _ in range(2):
                began = time.perf_counter()
                step(size)
                took.append(time.perf_counter() - began)
        except (MemoryError, torch.OutOfMemoryError):
            if not fastest:
                raise
            break
        if size / min(took) < gain * fastest:
            break
        best, fastest, size = size, size / min(took), size * 2
    return best
