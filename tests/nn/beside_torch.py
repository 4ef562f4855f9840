"""A layer beside torch's with the same parameters: value, gradients of the input and of the parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import sampan as paddle
from sampan import nn

Case = tuple[Callable[[], Any], Callable[[], Any], tuple[int, ...]]  # ours, torch's, shape of the input


def pair_of(case: Case) -> tuple[Any, Any, np.ndarray, np.random.Generator]:
    """(ours, torch's, an input, the generator) in float64, with equal parameters."""
    ours, theirs, shape = case
    ours, theirs = ours().to(dtype="float64"), theirs().double()
    generator = np.random.default_rng(3)
    for key in ("weight", "bias"):
        own = getattr(ours, key, None)
        if own is not None:
            value = generator.normal(size=own.shape)
            own.set_value(value)
            value = value.T if key == "weight" and isinstance(ours, nn.Linear) else value
            value = value.reshape(getattr(theirs, key).shape)  # Paddle keeps a layer norm's flat
            with torch.no_grad():
                getattr(theirs, key).copy_(torch.from_numpy(np.ascontiguousarray(value)))
    return ours, theirs, generator.normal(size=shape), generator


def same_as_torch(case: Case) -> None:
    ours, theirs, x, generator = pair_of(case)
    mine, other = paddle.to_tensor(x, stop_gradient=False), torch.from_numpy(x).requires_grad_()
    for _ in range(2):  # twice, for what moves between calls
        out, expected = ours(mine), theirs(other)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    weights = generator.normal(size=out.shape)
    (out * paddle.to_tensor(weights)).sum().backward()
    (expected * torch.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-11)
    for key in ("weight", "bias"):
        if getattr(ours, key, None) is not None:
            wanted = getattr(theirs, key).grad.numpy()
            wanted = wanted.T if key == "weight" and isinstance(ours, nn.Linear) else wanted
            found = getattr(ours, key).grad.numpy().reshape(wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
