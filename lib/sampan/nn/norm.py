"""Normalisation: Ioffe and Szegedy 2015 (batch), Ba et al. 2016 (layer), Ulyanov et al. 2016 (instance), Wu
and He 2018 (group), Miyato et al. 2018 (spectral)."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..engine.tensor import InvalidArgument, Tensor
from . import functional as F
from .attr import ParamAttr
from .function_layer import FunctionLayer, with_defaults
from .initializer import Constant, Normal
from .layer import Layer, alias
from .linear import WithBias

# fmt: off
__all__ = [
    "BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "GroupNorm", "InstanceNorm1D", "InstanceNorm2D",
    "InstanceNorm3D", "LayerNorm", "LocalResponseNorm", "SpectralNorm", "SyncBatchNorm",
]
# fmt: on


class _OfRank(WithBias):
    """What normalises arrays of certain ranks alone; a subclass names them, and other defaults of its
    arguments."""

    _ranks: tuple[int, ...] = ()

    def __init_subclass__(cls: Any, ranks: tuple[int, ...] = (), **defaults: Any) -> None:
        cls._ranks = ranks or cls._ranks
        if defaults:
            cls.__init__ = with_defaults(cls.__init__, **defaults)

    def _check(self, x: Any) -> None:
        if self._ranks and x.ndim not in self._ranks:
            ranks = " or ".join(map(str, self._ranks))
            raise InvalidArgument(f"x: {type(self).__name__} expects {ranks} axes, got shape {[*x.shape]}")


class _BatchNorm(_OfRank):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, for each channel.

    Training uses the batch's mean and variance and moves the running ones:
    running = momentum * running + (1 - momentum) * batch (Paddle's momentum; the batch's variance is the
    biased one). Evaluation, or use_global_stats=True, uses the running ones.
    """

    _mean: Tensor
    _variance: Tensor
    _num_features, _momentum, _epsilon = alias("num_features"), alias("momentum"), alias("epsilon")
    _data_format, _use_global_stats, _name = alias("data_format"), alias("use_global_stats"), alias("name")
    data_format, _shows = "NCHW", "num_features momentum epsilon data_format? name?"

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
        super().__init__()
        self.num_features, self.momentum, self.epsilon = num_features, momentum, epsilon
        self.data_format, self.use_global_stats, self.name = data_format, use_global_stats, name
        self._create([num_features], [num_features], weight_attr, bias_attr, Constant(1.0))
        # Parameters that no optimizer changes, as in Paddle.
        for key, value in (("_mean", 0.0), ("_variance", 1.0)):
            attr = ParamAttr(initializer=Constant(value), trainable=False)
            setattr(self, key, self.create_parameter([num_features], attr))

    def forward(self, x: Any) -> Tensor:
        self._check(x)
        statistics = (self._mean, self._variance)
        return F.batch_norm(
            x,
            *statistics,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.epsilon,
            self.data_format,
            self.use_global_stats,
        )


class BatchNorm1D(_BatchNorm, ranks=(2, 3), data_format="NCL"):
    """Batch normalisation of [batch, channels] or [batch, channels, length]."""


class BatchNorm2D(_BatchNorm, ranks=(4,)):
    """Batch normalisation of [batch, channels, H, W]."""


class BatchNorm3D(_BatchNorm, ranks=(5,), data_format="NCDHW"):
    """Batch normalisation of [batch, channels, D, H, W]."""


class BatchNorm(_BatchNorm):
    """Batch normalisation of any number of axes, with Paddle's older arguments; act: an activation's name
    after it."""

    _data_layout, _param_attr = alias("data_format"), alias("_weight_attr")

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        own = True if use_global_stats else False if trainable_statistics else None
        super().__init__(num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, own)
        self.to(dtype=dtype)
        self._act, self._is_test, self.training = act, is_test, not is_test

    def forward(self, x: Any) -> Tensor:
        value = super().forward(x)
        return value if self._act is None else getattr(F, self._act)(value)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes; with one process it is BatchNorm."""

    over_processes: Any = None  # what `sampan.distributed` computes where there are several

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    def forward(self, x: Any) -> Tensor:
        if self.over_processes is None:
            return super().forward(x)
        return self.over_processes(x, self.data_format)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """`layer` with a SyncBatchNorm, of the same parameters and statistics, in place of each BatchNorm in
        it."""
        if isinstance(layer, _BatchNorm) and not isinstance(layer, SyncBatchNorm):
            made = cls(layer.num_features, layer.momentum, layer.epsilon, data_format=layer.data_format)
            for key in ("weight", "bias", "_mean", "_variance", "training"):
                setattr(made, key, getattr(layer, key))
            return made
        for name, inner in list(layer.named_children()):
            changed = cls.convert_sync_batchnorm(inner)
            if changed is not inner:
                setattr(layer, name, changed)
        return layer


class _InstanceNorm(_OfRank):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the places of each channel of each
    example."""

    _num_features, _epsilon = alias("num_features"), alias("epsilon")
    _shows = "num_features epsilon"

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise InvalidArgument("weight_attr, bias_attr: expected both or neither to be False")
        self.num_features, self.epsilon = num_features, epsilon
        self._momentum, self._data_format = momentum, data_format  # forward needs neither
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, x: Any) -> Tensor:
        self._check(x)
        return F.instance_norm(x, weight=self.scale, bias=self.bias, eps=self.epsilon)


class InstanceNorm1D(_InstanceNorm, ranks=(2, 3), data_format="NCL"):
    """Instance normalisation of [batch, channels, length]."""


class InstanceNorm2D(_InstanceNorm, ranks=(4,)):
    """Instance normalisation of [batch, channels, H, W]."""


class InstanceNorm3D(_InstanceNorm, ranks=(5,), data_format="NCDHW"):
    """Instance normalisation of [batch, channels, D, H, W]."""


class LayerNorm(WithBias):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes, which have
    `normalized_shape`.

    weight and bias are flat, as in Paddle; elementwise_affine=False leaves both out, bias=False the bias.
    """

    _normalized_shape, _epsilon = alias("normalized_shape"), alias("epsilon")
    _shows = "normalized_shape epsilon"

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        self.normalized_shape = (
            [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        )
        self.epsilon = epsilon
        size = math.prod(self.normalized_shape)
        if not self.normalized_shape or size < 1:
            raise InvalidArgument(f"normalized_shape: expected positive sizes, got {normalized_shape}")
        weight_attr = weight_attr if elementwise_affine else False
        bias_attr = bias_attr if elementwise_affine and bias else False
        self._create([size], [size], weight_attr, bias_attr, Constant(1.0))

    def forward(self, x: Any) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.epsilon)


class GroupNorm(WithBias):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over groups of channels and all places."""

    _num_groups, _num_channels = alias("num_groups"), alias("num_channels")
    _epsilon, _data_format = alias("epsilon"), alias("data_format")
    _shows = "num_groups num_channels epsilon"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        *,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        if data_format not in ("NCHW", "NHWC", "NCL", "NLC", "NCDHW", "NDHWC"):
            raise InvalidArgument(
                f"data_format: expected NCHW, NHWC or another of these, got {data_format!r}"
            )
        self.num_groups, self.num_channels, self.epsilon = num_groups, num_channels, epsilon
        self.data_format = data_format
        attrs: tuple[Any, Any] = (weight_attr, bias_attr) if affine else (False, False)
        self._create([num_channels], [num_channels], *attrs, Constant(1.0))

    def forward(self, x: Any) -> Tensor:
        return F.group_norm(x, self.num_groups, self.epsilon, self.weight, self.bias, self.data_format)


class LocalResponseNorm(
    FunctionLayer, of=F.local_response_norm, shows="size alpha beta k data_format? name?"
):
    """x / (k + alpha mean(x^2))^beta over `size` channels about each (Krizhevsky et al., 2012)."""


class SpectralNorm(Layer):
    """A weight over its largest singular value, found by power_iters rounds of power iteration.

    weight_shape: the weight's shape; dim: the axis that makes the rows of the matrix. eps: against division
    by 0.
    """

    def __init__(
        self,
        weight_shape: Sequence[int],
        dim: int = 0,
        power_iters: int = 1,
        eps: float = 1e-12,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        shape = list(weight_shape)
        if math.prod(shape) < 1 or not -len(shape) <= dim < len(shape):
            raise InvalidArgument(f"weight_shape, dim: {shape} and {dim} make no matrix")
        self._dim, self._power_iters, self._eps = dim, power_iters, eps
        self._weight_shape = shape
        start, sizes = Normal(0.0, 1.0), (shape[dim], math.prod(shape) // shape[dim])
        made: list[Any] = [self.create_parameter([n], default_initializer=start) for n in sizes]
        self.weight_u, self.weight_v = made
        self.weight_u.stop_gradient = self.weight_v.stop_gradient = True

    def forward(self, x: Any) -> Tensor:
        u, v = self.weight_u.data, self.weight_v.data  # as in Paddle they stay as they are
        matrix = x.moveaxis(self._dim, 0).reshape([len(u), -1])
        u, v = power_iteration(matrix.data, u, v, self._power_iters, self._eps)
        return x / ((matrix @ Tensor(v)) * Tensor(u)).sum()


def power_iteration(
    matrix: torch.Tensor, u: torch.Tensor, v: torch.Tensor, rounds: int, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """`u` and `v` closer to the first left and right singular vectors of `matrix`."""
    for _ in range(rounds):
        v = torch.nn.functional.normalize(matrix.mT @ u, dim=0, eps=eps)
        u = torch.nn.functional.normalize(matrix @ v, dim=0, eps=eps)
    return u, v
