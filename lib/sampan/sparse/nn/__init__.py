"""Layers over sparse tensors."""

from typing import TYPE_CHECKING, Any

from ... import nn as dense
from ..convolution import with_channels
from ..tensor import SparseTensor
from . import functional as functional
from .conv import *
from .conv import __all__ as _convolutions

__all__ = ["BatchNorm", "LeakyReLU", "ReLU", "ReLU6", "Softmax", "SyncBatchNorm", *_convolutions]


class _Named(dense.Layer):
    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.name = name

    def extra_repr(self) -> str:
        return f"name={self.name}" if self.name else ""


class ReLU(_Named):
    """max(x, 0) of each entry."""

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.relu(x)


class ReLU6(_Named):
    """min(max(x, 0), 6) of each entry."""

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.relu6(x)


class LeakyReLU(_Named):
    """x where it is above 0, else negative_slope x, of each entry."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__(name)
        self.negative_slope = negative_slope

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.leaky_relu(x, self.negative_slope)


class Softmax(_Named):
    """e^x over the sum of e^x along `axis`, of the entries alone."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self.axis = axis

    def forward(self, x: SparseTensor) -> SparseTensor:
        return functional.softmax(x, self.axis)


class _OfEntries(dense.Layer):
    """The part of the sparse batch normalisations that differs from the dense ones: it sees the entries
    alone."""

    if TYPE_CHECKING:  # what the dense layer that it is mixed with has

        def __getattr__(self, name: str) -> Any: ...

    def forward(self, x: SparseTensor) -> SparseTensor:
        x = with_channels(x)
        parts = (self._mean, self._variance, self.weight, self.bias)
        how = (self.training, self.momentum, self.epsilon, "NC", self.use_global_stats)
        return x.like(dense.functional.batch_norm(x.entries, *parts, *how))

    def extra_repr(self) -> str:
        text = f"num_features={self.num_features}, momentum={self.momentum}, epsilon={self.epsilon}"
        text += f", data_format={self.data_format}" if self.data_format != "NCHW" else ""
        return text + (f", name={self.name}" if self.name is not None else "")


class BatchNorm(_OfEntries, dense.BatchNorm1D):
    """Batch normalisation of the channels, the last axis, over the entries: places without one take no part.

    x: coordinates [batch, ..., channels] with the channels as dense axis. Arguments as of nn.BatchNorm1D;
    data_format is NDHWC or NHWC, of which the number of axes is not asked.
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
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name
        )

    def forward(self, x: SparseTensor) -> SparseTensor:
        if self.data_format not in ("NDHWC", "NHWC"):
            raise ValueError(f"data_format: expected 'NDHWC' or 'NHWC', got {self.data_format!r}")
        return super().forward(x)


class SyncBatchNorm(_OfEntries, dense.SyncBatchNorm):
    """BatchNorm whose statistics are those of all processes. In one process they are the same.

    The channels are the dense axis; `data_format` is ignored.
    """

    def forward(self, x: SparseTensor) -> SparseTensor:
        if self.over_processes is None:
            return super().forward(x)
        x = with_channels(x)
        return x.like(self.over_processes(x.entries, "NC"))

    @classmethod
    def convert_sync_batchnorm(cls, layer: dense.Layer) -> dense.Layer:
        """`layer` with a SyncBatchNorm, sparse or dense as it was, of the same parameters and statistics, in
        place of each batch normalisation in it."""
        if isinstance(layer, BatchNorm):
            made = cls(
                layer.num_features, layer.momentum, layer.epsilon, None, None, layer.data_format, layer.name
            )
            for key in ("weight", "bias", "_mean", "_variance", "training"):
                setattr(made, key, getattr(layer, key))
            return made
        if not layer._sub_layers:
            return dense.SyncBatchNorm.convert_sync_batchnorm(layer)
        for name, inner in list(layer.named_children()):
            changed = cls.convert_sync_batchnorm(inner)
            if changed is not inner:
                setattr(layer, name, changed)
        return layer
