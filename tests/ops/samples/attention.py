"""Samples of ops/attention.py, and functions that compute the same by other means."""

import math

import torch

from .declare import Array, sampled


def _reference(query, key, value, mask, causal, scale):  # type: ignore[no-untyped-def]
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * scale
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), value)


_SHAPE = (2, 3, 2, 4)

sampled(
    "fused_attention",
    reference=_reference,
    samples=[
        (_SHAPE, (2, 5, 2, 4), (2, 5, 2, 4), None, False, 0.5),
        (_SHAPE, _SHAPE, _SHAPE, None, True, 0.3),
        (_SHAPE, _SHAPE, _SHAPE, Array((3, 3), dtype="bool"), False, 0.5),
    ],
)
