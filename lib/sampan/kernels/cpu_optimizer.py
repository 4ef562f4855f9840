"""Optimizer steps in one pass over memory.

torch's default step makes about ten passes over every array; here each element of the parameter, its gradient
and its moments is read and written once. The same steps for dtypes and devices without a loop stand below, in
torch operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numba import prange

from .registry import Loop

PARALLEL_FROM = 100_000  # elements of one tensor; below it starting threads costs more than it saves
_SCALAR = {torch.float32: np.float32, torch.float64: np.float64}
Buffers = Sequence[torch.Tensor]


def _adam(
    p: Any, g: Any, m: Any, v: Any, rate: Any, beta1: Any, rest1: Any, beta2: Any, rest2: Any, eps: Any
) -> None:
    for i in prange(p.size):
        m[i] = beta1 * m[i] + rest1 * g[i]
        v[i] = beta2 * v[i] + rest2 * g[i] * g[i]
        p[i] -= rate * m[i] / (np.sqrt(v[i]) + eps)


_adam_loop = Loop(_adam, PARALLEL_FROM, "adam_step")


def _flat(*buffers: torch.Tensor) -> list[np.ndarray] | None:
    """Each buffer as a flat array over its own memory, or None when there is no loop for them."""
    first = buffers[0]
    for b in buffers:
        if b.dtype is not first.dtype or b.is_cuda or not b.is_contiguous():
            return None
    return [b.numpy().reshape(-1) for b in buffers] if first.dtype in _SCALAR else None


def sgd_step(parameters: Buffers, gradients: Buffers, lr: float) -> None:
    """p <- p - lr * g for every parameter, in place. Lists of torch buffers of equal shapes.

    One pass over memory is all there is to gain, and torch makes just one.
    """
    for p, g in zip(parameters, gradients, strict=True):
        p.add_(g, alpha=-lr)


def adam_step(
    parameters: Buffers,
    gradients: Buffers,
    moments: Buffers,
    variances: Buffers,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: int,
) -> None:
    """One step of Adam (Kingma and Ba 2015, algorithm 1), in place on parameters, moments and variances::

        m <- beta1 * m + (1 - beta1) * g
        v <- beta2 * v + (1 - beta2) * g^2
        p <- p - lr * m' / (sqrt(v') + epsilon)    with m' = m / (1 - beta1^step), v' = v / (1 - beta2^step)

    Lists of torch buffers of equal shapes; step counts from 1. Both corrections are moved out of the loop:
    sqrt(v') = sqrt(v) / c with c = sqrt(1 - beta2^step), so the rate becomes lr * c / (1 - beta1^step) and
    epsilon becomes epsilon * c.
    """
    correction = math.sqrt(1 - beta2**step)
    rate, eps = lr * correction / (1 - beta1**step), epsilon * correction
    numbers = (rate, beta1, 1 - beta1, beta2, 1 - beta2, eps)
    typed = {kind: tuple(scalar(x) for x in numbers) for kind, scalar in _SCALAR.items()}
    for p, g, m, v in zip(parameters, gradients, moments, variances, strict=True):
        arrays = _flat(p, g, m, v)
        if arrays is None:
            m.mul_(beta1).add_(g, alpha=1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            p.addcdiv_(m, v.sqrt().add_(eps), value=-rate)
        else:
            _adam_loop(*arrays, *typed[p.dtype], size=p.numel())


def warm_up() -> None:
    """Compile (or load from the cache) every loop, for float32."""
    for size in (1, PARALLEL_FROM):
        p, g, m, v = torch.zeros(4, size)
        adam_step([p], [g], [m], [v], 0.1, 0.9, 0.999, 1e-8, 1)
