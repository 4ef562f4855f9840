"""Samples of ops/embedding.py."""

import torch

from .declare import integers, sampled

sampled(
    "rows_at",
    reference=lambda i, w, p=-1: torch.nn.functional.embedding(i, w, p if p >= 0 else None),
    samples=[(integers((2, 3), 4), (4, 2)), (integers((5,), 3), (3, 2))],
)
