"""Random tensors. All draw from one generator per device, which `seed` sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .creation import _sizes
from .dtype import as_device, as_dtype, default_dtype
from .operator import as_method
from .tensor import Tensor

# fmt: off
__all__ = [
    "bernoulli", "get_rng_state", "multinomial", "normal", "rand", "randint", "randn", "randperm", "seed",
    "set_rng_state", "standard_normal", "uniform",
]
# fmt: on


def seed(seed: int) -> torch.Generator:
    """Start every generator (Sampan's, and NumPy's that samplers use) from `seed`; returns the CPU generator."""
    np.random.seed(seed % (1 << 32))
    return torch.manual_seed(seed)


def get_rng_state(device: Any = None) -> list[torch.Tensor]:
    """The state of the CPU generator and of each GPU's, to be given back to `set_rng_state`."""
    states = [torch.get_rng_state()]
    return states + (torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])


def set_rng_state(state_list: list[torch.Tensor], device: Any = None) -> None:
    """Continue from states that `get_rng_state` returned."""
    torch.set_rng_state(state_list[0])
    if len(state_list) > 1:
        torch.cuda.set_rng_state_all(state_list[1:])


def _kind(dtype: Any) -> torch.dtype:
    return default_dtype() if dtype is None else as_dtype(dtype)


def rand(shape, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Uniform in [0, 1)."""
    return Tensor(torch.rand(_sizes(shape), dtype=_kind(dtype), device=as_device(None)))


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None):  # type: ignore[no-untyped-def]
    """Uniform in [min, max). seed: draw from a generator of its own that starts there, unless it is 0."""
    buffer = torch.empty(_sizes(shape), dtype=_kind(dtype), device=as_device(None))
    own = torch.Generator(buffer.device).manual_seed(seed) if seed else None
    return Tensor(buffer.uniform_(float(min), float(max), generator=own))


def randn(shape, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Standard normal."""
    return Tensor(torch.randn(_sizes(shape), dtype=_kind(dtype), device=as_device(None)))


standard_normal = randn


def normal(mean=0.0, std=1.0, shape=None, name=None):  # type: ignore[no-untyped-def]
    """Normal with the given mean and standard deviation: numbers with a shape, or tensors."""
    if shape is None:
        given = mean if isinstance(mean, Tensor) else std
        shape = given.shape if isinstance(given, Tensor) else [1]
    noise = randn(shape)
    return noise * std + mean


def randint(low=0, high=None, shape=(1,), dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Integers from low up to, not including, high; `randint(n)` from 0."""
    if high is None:
        low, high = 0, low
    if high <= low:
        raise ValueError(f"randint: expected low < high, got low={low}, high={high}")
    kind = torch.int64 if dtype is None else as_dtype(dtype)
    return Tensor(torch.randint(low, high, _sizes(shape), dtype=kind, device=as_device(None)))


def randperm(n, dtype="int64", name=None):  # type: ignore[no-untyped-def]
    """The numbers 0 to n - 1 in random order."""
    return Tensor(torch.randperm(n, device=as_device(None)).to(as_dtype(dtype)))


def bernoulli(x, p=None, name=None):  # type: ignore[no-untyped-def]
    """1 with the probability that `x` gives at each place (or `p` everywhere), else 0."""
    chance = x.data if p is None else torch.full_like(x.data, p)
    return Tensor(torch.bernoulli(chance))


def multinomial(x, num_samples=1, replacement=False, name=None):  # type: ignore[no-untyped-def]
    """Indices drawn in proportion to the weights along the last axis of `x`."""
    return Tensor(torch.multinomial(x.data, num_samples, replacement))


as_method(multinomial)
