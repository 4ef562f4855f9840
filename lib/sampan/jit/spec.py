"""InputSpec: what is known of an input before it exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch

from ..dtype import DTYPES, as_device, as_dtype
from ..engine.tensor import InvalidArgument, Tensor


@dataclass(unsafe_hash=True, repr=False)
class InputSpec:
    """Shape (None or -1 for any length), dtype and name of an input."""

    shape: Sequence[int | None]
    dtype: Any = "float32"
    name: str | None = None
    stop_gradient: bool = False

    def __post_init__(self) -> None:
        self.shape = tuple(-1 if n is None else int(n) for n in self.shape)
        self.dtype = DTYPES[as_dtype(self.dtype)]

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec:
        """The shape and dtype of a Tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray, name: str | None = None) -> InputSpec:
        """The shape and dtype of an array."""
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: int) -> InputSpec:
        """With an axis of this length in front."""
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise InvalidArgument(f"batch: batch_size: expected an int, got {batch_size!r}")
        self.shape = (batch_size, *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Without the first axis."""
        if not self.shape:
            raise InvalidArgument("unbatch: expected at least one axis, got shape []")
        self.shape = self.shape[1:]
        return self

    @property
    def unknown(self) -> list[int]:
        """The axes that may have any length."""
        return [axis for axis, length in enumerate(self.shape) if length == -1]

    def sample(self, lengths: dict[int, int], generator: torch.Generator, most: int = 1) -> Tensor:
        """A Tensor with random values of this shape and dtype. lengths: those of the axes that may have any.

        Floats are normal, ints 0 or 1 (they may be ids or classes), one int alone 0 to `most`, bools both.
        Drawn on the CPU, then put on the current device.
        """
        shape = [lengths.get(axis, length or 0) for axis, length in enumerate(self.shape)]
        kind = as_dtype(self.dtype)
        if kind.is_floating_point or kind.is_complex:
            data = torch.randn(shape, generator=generator).to(kind)
        else:
            high = 2 if kind is torch.bool or prod(shape) != 1 else most + 1
            data = torch.randint(0, high, shape, generator=generator).to(kind)
        return Tensor(data.to(as_device(None)))

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )
