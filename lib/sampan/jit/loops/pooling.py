"""Max pooling that gives values alone: torch's also writes where each one was, in 8 bytes, for a backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numba import prange

from ...kernels.loops import Loop
from .elementary import wide_vectors

LOOP_FROM = 1 << 12  # results: below it torch's call takes less time than ours to begin
PARALLEL_FROM = 1 << 16  # results


def _largest(x: Any, kernel: Any, stride: Any, padding: Any, out: Any) -> None:
    """x: [planes, rows, columns]; kernel, stride, padding: [2]; out: [planes, rows out, columns out].

    NaN is the largest. First the largest of the window's rows, column by column, with -inf beside them for
    the padding; then that of neighbouring columns. Both are loops over contiguous memory.
    """
    for plane in prange(x.shape[0]):
        wide_vectors()
        height, width = x.shape[1], x.shape[2]
        columns = max((out.shape[2] - 1) * stride[1] + kernel[1], padding[1] + width)
        line = np.full(columns, -np.inf, x.dtype)
        inner = line[padding[1] : padding[1] + width]
        for row in range(out.shape[1]):
            first = row * stride[0] - padding[0]
            inner[:] = -np.inf
            for at in range(max(first, 0), min(first + kernel[0], height)):
                given = x[plane, at]
                for i in range(inner.size):
                    value, largest = given[i], inner[i]
                    inner[i] = value if (value > largest) | (value != value) else largest
            made = out[plane, row]
            made[:] = -np.inf
            for k in range(kernel[1]):
                shifted = line[k:]
                if stride[1] == 2:  # a step that LLVM knows becomes vector code
                    for i in range(made.size):
                        value, largest = shifted[2 * i], made[i]
                        made[i] = value if (value > largest) | (value != value) else largest
                else:
                    for i in range(made.size):
                        value, largest = shifted[i * stride[1]], made[i]
                        made[i] = value if (value > largest) | (value != value) else largest


_largest_loop = Loop(_largest, PARALLEL_FROM, "max_pool_values")


def _largest_channels(x: Any, kernel: Any, stride: Any, padding: Any, out: Any) -> None:
    """The same for channels that lie side by side: x: [batch, rows, columns, channels], out: likewise."""
    for line in prange(out.shape[0] * out.shape[1]):
        wide_vectors()
        n, row = line // out.shape[1], line % out.shape[1]
        top, bottom = row * stride[0] - padding[0], row * stride[0] - padding[0] + kernel[0]
        for column in range(out.shape[2]):
            left = column * stride[1] - padding[1]
            made = out[n, row, column]
            made[:] = -np.inf
            for i in range(max(top, 0), min(bottom, x.shape[1])):
                for j in range(max(left, 0), min(left + kernel[1], x.shape[2])):
                    given = x[n, i, j]
                    for c in range(made.size):
                        value, largest = given[c], made[c]
                        made[c] = value if (value > largest) | (value != value) else largest


_largest_channels_loop = Loop(_largest_channels, PARALLEL_FROM, "max_pool_values of channels")


def max_pool_values(
    x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool
) -> torch.Tensor:
    """The largest values of windows: x [batch, channels, rows, columns]. As the operator `max_pool`, which
    has their places beside them.

    float32 on the CPU takes a loop where it is contiguous, channels first or last; the rest torch's call.
    """
    shape = [_length(*each, ceil_mode) for each in zip(x.shape[2:], kernel, stride, padding, strict=True)]
    size = x.shape[0] * x.shape[1] * shape[0] * shape[1]
    last = not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    usual = x.dtype is torch.float32 and x.is_cpu and (last or x.is_contiguous()) and min(shape) > 0
    if size < LOOP_FROM or not usual or any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        made = torch.nn.functional.max_pool2d(x, list(kernel), list(stride), list(padding), 1, ceil_mode)
        return made  # with an error of torch's for what cannot be pooled
    layout = torch.channels_last if last else torch.contiguous_format
    out = torch.empty(x.shape[0], x.shape[1], *shape, memory_format=layout)
    settings = (np.array(each, np.int64) for each in (kernel, stride, padding))
    if last:
        arrays = [b.permute(0, 2, 3, 1).numpy() for b in (x, out)]
        _largest_channels_loop(arrays[0], *settings, arrays[1], size=size)
    else:
        arrays = [b.view(-1, *b.shape[2:]).numpy() for b in (x, out)]
        _largest_loop(arrays[0], *settings, arrays[1], size=size)
    return out


def _length(length: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """How many windows there are along an axis. With ceil_mode the last one may go over the end, but must
    begin before the padding behind it."""
    over = stride - 1 if ceil_mode else 0
    count = (length + 2 * padding - kernel + over) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= length + padding else count
