"""Samples of ops/joining.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled("concat_tensors", reference=lambda *xs, axis=0: torch.cat(xs, axis), samples=[((2, 3), (4, 3))])
sampled("stack_tensors", reference=lambda *xs, axis=0: torch.stack(xs, axis), samples=[((2, 3), (2, 3))])
sampled(
    "repeat_interleave",
    samples=[((2, 3), 2, 1), ((2, 3), 2)],
    reference=lambda x, n, axis=None: torch.repeat_interleave(x, n, axis),
)
sampled(
    "split_view",
    reference=lambda x, sizes, axis: torch.split(x, sizes, axis),
    samples=[((5, 3), [2, 3], 0), ((2, 4), [1, 1, 2], 1)],
)
sampled(
    "split_sizes",
    reference=lambda x, sizes, axis: torch.split(x, sizes, axis),
    samples=[((5, 3), [2, 3], 0), ((2, 4), [1, 1, 2], 1)],
)
sampled("slices", reference=torch.unbind, samples=[((3, 2), 0), ((2, 3), 1)])
sampled("unstacked", reference=torch.unbind, samples=[((3, 2), 0), ((2, 3), 1)])
