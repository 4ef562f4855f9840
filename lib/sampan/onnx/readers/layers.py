"""Products, convolutions, pools, normalisations, recurrent layers, resizing."""

from __future__ import annotations

import math
from typing import Any

import torch

import sampan as paddle

from ...engine.tensor import Tensor
from ...nn import functional as F
from ...ops.convolution import convolve
from ...ops.pooling import at_places, avg_pool
from ...ops.recurrent import recurrent
from ...ops.shape import pad_constant
from .table import Cannot, array, ints, reads, tensor


@reads("MatMul")
def _matmul(node, x, y):
    return paddle.matmul(tensor(x), tensor(y))


@reads("Gemm")
def _gemm(node, a, b, c=None):
    a, b = tensor(a), tensor(b)
    a = a.transpose([1, 0]) if node.get("transA") else a
    b = b.transpose([1, 0]) if node.get("transB") else b
    found = paddle.matmul(a, b)
    found = found * node.get("alpha", 1.0) if node.get("alpha", 1.0) != 1 else found
    return found if c is None else found + tensor(c) * node.get("beta", 1.0)


@reads("Einsum")
def _einsum(node, *inputs):
    return paddle.einsum(node.get("equation"), *map(tensor, inputs))


def _sides(
    node: Any, lengths: list[int], kernel: list[int], stride: list[int], dilation: list[int]
) -> list[int]:
    """Padding before and after each axis."""
    how, n = node.get("auto_pad", "NOTSET"), len(kernel)
    if how == "NOTSET":
        return node.get("pads") or [0] * 2 * n
    if how == "VALID":
        return [0] * 2 * n
    whole = [
        max((-(-m // s) - 1) * s + (k - 1) * d + 1 - m, 0)
        for m, k, s, d in zip(lengths, kernel, stride, dilation, strict=True)
    ]
    small, large = [w // 2 for w in whole], [w - w // 2 for w in whole]
    return small + large if how == "SAME_UPPER" else large + small


@reads("Conv")
def _conv(node, x, weight, bias=None):
    x, weight = tensor(x), tensor(weight)
    n = x.ndim - 2
    kernel = weight.shape[2:]
    stride, dilation = node.get("strides") or [1] * n, node.get("dilations") or [1] * n
    pads = _sides(node, x.shape[2:], kernel, stride, dilation)
    if pads[:n] != pads[n:]:
        x, pads = _constant_pad(x, pads), [0] * n
    settings = tuple(stride), tuple(pads[:n]), tuple(dilation), False, (0,) * n, node.get("group", 1)
    return convolve(x, weight, None if bias is None else tensor(bias), settings)


def _constant_pad(x: Tensor, pads: list[int], value: float = 0.0) -> Tensor:
    n = len(pads) // 2
    widths = [w for i in reversed(range(n)) for w in (pads[i], pads[i + n])]
    return pad_constant(x, widths, value)


@reads("ConvTranspose")
def _conv_transpose(node, x, weight, bias=None):
    x, weight = tensor(x), tensor(weight)
    n, kernel = x.ndim - 2, weight.shape[2:]
    stride, dilation = node.get("strides") or [1] * n, node.get("dilations") or [1] * n
    more, pads = node.get("output_padding") or [0] * n, node.get("pads") or [0] * 2 * n
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    wanted, how = node.get("output_shape"), node.get("auto_pad", "NOTSET")
    if how in ("SAME_UPPER", "SAME_LOWER") and not wanted:
        wanted = [m * s for m, s in zip(x.shape[2:], stride, strict=True)]
    if wanted:
        sizes = zip(x.shape[2:], stride, reach, more, wanted[-n:], strict=True)
        total = [s * (m - 1) + o + r - w for m, s, r, o, w in sizes]
        first = [t // 2 for t in total] if how == "SAME_UPPER" else [t - t // 2 for t in total]
        pads = first + [t - f for t, f in zip(total, first, strict=True)]
    settings = tuple(stride), (0,) * n, tuple(dilation), True, (0,) * n, node.get("group", 1)
    ends = [o - p for o, p in zip(more, pads[n:], strict=True)]
    found = _constant_pad(convolve(x, weight, None, settings), [-p for p in pads[:n]] + ends)
    return found if bias is None else found + _per_channel(bias, x.ndim)


def _windows(node: Any, x: Tensor) -> tuple[list[int], list[int], list[int], list[int]]:
    n, kernel = x.ndim - 2, node.get("kernel_shape")
    stride, dilation = node.get("strides") or [1] * n, node.get("dilations") or [1] * n
    pads = list(_sides(node, x.shape[2:], kernel, stride, dilation))
    if node.get("ceil_mode"):
        for i, (m, k, s, d) in enumerate(zip(x.shape[2:], kernel, stride, dilation, strict=True)):
            size = m + pads[i] + pads[i + n] - (k - 1) * d - 1
            steps = -(-size // s)
            if steps * s >= m + pads[i]:  # no window begins in the padding behind
                steps -= 1
            pads[i + n] += max(0, steps * s - size)
    return kernel, stride, dilation, pads


@reads("MaxPool")
def _max_pool(node, x):
    x = tensor(x)
    if len(node.outputs) > 1 and node.get("storage_order"):
        raise Cannot("places by columns")
    kernel, stride, dilation, pads = _windows(node, x)
    low = float("-inf") if x.is_floating_point() else torch.iinfo(x.data.dtype).min
    n, shape = len(kernel), x.shape
    if x.data.dtype in (torch.int8, torch.uint8):
        wide = _max_pool(node, x.astype("float32"))
        return (wide[0].astype(x.dtype), wide[1]) if isinstance(wide, tuple) else wide.astype(x.dtype)
    grown = _constant_pad(x, pads, low)
    if len(node.outputs) == 1:
        return _largest(grown, kernel, stride, dilation)[0]
    values, places = _largest(grown, kernel, stride, dilation)
    return values, _flat_places(places, shape, grown.shape, pads[:n])


def _largest(x: Tensor, kernel: list[int], stride: list[int], dilation: list[int]) -> tuple[Tensor, Tensor]:
    """The largest entries, and their places in each channel."""
    names = {1: "max_pool1d_with_indices", 2: "max_pool2d_with_indices", 3: "max_pool3d_with_indices"}
    function = getattr(torch.ops.aten, names[len(kernel)])
    _, places = function(x.data, kernel, stride, [0] * len(kernel), dilation, False)
    found = Tensor(places)
    return at_places(x, found), found


def _flat_places(places: Tensor, shape: Any, grown: Any, before: list[int]) -> Tensor:
    """Places in the whole of x from those in each channel of the padded one."""
    rest, coordinates = places.data, []
    for length in reversed(grown[2:]):
        coordinates.append(rest % length)
        rest = rest // length
    flat = torch.zeros_like(places.data)
    for i, (length, at) in enumerate(zip(shape[2:], reversed(coordinates), strict=True)):
        flat = flat * length + at - before[i]
    size = math.prod(shape[2:])
    channel = torch.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * len(before))
    return Tensor(flat + channel * size)


@reads("AveragePool")
def _average_pool(node, x):
    x = tensor(x)
    kernel, stride, dilation, pads = _windows(node, x)
    n = len(kernel)
    given = node.get("pads") or [0] * 2 * n
    counted = paddle.ones([1, 1, *x.shape[2:]], x.dtype)
    if node.get("count_include_pad"):  # what ceil_mode adds is never counted
        given = given if node.get("auto_pad", "NOTSET") == "NOTSET" else pads
        counted = _constant_pad(counted, given, 1.0)
        counted = _constant_pad(counted, [p - g for p, g in zip(pads, given, strict=True)])
    else:
        counted = _constant_pad(counted, pads)
    return _means(_constant_pad(x, pads), kernel, stride, dilation) / _means(
        counted, kernel, stride, dilation
    )


def _means(x: Tensor, kernel: list[int], stride: list[int], dilation: list[int]) -> Tensor:
    """The mean of each window, also of windows with gaps."""
    n = len(kernel)
    if n > 1 and all(d == 1 for d in dilation):
        return avg_pool(x, tuple(kernel), tuple(stride), (0,) * n, False, False)
    flat = x.reshape([x.shape[0] * x.shape[1], 1, *x.shape[2:]])
    share = paddle.full([1, 1, *kernel], 1 / math.prod(kernel), x.dtype)
    found = convolve(flat, share, None, (tuple(stride), (0,) * n, tuple(dilation), False, (0,) * n, 1))
    return found.reshape([*x.shape[:2], *found.shape[2:]])


@reads("LpPool")
def _lp_pool(node, x):
    x, p = tensor(x), node.get("p", 2)
    kernel, stride, dilation, pads = _windows(node, x)
    size = math.prod(kernel)
    return (_means(_constant_pad(x.abs() ** p, pads), kernel, stride, dilation) * size) ** (1.0 / p)


@reads("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node, x):
    x = tensor(x)
    axes = list(range(2, x.ndim))
    return x.mean(axes, True) if node.kind == "GlobalAveragePool" else paddle.amax(x, axes, True)


# --- normalisations ---


def _per_channel(value: Any, ndim: int) -> Tensor:
    return tensor(value).reshape([1, -1] + [1] * (ndim - 2))


@reads("BatchNormalization")
def _batch_norm(node, x, scale, bias, mean, variance):
    if node.get("training_mode"):
        raise Cannot("training_mode")
    x = tensor(x)
    if x.ndim < 2:
        raise Cannot("an input without channels")
    scale, bias, mean, variance = (_per_channel(v, x.ndim) for v in (scale, bias, mean, variance))
    return (x - mean) * (scale / paddle.sqrt(variance + node.get("epsilon", 1e-5))) + bias


def _normal(x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    mean = x.mean(axes, True)
    rest = x - mean
    inverse = 1 / paddle.sqrt((rest * rest).mean(axes, True) + epsilon)
    return rest * inverse, mean, inverse


@reads("LayerNormalization")
def _layer_norm(node, x, scale, bias=None):
    x = tensor(x)
    axes = list(range(node.get("axis", -1) % x.ndim, x.ndim))
    found, mean, inverse = _normal(x, axes, node.get("epsilon", 1e-5))
    found = found * tensor(scale)
    found = found if bias is None else found + tensor(bias)
    return (found, mean, inverse)[: len(node.outputs)] if len(node.outputs) > 1 else found


@reads("RMSNormalization")
def _rms_norm(node, x, scale):
    x = tensor(x)
    axes = list(range(node.get("axis", -1) % x.ndim, x.ndim))
    return x / paddle.sqrt((x * x).mean(axes, True) + node.get("epsilon", 1e-5)) * tensor(scale)


@reads("InstanceNormalization")
def _instance_norm(node, x, scale, bias):
    x = tensor(x)
    found, _, _ = _normal(x, list(range(2, x.ndim)), node.get("epsilon", 1e-5))
    return found * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)


@reads("GroupNormalization")
def _group_norm(node, x, scale, bias):
    x, groups = tensor(x), node.get("num_groups")
    found, _, _ = _normal(x.reshape([x.shape[0], groups, -1]), [2], node.get("epsilon", 1e-5))
    found = found.reshape(x.shape)
    if node.opset < 21:  # a number for each group
        scale, bias = (tensor(v).repeat_interleave(x.shape[1] // groups) for v in (scale, bias))
    return found * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)


@reads("LRN")
def _lrn(node, x):
    x, size = tensor(x), node.get("size")
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    grown = pad_constant(x * x, [0, 0] * (x.ndim - 2) + [before, after], 0.0)
    total = sum(grown[:, i : i + x.shape[1]] for i in range(size))
    return x / (node.get("bias", 1.0) + node.get("alpha", 1e-4) / size * total) ** node.get("beta", 0.75)


@reads("LpNormalization")
def _lp_norm(node, x):
    x, axis, p = tensor(x), node.get("axis", -1), node.get("p", 2)
    size = x.abs().sum(axis, None, True) if p == 1 else paddle.sqrt((x * x).sum(axis, None, True))
    return paddle.where(size == 0, paddle.zeros_like(x), x / size)


@reads("MeanVarianceNormalization")
def _mean_variance(node, x):
    x = tensor(x)
    return _normal(x, node.get("axes") or [0, 2, 3], 1e-9)[0]


# --- recurrent layers ---

_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # ours from those of ONNX


@reads("LSTM", "GRU", "RNN")
def _recurrent(node, x, w, r, b=None, lengths=None, h=None, c=None, p=None):
    kind, size, way = node.kind, node.get("hidden_size"), node.get("direction", "forward")
    plain = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[kind]
    ways = 2 if way == "bidirectional" else 1
    given = node.get("activations") or plain * ways
    relu = kind == "RNN" and given == ["Relu"] * ways
    if (given != plain * ways and not relu) or p is not None or node.get("clip") or node.get("input_forget"):
        raise Cannot("other activations, peepholes, clip or input_forget")
    if kind == "GRU" and not node.get("linear_before_reset"):
        raise Cannot("linear_before_reset=0")
    x, w, r = tensor(x), tensor(w), tensor(r)
    first = node.get("layout", 0) == 1
    x = x.transpose([1, 0, 2]) if first else x
    count = len(_GATES[kind])
    b = paddle.zeros([ways, 2 * count * size], x.dtype) if b is None else tensor(b)
    states = []
    for state in (h, c) if kind == "LSTM" else (h,):
        zero = paddle.zeros([ways, x.shape[1], size], x.dtype) if state is None else tensor(state)
        states.append(zero.transpose([1, 0, 2]) if first and state is not None else zero)
    ends = None if lengths is None else tensor(lengths).astype("int64")
    mode = kind if kind != "RNN" else "RNN_RELU" if relu else "RNN_TANH"
    made = []
    for i in range(ways):
        weights = [_ordered(v, kind) for v in (w[i], r[i], b[i][: count * size], b[i][count * size :])]
        cell = states[1][i] if kind == "LSTM" else None
        made.append(recurrent(x, states[0][i], cell, *weights, ends, mode, way == "reverse" or i == 1))
    found = [paddle.stack([one[0] for one in made], 1)]
    found += [paddle.stack([one[i] for one in made], 0) for i in range(1, len(made[0]))]
    if first:
        found = [found[0].transpose([2, 0, 1, 3]), *(s.transpose([1, 0, 2]) for s in found[1:])]
    return tuple(found)


def _ordered(value: Tensor, kind: str) -> Tensor:
    parts = paddle.chunk(value, len(_GATES[kind]), 0)
    return paddle.concat([parts[i] for i in _GATES[kind]], 0)


@reads("Resize", "Upsample")
def _resize(node, x, *rest):
    x, mode = tensor(x), node.get("mode", "nearest")
    scales, sizes = (rest[0], None) if node.kind == "Upsample" or len(rest) == 1 else (*rest[1:], None)[:2]
    how = node.get(
        "coordinate_transformation_mode", "asymmetric" if node.kind == "Upsample" else "half_pixel"
    )
    stretched = node.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    if node.get("axes") or node.get("antialias") or node.get("exclude_outside") or not stretched:
        raise Cannot("axes, antialias, exclude_outside or keep_aspect_ratio_policy")
    shape = list(x.shape)
    given = sizes is None or not array(sizes).size
    factors = array(scales).tolist() if given else [n / m for n, m in zip(ints(sizes), shape, strict=True)]
    lengths = [int(m * f) for m, f in zip(shape, factors, strict=True)] if given else ints(sizes)
    for axis, (old, new, factor) in enumerate(zip(shape, lengths, factors, strict=True)):
        if old != new or factor != 1:
            x = _mixed(x, axis, _share(node, mode, how, old, new, factor))
    return x


def _mixed(x: Tensor, axis: int, share: torch.Tensor) -> Tensor:
    found = paddle.matmul(x.moveaxis(axis, -1).astype("float32"), Tensor(share))
    return found.moveaxis(-1, axis).astype(x.dtype)


def _share(node: Any, mode: str, how: str, old: int, new: int, factor: float) -> torch.Tensor:
    """[old, new]: how much of each old entry is in a new one."""
    i = torch.arange(new, dtype=torch.float64)
    places = {
        "asymmetric": lambda: i / factor,
        "half_pixel": lambda: (i + 0.5) / factor - 0.5,
        "pytorch_half_pixel": lambda: (i + 0.5) / factor - 0.5 if new > 1 else i * 0,
        "align_corners": lambda: i * ((old - 1) / (old * factor - 1)) if new > 1 else i * 0,
    }.get(how)
    if places is None:
        raise Cannot(f"coordinate_transformation_mode {how!r}")
    at, share = places(), torch.zeros(old, new)
    if mode == "nearest":
        rounding = node.get("nearest_mode", "floor" if node.kind == "Upsample" else "round_prefer_floor")
        near = {
            "floor": torch.floor,
            "ceil": torch.ceil,
            "round_prefer_floor": lambda v: torch.ceil(v - 0.5),
            "round_prefer_ceil": lambda v: torch.floor(v + 0.5),
        }[rounding](at)
        share[near.long().clamp(0, old - 1), torch.arange(new)] = 1.0
        return share
    low, a = at.floor(), node.get("cubic_coeff_a", -0.75)
    t = at - low
    for step in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        d = (t - step).abs()
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        part = 1 - d if mode == "linear" else torch.where(d <= 1, near, far)
        rows = (low.long() + step).clamp(0, old - 1)
        share.index_put_((rows, torch.arange(new)), part.float(), accumulate=True)
    return share


@reads("GridSample")
def _grid_sample(node, x, grid):
    x, mode = tensor(x), node.get("mode", "linear")
    mode = {"linear": "bilinear"}.get(mode, mode)
    if x.ndim != 4 or mode not in ("bilinear", "nearest"):
        raise Cannot(f"mode {mode!r} of {x.ndim - 2} axes")
    outside = node.get("padding_mode", "zeros")
    return F.grid_sample(x, tensor(grid), mode, outside, bool(node.get("align_corners", 0)))


# --- losses ---


@reads("NegativeLogLikelihoodLoss")
def _likelihood_loss(node, x, target, weight=None):
    return _lost(node, tensor(x), tensor(target), weight)


@reads("SoftmaxCrossEntropyLoss")
def _cross_entropy(node, x, target, weight=None):
    logs = F.log_softmax(tensor(x), 1)
    found = _lost(node, logs, tensor(target), weight)
    return (found, logs) if len(node.outputs) > 1 else found


def _lost(node: Any, logs: Tensor, target: Tensor, weight: Any) -> Tensor:
    """Minus the entries of logs [n, classes, ...] at the targets [n, ...], weighted."""
    ignored = node.get("ignore_index")
    target = target.astype("int64")
    counted = paddle.ones_like(target, dtype=logs.dtype)
    if ignored is not None:
        counted = (target != ignored).astype(logs.dtype)
        target = paddle.where(target == ignored, paddle.zeros_like(target), target)
    if weight is not None:
        share = paddle.index_select(tensor(weight), target.reshape([-1])).reshape(target.shape)
        counted = counted * share.astype(logs.dtype)
    found = -paddle.take_along_axis(logs, target.unsqueeze(1), 1, broadcast=False).squeeze(1) * counted
    how = node.get("reduction", "mean")
    if how == "none":
        return found
    return found.sum() / counted.sum() if how == "mean" else found.sum()
