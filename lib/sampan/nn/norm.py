"""Normalisation: Ioffe and Szegedy 2015 (batch), Ba et al. 2016 (layer)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..dtype import as_device
from ..tensor import Tensor
from . import functional as F
from .initializer import Constant
from .layer import Layer

# fmt: off
__all__ = [
    "BatchNorm1D", "BatchNorm2D", "LayerNorm",
]
# fmt: on


class _BatchNorm(Layer):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, for each channel.

    Training uses the batch's mean and variance and moves the running ones:
    running = momentum * running + (1 - momentum) * batch (Paddle's momentum; the batch's variance is the biased
    one). Evaluation, or use_global_stats=True, uses the running ones.
    """

    _ranks: tuple[int, ...] = ()
    _mean: Tensor
    _variance: Tensor

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.num_features, self.momentum, self.epsilon = num_features, momentum, epsilon
        self.data_format, self.use_global_stats = data_format, use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self.register_buffer(
            "_mean", Tensor(torch.zeros(num_features, dtype=self._dtype, device=as_device(None)))
        )
        self.register_buffer(
            "_variance", Tensor(torch.ones(num_features, dtype=self._dtype, device=as_device(None)))
        )

    def forward(self, x: Any) -> Any:
        if x.ndim not in self._ranks:
            raise ValueError(
                f"x: {type(self).__name__} expects {' or '.join(map(str, self._ranks))} axes, got shape {x.shape}"
            )
        return F.batch_norm(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.epsilon,
            self.data_format,
            self.use_global_stats,
        )

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, momentum={self.momentum}, epsilon={self.epsilon}"


class BatchNorm1D(_BatchNorm):
    """Batch normalisation of [batch, channels] or [batch, channels, length]."""

    _ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name
        )


class BatchNorm2D(_BatchNorm):
    """Batch normalisation of [batch, channels, H, W]."""

    _ranks = (4,)


class LayerNorm(Layer):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes, which have `normalized_shape`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.normalized_shape = (
            [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        )
        self.epsilon = epsilon
        if not self.normalized_shape or math.prod(self.normalized_shape) < 1:
            raise ValueError(f"normalized_shape: expected positive sizes, got {normalized_shape}")
        self.weight = self.create_parameter(
            self.normalized_shape, weight_attr, default_initializer=Constant(1.0)
        )
        self.bias = self.create_parameter(self.normalized_shape, bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"
