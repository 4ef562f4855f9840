"""Layers over sparse tensors."""

from typing import Any

from ... import nn as dense
from ..convolution import with_channels
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
        x = with_channels(x)
        return x.like(super().forward(x.entries))


class SyncBatchNorm(BatchNorm):
    """BatchNorm whose statistics are those of all processes. In one process they are the same."""

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",  # Paddle's default; the channels are the dense axis whatever it says
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr)

    @classmethod
    def convert_sync_batchnorm(cls, layer: dense.Layer) -> dense.Layer:
        """`layer` with a SyncBatchNorm, of the same parameters and statistics, in place of each BatchNorm in it."""
        if isinstance(layer, BatchNorm) and not isinstance(layer, SyncBatchNorm):
            made = cls(layer.num_features, layer.momentum, layer.epsilon)
            for key in ("weight", "bias", "_mean", "_variance", "training"):
                setattr(made, key, getattr(layer, key))
            return made
        for name, inner in list(layer.named_children()):
            changed = cls.convert_sync_batchnorm(inner)
            if changed is not inner:
                setattr(layer, name, changed)
        return layer
