"""Of Paddle's static graphs only the description of an input; every other name says that there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dtype import as_dtype, name_of
from .tensor import Tensor


class NoStaticGraph(NotImplementedError, AttributeError):
    """Asked for a part of static graphs. An AttributeError as well, so that `hasattr` says no."""


@dataclass(unsafe_hash=True, repr=False)
class InputSpec:
    """Shape (None or -1 for any length), dtype and name of an input."""

    shape: Sequence[int | None]
    dtype: Any = "float32"
    name: str | None = None
    stop_gradient: bool = False

    def __post_init__(self) -> None:
        self.shape = tuple(-1 if n is None else int(n) for n in self.shape)
        self.dtype = as_dtype(self.dtype)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec:
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray, name: str | None = None) -> InputSpec:
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: int) -> InputSpec:
        """With an axis of this length in front."""
        self.shape = (int(batch_size), *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Without the first axis."""
        self.shape = self.shape[1:]
        return self

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype=paddle.{name_of(self.dtype)}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )


def __getattr__(name: str) -> Any:
    raise NoStaticGraph(f"static.{name}: Sampan runs operators at once and has no static graph")
