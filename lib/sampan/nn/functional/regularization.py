"""Dropout with Paddle's arguments."""

from __future__ import annotations

import torch

from ...ops.regularization import masked
from ...tensor import Tensor

# fmt: off
__all__ = [
    "dropout",
]
# fmt: on


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):  # type: ignore[no-untyped-def]
    """Zero each entry with probability `p` in training (Srivastava et al., 2014).

    mode "upscale_in_train" divides what stays by 1 - p in training and does nothing else; "downscale_in_infer"
    multiplies by 1 - p outside training. axis: draw the mask along these axes only and repeat it along the others.
    Raises ValueError when p is outside [0, 1].
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: expected p from 0 to 1, got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError(f"dropout: expected mode 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")
    if not training:
        return x if mode == "upscale_in_train" or p == 0 else x * (1 - p)
    if p == 0:
        return x
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ValueError(f"dropout: axis {axis} is outside an array of {x.ndim} axes")
    axes = [a % x.ndim for a in axes]
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    mask = torch.empty(shape, dtype=x.dtype, device=x.data.device).bernoulli_(1 - p)
    if mode == "upscale_in_train" and p < 1:
        mask.div_(1 - p)
    return masked(x, Tensor(mask.expand(x.data.shape)))
