"""`paddle.static.nn`: layers as functions, which make their parameters when they are called."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from ... import nn
from ...dtype import name_of
from ...engine.errors import InvalidArgument, InvalidType
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
    "sparse_embedding",
]

_TABLES = "CommonSparseTable", "SSDSparseTable", "MemorySparseTable"
CACHED = 1_000_000  # rows of a shard that are kept in memory where the others lie on its disk


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


def sparse_embedding(
    input: Any,
    size: Any,
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: Any = None,
    table_class: str = "MemorySparseTable",
    param_attr: Any = None,
    dtype: str = "float32",
    slot: Any = None,
) -> Any:
    """Rows [*input.shape, size[1]] of a table that lies on parameter servers, or in this process where there
    are none; see `fleet.distributed_embedding`.

    input: int64 ids. is_test: ids without a row read as zeros. entry: which ids get a row, such as
    `paddle.distributed.CountFilterEntry(10)`. table_class: one of Paddle's names; "SSDSparseTable" keeps the
    rows on the disk of servers that have a folder, the last 1,000,000 that were used in memory. slot: not
    used. Raises ValueError for another table_class or entry, TypeError for ids or a dtype of another kind.
    """
    from ...distributed import fleet  # which a program without tables need not load
    from .building import building, default_main_program
    from .steps import LookUp

    if not building():
        raise RuntimeError("sparse_embedding: static mode is off; call paddle.enable_static() first")
    if not isinstance(input, Tensor) or input.data.dtype is not torch.int64:
        got = name_of(input.data.dtype) if isinstance(input, Tensor) else type(input).__name__
        raise InvalidType(f"sparse_embedding: input: expected int64 ids, got {got}")
    if dtype != "float32":
        raise InvalidType(f"sparse_embedding: dtype: expected float32, got {dtype}")
    if table_class not in _TABLES:
        raise InvalidArgument(f"table_class must be in [{', '.join(_TABLES)}]")
    if entry is not None and not isinstance(entry, _entries()):
        raise InvalidArgument(
            "entry must be instance in [paddle.distributed.ProbabilityEntry, "
            "paddle.distributed.CountFilterEntry, paddle.distributed.ShowClickEntry]"
        )
    rows, width = size
    if padding_idx is not None and padding_idx < 0:
        padding_idx += rows
    on_disk = {"cache_rows": CACHED} if table_class == "SSDSparseTable" and fleet.server_num() else {}
    layer = fleet.distributed_embedding([rows, width], param_attr, True, padding_idx, entry, **on_disk)
    recorder = default_main_program().recorder
    steps: list[Any] = recorder.program.steps
    made, result = recorder.rows_of(input, width)
    steps.append(LookUp(layer, recorder.ref_of(input), result, not is_test))
    for weight in layer.parameters():  # of a table in this process
        recorder.outside.ref(weight.data, weight)
    return made


def _entries() -> tuple[Any, ...]:
    from ...distributed.parameter_server import entries

    return entries.ProbabilityEntry, entries.CountFilterEntry, entries.ShowClickEntry


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
