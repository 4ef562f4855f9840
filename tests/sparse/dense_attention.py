"""Attention over dense arrays, in torch."""

import numpy as np
import torch

import sampan

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


def dense(q, k, v, seen):
    """seen: bool, broadcast to [batch, heads, length, length]. What sees nothing gets 0."""
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -1e30)
    return torch.where(seen.any(-1, keepdim=True), scores.softmax(-1), 0) @ v


def leaves(arrays, dtype="float64"):
    mine = [sampan.to_tensor(a).astype(dtype) for a in arrays]
    for x in mine:
        x.stop_gradient = False
    return mine, [x.data.double().clone().requires_grad_() for x in mine]


def near(mine, theirs, dtype="float64"):
    expected = theirs.detach().numpy()
    tolerance = TOLERANCE[dtype] * max(np.abs(expected).max(), 1)
    return np.allclose(mine.astype("float64").numpy(), expected, rtol=0, atol=tolerance)
