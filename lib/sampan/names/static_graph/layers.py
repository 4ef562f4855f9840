"""`paddle.static.nn`: layers as functions, which make their parameters when they are called."""

from __future__ import annotations

from math import prod
from typing import Any

from ... import nn
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor

__all__ = [
    "batch_norm",
    "conv2d",
    "conv2d_transpose",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "prelu",
]


def _activated(x: Tensor, name: str | None) -> Any:
    """x after the activation of this name, or as it is."""
    if name is None:
        return x
    function = getattr(nn.functional, name, None)
    if function is None:
        raise InvalidArgument(f"act: expected the name of an activation, got {name!r}")
    return function(x)


def _known(x: Tensor, axis: int) -> int:
    """The length of an axis, which must be known."""
    return int(x.data.shape[axis])


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """activation(x @ weight + bias): the axes of x from `num_flatten_dims` on are one. Of a list: the sum."""
    inputs = x if isinstance(x, (list, tuple)) else [x]
    total: Any = None
    for place, each in enumerate(inputs):
        axes = num_flatten_dims % each.ndim if num_flatten_dims < 0 else num_flatten_dims
        width = prod(each.data.shape[axes:])
        flat = each.flatten(axes) if each.ndim > axes + 1 else each
        made = nn.Linear(width, size, weight_attr, bias_attr if place == 0 else False, name)(flat)
        total = made if total is None else total + made
    return _activated(total, activation)


def conv2d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """A convolution of images [n, c, h, w]."""
    channels = _known(input, 1 if data_format == "NCHW" else 3)
    layer = nn.Conv2D(
        channels,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups or 1,
        weight_attr=param_attr,
        bias_attr=bias_attr,
        data_format=data_format,
    )
    return _activated(layer(input), act)


def conv2d_transpose(
    input: Any,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """The transposed convolution of images [n, c, h, w]."""
    if filter_size is None:
        raise InvalidArgument("conv2d_transpose: filter_size: expected an int or two, got None")
    channels = _known(input, 1 if data_format == "NCHW" else 3)
    layer = nn.Conv2DTranspose(
        channels,
        num_filters,
        filter_size,
        stride,
        padding,
        0,
        dilation,
        groups or 1,
        weight_attr=param_attr,
        bias_attr=bias_attr,
        data_format=data_format,
    )
    return _activated(layer(input, output_size), act)


def batch_norm(
    input: Any,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Any:
    """Batch normalisation over the channels."""
    channels = _known(input, -1 if data_layout == "NHWC" else min(1, input.ndim - 1))
    layer = nn.BatchNorm(
        channels,
        act,
        is_test,
        momentum,
        epsilon,
        param_attr=param_attr,
        bias_attr=bias_attr,
        data_layout=data_layout,
        moving_mean_name=moving_mean_name,
        moving_variance_name=moving_variance_name,
        use_global_stats=use_global_stats,
    )
    if is_test:
        layer.eval()
    return layer(input)


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: str = "float32",
) -> Any:
    """Rows of a table of `size` [rows, width]."""
    return nn.Embedding(size[0], size[1], padding_idx, sparse=is_sparse, weight_attr=param_attr)(input)


def layer_norm(
    input: Any,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Normalisation over the axes from `begin_norm_axis` on."""
    shape = [_known(input, axis) for axis in range(begin_norm_axis, input.ndim)]
    layer = nn.LayerNorm(
        shape, epsilon, weight_attr=param_attr if scale else False, bias_attr=bias_attr if shift else False
    )
    return _activated(layer(input), act)


def group_norm(
    input: Any,
    groups: int,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Normalisation over groups of channels."""
    channels = _known(input, 1 if data_layout == "NCHW" else -1)
    layer = nn.GroupNorm(
        groups, channels, epsilon, weight_attr=param_attr, bias_attr=bias_attr, data_format=data_layout
    )
    return _activated(layer(input), act)


def instance_norm(
    input: Any, epsilon: float = 1e-5, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Any:
    """Normalisation over each channel of each image."""
    return nn.InstanceNorm2D(_known(input, 1), epsilon, weight_attr=param_attr, bias_attr=bias_attr)(input)


def prelu(
    x: Any, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """max(0, x) + weight min(0, x). mode: "all", one weight; "channel", one for each channel."""
    if mode not in ("all", "channel"):
        raise InvalidArgument(f"prelu: mode: expected 'all' or 'channel', got {mode!r}")
    count = 1 if mode == "all" else _known(x, 1 if data_format == "NCHW" else -1)
    return nn.PReLU(count, weight_attr=param_attr, data_format=data_format)(x)
