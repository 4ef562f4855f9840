"""Reductions and the operators of layers, for the table of operators.py."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...nn import functional as F
from ...ops.recurrent import recurrent
from .operators import Cannot, computes, function_named, ints, number, short_name, tensor
from .reader import Op

# --- reductions ---


@computes("mean", "max", "min", "prod", "any", "all", "amax", "amin")
def _reduced(op: Op, x: Any, *axes: Any) -> Any:
    given = ints(axes[0]) if axes else op.get("axis") or []
    return function_named(short_name(op))(tensor(x), axis=given or None, keepdim=bool(op.get("keepdim")))


@computes("sum")
def _sum(op: Op, x: Any, axes: Any) -> Any:
    found = ops.sum(tensor(x), axis=ints(axes) or None, keepdim=bool(op.get("keepdim")))
    kind = str(op.get("dtype"))
    return found if kind.lower().startswith(("none", "undefined")) else found.astype(kind)


@computes("argmax", "argmin")
def _argument(op: Op, x: Any, axis: Any) -> Any:
    along = None if op.get("flatten") else number(axis)
    return function_named(short_name(op))(
        tensor(x), along, bool(op.get("keepdims")), op.get("dtype", "int64")
    )


@computes("topk")
def _topk(op: Op, x: Any, k: Any) -> Any:
    return tuple(
        ops.topk(tensor(x), number(k), op.get("axis", -1), op.get("largest", True), op.get("sorted", True))
    )


@computes("cumsum")
def _cumsum(op: Op, x: Any, axis: Any) -> Any:
    if op.get("exclusive") or op.get("reverse"):
        raise Cannot("exclusive or reverse")
    return ops.cumsum(tensor(x), None if op.get("flatten") else number(axis))


# --- layers ---


def _paddings(op: Op) -> Any:
    way = op.get("padding_algorithm", "EXPLICIT")
    return op.get("paddings") if way == "EXPLICIT" else way


@computes("conv2d", "depthwise_conv2d", "conv3d")
def _convolution(op: Op, x: Any, weight: Any) -> Any:
    function = F.conv3d if short_name(op) == "conv3d" else F.conv2d
    given = op.get("strides"), _paddings(op), op.get("dilations"), op.get("groups", 1), op.get("data_format")
    return function(tensor(x), tensor(weight), None, *given)


@computes("conv2d_transpose", "depthwise_conv2d_transpose")
def _convolution_transpose(op: Op, x: Any, weight: Any, size: Any) -> Any:
    more = op.get("output_padding") or 0
    lengths = ints(size) if size is not None else []
    return F.conv2d_transpose(
        tensor(x),
        tensor(weight),
        None,
        op.get("strides"),
        _paddings(op),
        more,
        dilation=op.get("dilations"),
        groups=op.get("groups", 1),
        output_size=lengths or None,
        data_format=op.get("data_format", "NCHW"),
    )


@computes("pool2d")
def _pool2d(op: Op, x: Any, size: Any) -> Any:
    x, kernel, form = tensor(x), ints(size), op.get("data_format", "NCHW")
    largest = op.get("pooling_type") == "max"
    if op.get("global_pooling"):
        kernel = [1, 1]
    if op.get("adaptive") or op.get("global_pooling"):
        return F.adaptive_max_pool2d(x, kernel) if largest else F.adaptive_avg_pool2d(x, kernel, form)
    given = kernel, op.get("strides"), _paddings(op)
    if largest:
        return F.max_pool2d(x, *given, ceil_mode=bool(op.get("ceil_mode")), data_format=form)
    return F.avg_pool2d(x, *given, bool(op.get("ceil_mode")), bool(op.get("exclusive", True)), None, form)


@computes("batch_norm_", "batch_norm")
def _batch_norm(op: Op, x: Any, mean: Any, variance: Any, weight: Any = None, bias: Any = None) -> Any:
    if not (op.get("is_test") or op.get("use_global_stats")):
        raise Cannot("batch_norm in training")
    found = F.batch_norm(
        tensor(x),
        mean,
        variance,
        weight,
        bias,
        epsilon=op.get("epsilon", 1e-5),
        data_format=op.get("data_format"),
    )
    return found, mean, variance, None, None, None


@computes("layer_norm")
def _layer_norm(op: Op, x: Any, weight: Any = None, bias: Any = None) -> Any:
    x = tensor(x)
    shape = [int(n) for n in x.shape[op.get("begin_norm_axis", 1) :]]
    weight, bias = (None if v is None else tensor(v).reshape(shape) for v in (weight, bias))
    return F.layer_norm(x, shape, weight, bias, op.get("epsilon", 1e-5)), None, None


@computes("group_norm")
def _group_norm(op: Op, x: Any, weight: Any = None, bias: Any = None) -> Any:
    given = op.get("groups"), op.get("epsilon", 1e-5), weight, bias, op.get("data_format", "NCHW")
    return F.group_norm(tensor(x), *given), None, None


@computes("instance_norm")
def _instance_norm(op: Op, x: Any, weight: Any = None, bias: Any = None) -> Any:
    return F.instance_norm(tensor(x), weight=weight, bias=bias, eps=op.get("epsilon", 1e-5)), None, None


@computes("embedding")
def _embedding(op: Op, ids: Any, weight: Any) -> Any:
    padding = op.get("padding_idx", -1)
    return F.embedding(tensor(ids), tensor(weight), None if padding == -1 else padding)


@computes("nearest_interp", "bilinear_interp")
def _interpolation(op: Op, x: Any, size: Any = None, parts: Any = None, scale: Any = None) -> Any:
    if size is not None or parts is not None or scale is not None:
        raise Cannot("a size that is computed")
    shape = [op.get("out_h", -1), op.get("out_w", -1)]
    given = {"size": shape} if min(shape) > 0 else {"scale_factor": op.get("scale")}
    corners, mode = bool(op.get("align_corners")), int(op.get("align_mode", 0))
    kind = "nearest" if short_name(op) == "nearest_interp" else "bilinear"
    return F.interpolate(
        tensor(x),
        mode=kind,
        align_corners=corners,
        align_mode=mode,
        data_format=op.get("data_format"),
        **given,
    )


@computes("rnn")
def _rnn(op: Op, x: Any, states: Any, weights: Any, lengths: Any = None, dropout: Any = None) -> Any:
    """x [time, batch, features]; weights: all matrices, layer by layer, and then all biases."""
    mode, ways = op.get("mode"), 2 if op.get("is_bidirec") else 1
    states = [tensor(state) for state in states]
    pairs = op.get("num_layers", 1) * ways
    if len(weights) != 4 * pairs or mode not in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
        raise Cannot(f"mode {mode} with {len(weights)} weights")
    x, ends = tensor(x), None if lengths is None else tensor(lengths).astype("int64")
    made: list[Any] = []
    for level in range(0, pairs, ways):
        outputs = []
        for way in range(level, level + ways):
            own = [
                weights[2 * way],
                weights[2 * way + 1],
                weights[2 * pairs + 2 * way],
                weights[2 * pairs + 2 * way + 1],
            ]
            cell = states[1][way] if mode == "LSTM" else None
            found = recurrent(x, states[0][way], cell, *map(tensor, own), ends, mode, way > level)
            outputs.append(found[0])
            made.append(found[1:])
        x = outputs[0] if ways == 1 else ops.concat(outputs, -1)
    return x, None, [ops.stack(list(part), 0) for part in zip(*made, strict=True)], None
