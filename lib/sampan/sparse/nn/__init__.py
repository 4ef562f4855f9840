"""Layers over sparse tensors."""

from typing import Any

from ... import nn as dense
from ..elementwise import sparse
from ..tensor import SparseTensor
from . import functional as functional
from .conv import *  # noqa: F403
from .conv import __all__ as _convolutions

__all__ = ["BatchNorm", "LeakyReLU", "ReLU", "ReLU6", "Softmax", "SyncBatchNorm", *_convolutions]


class ReLU(dense.Layer):
    """max(x, 0) of each entry."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.relu(x)


class ReLU6(dense.Layer):
    """min(max(x, 0), 6) of each entry."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.relu6(x)


class LeakyReLU(dense.Layer):
    """x where it is above 0, else negative_slope x, of each entry."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.leaky_relu(x, self.negative_slope)


class Softmax(dense.Layer):
    """e^x over the sum of e^x along `axis`, of the entries alone."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.softmax(x, self.axis)


class BatchNorm(dense.BatchNorm1D):
    """Batch normalisation of the channels, the last axis, over the entries: places without one take no part.

    x: coordinates [batch, ..., channels] with the channels as dense axis. Arguments as of nn.BatchNorm1D.
    """

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NDHWC",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        if data_format not in ("NDHWC", "NHWC"):
            raise ValueError(f"data_format: expected 'NDHWC' or 'NHWC', got {data_format!r}")
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, use_global_stats=use_global_stats
        )

    def forward(self, x: SparseTensor) -> SparseTensor:
        if sparse(x).dense_dim() != 1:
            raise ValueError(
                f"x: expected the channels as the one dense axis, got {x.dense_dim()} dense axes"
            )
        return x.like(super().forward(x.entries))


class SyncBatchNorm(BatchNorm):
    """BatchNorm whose statistics are those of all processes. In one process they are the same."""
