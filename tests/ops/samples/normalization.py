"""Samples of ops/normalization.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled(
    "normalize_layer",
    reference=lambda x, w, b, e: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, e),
    samples=[((2, 3, 4), (4,), (4,), 1e-5), ((2, 4), None, (4,), 1e-3)],
)
sampled(
    "normalize_rms",
    reference=lambda x, w, e: torch.nn.functional.rms_norm(x, x.shape[-1:], w, e),
    samples=[((2, 3, 4), (4,), 1e-5), ((2, 4), None, 1e-3)],
)
sampled(
    "normalize_groups",
    reference=lambda x, w, b, n, e: torch.nn.functional.group_norm(x, n, w, b, e),
    samples=[((2, 4, 3), (4,), (4,), 2, 1e-5), ((2, 4, 3, 2), None, None, 4, 1e-3)],
)
