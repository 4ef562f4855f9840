"""Samples of ops/resampling.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled(
    "windows",
    reference=lambda x, k, s, p, d: torch.nn.functional.unfold(x, k, d, p, s),
    samples=[((1, 2, 4, 5), [2, 3], [1, 2], [1, 0], [1, 1])],
)
sampled(
    "windows_summed",
    reference=lambda x, size, k, s, p, d: torch.nn.functional.fold(x, size, k, d, p, s),
    samples=[((1, 8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1])],
)
sampled(
    "resized",
    reference=lambda x, size, kind, more: torch.nn.functional.interpolate(
        x, size, mode=kind, align_corners=more[0]
    ),
    samples=[
        ((1, 2, 3, 4), [5, 2], "bilinear", (True, None, None)),
        ((1, 1, 4, 5), [2, 7], "bicubic", (False, None, None)),
    ],
)
sampled("pixels_shuffled", reference=torch.pixel_shuffle, samples=[((1, 8, 2, 3), 2)])
sampled("pixels_gathered", reference=torch.pixel_unshuffle, samples=[((1, 2, 4, 6), 2)])
