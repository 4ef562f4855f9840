"""Samples of ops/norms.py, and functions that compute the same by other means."""

import math
from typing import Any

import torch

from .declare import Array, sampled

_NORM_SAMPLES = [((3, 4), 2.0, [0, 1]), ((3, 4), 3.0, [1], True), ((3, 4), 1.0, [0]), ((2, 5), math.inf, [1])]


def _torch_renorm(x: Any, p: float, axis: int, most: float) -> Any:
    rows = x.unbind(axis)
    return torch.stack([r * (most / r.flatten().norm(p)).clamp(max=1) for r in rows], axis)


def _torch_cond(x: Any, p: Any = 2) -> Any:
    return torch.linalg.matrix_norm(x, p) * torch.linalg.matrix_norm(torch.linalg.inv(x), p)


sampled(
    "p_norm", reference=lambda x, p, a, k=False: torch.linalg.vector_norm(x, p, a, k), samples=_NORM_SAMPLES
)
sampled(
    "vector_norm",
    reference=lambda x, p=2.0, axis=None: torch.linalg.vector_norm(x, p, axis),
    samples=[((2, 3),), ((2, 3), 3, 1)],
)
sampled(
    "matrix_norm",
    reference=lambda x, p="fro", axis=(-2, -1): torch.linalg.matrix_norm(x, p, axis),
    samples=[((3, 4),), ((2, 3, 2), "nuc", [0, 2]), ((3, 4), -math.inf), ((3, 4), 1)],
)
sampled(
    "norm",
    reference=lambda x, p=None, axis=None: torch.linalg.norm(x, p, axis),
    samples=[((2, 3),), ((2, 3), 1, 1)],
)
sampled("dist", reference=torch.dist, samples=[((3, 4), (4,)), ((3,), (3,), 1)])
sampled(
    "cdist", reference=torch.cdist, samples=[((2, 3, 4), (2, 2, 4)), ((3, 2), (2, 2), 1.0), ((26, 2), (3, 2))]
)
sampled("pdist", reference=torch.pdist, samples=[((4, 3),), ((3, 2), 1.0)])
sampled("renorm", reference=_torch_renorm, samples=[((3, 4), 2.0, 0, 1.5), ((2, 3, 2), 1.0, 1, 100.0)])
sampled("cond", reference=_torch_cond, samples=[((3, 3),), ((2, 3, 3), 1), ((3, 3), "fro")])
sampled("pinv", reference=torch.linalg.pinv, samples=[((3, 4),), ((2, 4, 2),)])
sampled("matrix_power", reference=torch.linalg.matrix_power, samples=[((3, 3), 5), ((2, 3, 3), -2)])
sampled(
    "unit_like",
    reference=lambda x: torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape) + 0 * x,
    samples=[((2, 3, 3),)],
)
sampled("matrix_exp", reference=torch.linalg.matrix_exp, samples=[((3, 3),), ((2, 2, 2),)])
sampled(
    "householder_product",
    reference=lambda x, t: torch.linalg.householder_product(x, t),
    samples=[((4, 3), Array((3,), 0.5, 1)), ((2, 3, 3), Array((2, 2), 0.5, 1))],
)
