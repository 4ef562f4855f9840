"""Normalisation with Paddle's arguments."""

import math
from collections.abc import Sequence
from typing import Any

from ...engine.tensor import InvalidArgument, Tensor
from ...ops.normalization import normalize_batch, normalize_groups, normalize_layer, normalize_rms
from ...ops.norms import p_norm
from ...ops.pooling import avg_pool
from ...ops.shape import number, pad_constant
from .convolution import channels_back

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]

_FORMATS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


def channels_first(x: Any, data_format: str) -> tuple[Any, bool]:
    """x with its channels at axis 1, and whether they came last."""
    if data_format not in _FORMATS:
        raise InvalidArgument(f"expected data_format one of {', '.join(_FORMATS)}, got {data_format!r}")
    last = data_format[-1] == "C" and data_format != "NC" and x.ndim > 2
    return (x.moveaxis(-1, 1) if last else x), last


def _fits(name: str, given: Any, shape: Sequence[int]) -> Any:
    """A weight or None, flat; ValueError when it has neither this shape nor as many entries in one row."""
    if given is None:
        return None
    size = math.prod(shape)
    if given.shape not in ([size], list(shape)):
        raise InvalidArgument(f"expected {name} of shape {list(shape)}, got {list(given.shape)}")
    return given if given.ndim == 1 else given.reshape([size])


def _over_last(x: Any, normalized_shape: Any, weight: Any, bias: Any, run: Any) -> Any:
    """`run(x, weight, bias)` over the last axes of x, those of normalized_shape, made one."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else [int(n) for n in normalized_shape]
    ahead = len(x.shape) - len(shape)
    if ahead < 0 or x.shape[ahead:] != shape:
        raise InvalidArgument(f"normalized_shape {shape} does not end the shape of x, {list(x.shape)}")
    weight, bias = _fits("weight", weight, shape), _fits("bias", bias, shape)
    if len(shape) == 1:
        return run(x, weight, bias)
    return run(x.reshape([*x.shape[:ahead], math.prod(shape)]), weight, bias).reshape(x.shape)


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) weight + bias, over the last axes `normalized_shape`.

    weight, bias: of shape normalized_shape (or flat), or None for 1 and 0. Raises ValueError when shapes do
    not fit.
    """
    return _over_last(
        x, normalized_shape, weight, bias, lambda *given: normalize_layer(*given, float(epsilon))
    )


def rms_norm(input, normalized_shape, weight=None, eps=1e-05, name=None) -> Tensor:
    """input / sqrt(mean(input^2) + eps) weight, over the last axes `normalized_shape` (Zhang and Sennrich,
    2019)."""
    return _over_last(
        input, normalized_shape, weight, None, lambda x, weight, _: normalize_rms(x, weight, float(eps))
    )


def batch_norm(
    x,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.9,
    epsilon=1e-05,
    data_format="NCHW",
    use_global_stats=None,
    name=None,
) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) weight + bias for each channel (Ioffe and Szegedy, 2015).

    x: [batch, channels, ...], or channels last with data_format "NHWC", "NLC" or "NDHWC".
    In training, or with use_global_stats=False, the batch's statistics are used, and the running ones become
    momentum running + (1 - momentum) batch (the variance as the batch's own, divided by n, as Paddle has it).
    Else, or with use_global_stats=True, the running ones are used and stay.
    Raises ValueError when the channels do not fit.
    """
    x, last = channels_first(x, data_format)
    if x.ndim < 2:
        raise InvalidArgument(f"batch_norm: expected x with 2 axes or more, got shape {list(x.shape)}")
    channels = [x.shape[1]]
    for label, given in (("running_mean", running_mean), ("running_var", running_var)):
        _fits(label, given, channels)
    weight, bias = (_fits(n, v, channels) for n, v in (("weight", weight), ("bias", bias)))
    own = bool(training if use_global_stats is None else not use_global_stats)
    if own and x.size in (
        0,
        channels[0],
    ):  # nothing or one value a channel has no spread: as in Paddle it stays as it is
        value = x + sum((p * 0).sum() for p in (weight, bias) if p is not None)  # whose gradients are zeros
        return channels_back(value, last)
    value = normalize_batch(
        x, weight, bias, running_mean.data, running_var.data, own, float(momentum), float(epsilon)
    )
    return channels_back(value, last)


def group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW", name=None) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) weight + bias over groups of the channels and all places (Wu and He,
    2018).

    x: [batch, channels, ...], or channels last by data_format; num_groups must divide the channels.
    Also called as group_norm(input, num_groups, weight, bias, eps), which a Tensor or None in third place
    shows.
    """
    if epsilon is None or isinstance(epsilon, Tensor):  # the other order of arguments
        eps = bias if isinstance(bias, float) else 1e-05
        bias = weight if isinstance(weight, Tensor) else None if isinstance(bias, float) else bias
        weight, epsilon = epsilon, eps
    x, last = channels_first(x, data_format)
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise InvalidArgument(
            f"group_norm: num_groups {num_groups} does not divide the channels of {[*x.shape]}"
        )
    weight, bias = (_fits(n, v, [x.shape[1]]) for n, v in (("weight", weight), ("bias", bias)))
    value = normalize_groups(x, weight, bias, num_groups, float(epsilon))
    return channels_back(value, last)


def instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.9,
    eps=1e-05,
    data_format="NCHW",
    name=None,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) weight + bias over the places of each channel (Ulyanov et al., 2016).

    x: [batch, channels, ...]. The statistics are always the input's, as in Paddle.
    """
    if x.ndim < 2:
        raise InvalidArgument(f"instance_norm: expected x with 2 axes or more, got shape {list(x.shape)}")
    weight, bias = (_fits(n, v, [x.shape[1]]) for n, v in (("weight", weight), ("bias", bias)))
    return normalize_groups(x, weight, bias, x.shape[1], float(eps))


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0, data_format="NCHW", name=None) -> Tensor:
    """x / (k + alpha mean(x^2))^beta, the mean over `size` channels about each (Krizhevsky et al., 2012)."""
    if x.ndim < 3:
        raise InvalidArgument(
            f"local_response_norm: expected x with 3 axes or more, got shape {list(x.shape)}"
        )
    x, last = channels_first(x, data_format)
    n, c = x.shape[:2]
    squares = pad_constant((x * x).reshape([n, 1, c, -1]), [0, 0, size // 2, (size - 1) // 2], 0.0)
    means = avg_pool(squares, (size, 1), (1, 1), (0, 0), False, True).reshape(x.shape)
    value = x / (means * alpha + k) ** beta
    return channels_back(value, last)


def normalize(x, p=2, axis=1, epsilon=1e-12, out=None, name=None) -> Tensor:
    """x / max(length, epsilon), its length along `axis` in the p-norm."""
    if x.ndim > 1 and not -x.ndim <= axis < x.ndim:
        raise InvalidArgument(f"normalize: axis {axis} is outside x of shape {list(x.shape)}")
    value = x / p_norm(x, float(number(p, "p")), [axis % max(x.ndim, 1)], True).clip(min=epsilon)
    return value if out is None else out._write(value)
