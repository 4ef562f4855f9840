"""Samples of ops/loss.py, and functions that compute the same by other means."""

import torch

from .declare import integers, sampled

sampled(
    "mean_cross_entropy",
    reference=lambda x, y: torch.nn.functional.cross_entropy(x, y),
    samples=[((4, 5), integers((4,), 5))],
)
