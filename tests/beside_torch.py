"""The same computation in Sampan and in torch: equal inputs, and a comparison of values and gradients."""

from __future__ import annotations

from math import ceil

import numpy as np
import torch

import sampan as paddle
from sampan.engine.tensor import Tensor


def both(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> tuple[Tensor, torch.Tensor]:
    """Random leaves with equal values, uniform between low and high."""
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)


def same(
    ours: Tensor, theirs: torch.Tensor, *pairs: tuple[Tensor, torch.Tensor], tolerance: float = 1e-10
) -> None:
    """Equal values, and equal gradients of a weighted sum for each pair of leaves."""
    assert ours.shape == list(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)
    weights = np.random.default_rng(5).uniform(0.5, 1.5, ours.shape)
    (ours * paddle.to_tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    for x, t in pairs:
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=tolerance, atol=tolerance)


def same_pads(size, kernel, stride) -> list[int]:
    """(left, right, top, bottom) of "SAME", from its definition: the output is ceil(size / stride) long."""
    pads: list[int] = []
    for n, k, s in reversed(list(zip(size, kernel, stride, strict=True))):
        total = max((ceil(n / s) - 1) * s + k - n, 0)
        pads += [total // 2, total - total // 2]
    return pads
