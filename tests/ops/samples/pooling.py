"""Samples of ops/pooling.py, and functions that compute the same by other means."""

import torch

from .declare import integers, sampled

sampled(
    "max_pool",
    reference=lambda x, k, s, p, c: torch.nn.functional.max_pool2d(x, k, s, p, 1, c),
    samples=[((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True)],
)
sampled(
    "at_places",
    reference=lambda x, i: x.flatten(2).gather(2, i.flatten(2)).reshape(i.shape),
    samples=[((1, 2, 3, 4), integers((1, 2, 5), 12))],
)
sampled(
    "avg_pool",
    reference=lambda x, k, s, p, c, e, d=None: torch.nn.functional.avg_pool2d(x, k, s, p, c, not e, d),
    samples=[
        ((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False, True),
        ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True, False),
        ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True, False, 5),
    ],
)
sampled(
    "adaptive_pool",
    reference=torch.nn.functional.adaptive_avg_pool2d,
    samples=[((2, 3, 7, 5), (3, 2)), ((1, 2, 4, 4), (1, 1))],
)
