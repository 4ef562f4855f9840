"""Products, convolutions, pools, normalisations, attention, recurrent layers, resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..graph import Graph, Unsupported
from .table import emits

# --- products ---


@emits("mm")
def _mm(g, input, mat2, name=None):
    return g.node("MatMul", input, mat2)


@emits("affine")
def _affine(g, x, weight, bias):
    return g.node("Gemm", x, weight, bias)


def _turned(g: Graph, x: Any, turn: bool) -> Any:
    rank = g.rank(x)
    return g.node("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2]) if turn else x


@emits("batched_matmul")
def _batched_matmul(g, x, y, transpose_x=False, transpose_y=False):
    return g.node("MatMul", _turned(g, x, transpose_x), _turned(g, y, transpose_y))


@emits("contract")
def _contract(g, *tensors, letters, output):
    return g.node("Einsum", *tensors, equation=f"{','.join(letters)}->{output}")


@emits("rows_at")
def _rows_at(g, x, weight, padding=-1, by_frequency=False, as_rows=False):
    found = g.node("Gather", weight, x, axis=0)
    if padding < 0:
        return found
    empty = g.node("Unsqueeze", g.node("Equal", x, g.number(padding, g.fact(x).dtype)), [-1])
    return g.node("Where", empty, g.number(0, g.made.dtype), found)


# --- convolutions and pools ---


def _windows(kernel: Any, stride: Any, padding: Any) -> dict[str, list[int]]:
    """ONNX's attributes of windows, whose padding is the same before and after."""
    return {"kernel_shape": [*kernel], "strides": [*stride], "pads": [*padding, *padding]}


@emits("convolve")
def _convolve(g, x, weight, bias, settings):
    stride, padding, dilation, transposed, more, groups = settings
    kernel = [int(n or 0) for n in g.fact(weight).shape[2:]]
    given: dict[str, Any] = {
        **_windows(kernel, stride, padding),
        "dilations": list(dilation),
        "group": groups,
    }
    if transposed:
        return g.node("ConvTranspose", x, weight, bias, **given, output_padding=list(more))
    return g.node("Conv", x, weight, bias, **given)


@emits("max_pool")
def _max_pool(g, x, kernel, stride, padding, ceil_mode):
    return g.node("MaxPool", x, **_windows(kernel, stride, padding), ceil_mode=int(ceil_mode))


def _places(g: Graph, x: Any, **settings: Any) -> str:
    """The places of the largest entries of windows, counted in each channel."""
    _, places = g.node("MaxPool", x, **settings, outputs=2)
    count = g.reduce("Prod", g.node("Slice", g.shape(x), [2], [g.rank(x)], [0]), [0], True)
    return str(g.node("Mod", places, count))


@emits("largest_places")
def _largest_places(g, x, kernel, step, pads, ceil_mode, added):
    if added is not None:
        raise Unsupported("places in an image with other padding before than after")
    n = g.rank(x) - 2
    kernel, step, pads = ([v] * n if isinstance(v, int) else list(v) for v in (kernel, step, pads))
    return _places(g, x, **_windows(kernel, step or kernel, pads), ceil_mode=int(ceil_mode))


@emits("adaptive_places")
def _adaptive_places(g, x, size):
    lengths = [int(n or 0) for n in g.fact(x).shape[2:]]
    if not all(lengths) or any(n % m for n, m in zip(lengths, size, strict=True)):
        raise Unsupported(f"the places of an adaptive pool to {list(size)}")
    steps = [n // m for n, m in zip(lengths, size, strict=True)]
    return _places(g, x, kernel_shape=steps, strides=steps)


@emits("at_places")
def _at_places(g, x, places):
    flat = [g.node("Reshape", v, [0, 0, -1]) for v in (x, places)]
    return g.node("Reshape", g.node("GatherElements", *flat, axis=2), g.shape(places))


@emits("avg_pool")
def _avg_pool(g, x, kernel, stride, padding, ceil_mode, exclusive, divisor=None):
    given = _windows(kernel, stride, padding)
    counted = int(not exclusive or bool(divisor))
    found = g.node("AveragePool", x, **given, ceil_mode=int(ceil_mode), count_include_pad=counted)
    return g.node("Mul", found, g.number(math.prod(kernel) / divisor, g.made.dtype)) if divisor else found


@emits("adaptive_pool")
def _adaptive_pool(g, x, size):
    if all(n == 1 for n in size):
        return g.node("GlobalAveragePool", x)
    shape = g.fact(x).shape[2:]
    if None in shape:
        raise Unsupported(f"an adaptive pool to {list(size)} of an input whose size is not known")
    lengths = [int(n or 0) for n in shape]
    if all(n % m == 0 for n, m in zip(lengths, size, strict=True)):
        steps = [n // m for n, m in zip(lengths, size, strict=True)]
        return g.node("AveragePool", x, kernel_shape=steps, strides=steps)
    found = g.name(x)
    for axis, (n, m) in enumerate(zip(lengths, size, strict=True), 2):  # windows of different lengths
        share = torch.zeros(n, m, dtype=g.made.dtype)
        for i in range(m):
            first, last = i * n // m, -(-(i + 1) * n // m)
            share[first:last, i] = 1 / (last - first)
        order = [i for i in range(g.rank(x)) if i != axis] + [axis]
        mixed = g.node("MatMul", g.node("Transpose", found, perm=order), g.buffer(share))
        found = g.node("Transpose", mixed, perm=[order.index(i) for i in range(g.rank(x))])
    return found


_MODES = {
    "nearest2": "nearest",
    "nearest3": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


@emits("resized")
def _resized(g, x, size, kind, more):
    if kind not in _MODES:
        raise Unsupported(f"a resize of kind {kind!r}")
    corners, factors = (False, more) if kind.startswith("nearest") else (bool(more[0]), more[1:])
    how = "align_corners" if corners else "asymmetric" if kind.startswith("nearest") else "pytorch_half_pixel"
    given: dict[str, Any] = {"mode": _MODES[kind], "coordinate_transformation_mode": how}
    given |= {"nearest_mode": "floor"} if kind.startswith("nearest") else {"cubic_coeff_a": -0.75}
    if all(factors) and not corners:
        return g.node("Resize", x, None, np.array([1, 1, *factors], np.float32), **given)
    first = g.node("Slice", g.shape(x), [0], [2], [0])
    return g.node("Resize", x, None, None, g.node("Concat", first, list(size), axis=0), **given)


# --- normalisations ---


@emits("normalize_batch")
def _normalize_batch(g, x, weight, bias, mean, variance, training, momentum, epsilon):
    if training:
        raise Unsupported("statistics of the batch; the layer must evaluate")
    channels = g.static(mean, "the statistics")
    weight = g.buffer(torch.ones(channels, dtype=g.made.dtype)) if weight is None else weight
    bias = g.buffer(torch.zeros(channels, dtype=g.made.dtype)) if bias is None else bias
    return g.node("BatchNormalization", x, weight, bias, mean, variance, epsilon=float(epsilon))


@emits("normalize_layer")
def _normalize_layer(g, x, weight, bias, epsilon):
    if weight is None:
        features = g.fact(x).shape[-1]
        if features is None:
            raise Unsupported("features whose number is not known")
        weight = g.buffer(torch.ones(features, dtype=g.made.dtype))
    return g.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=float(epsilon))


@emits("normalize_rms")
def _normalize_rms(g, x, weight, epsilon):
    epsilon = torch.finfo(g.made.dtype).eps if epsilon is None else epsilon
    size = g.reduce("Mean", g.node("Mul", x, x), [g.rank(x) - 1], True)
    scaled = g.node("Div", x, g.node("Sqrt", g.node("Add", size, g.number(epsilon, g.made.dtype))))
    return scaled if weight is None else g.node("Mul", scaled, weight)


@emits("normalize_groups")
def _normalize_groups(g, x, weight, bias, groups, epsilon):
    channels = g.fact(x).shape[1]
    if channels is None:
        raise Unsupported("channels whose number is not known")
    flat = g.node("Reshape", x, [0, groups, -1])
    one, zero = (g.buffer(torch.full((groups,), v, dtype=g.made.dtype)) for v in (1.0, 0.0))
    found = g.node(
        "Reshape", g.node("InstanceNormalization", flat, one, zero, epsilon=float(epsilon)), g.shape(x)
    )
    for kind, share in (("Mul", weight), ("Add", bias)):
        if share is not None:
            places = [channels] + [1] * (g.rank(x) - 2)
            found = g.node(kind, found, g.node("Reshape", share, places))
    return found


# --- attention ---


@emits("fused_attention")
def _attention(g, query, key, value, mask, causal, scale):
    dtype = g.made.dtype
    q, v = (g.node("Transpose", x, perm=[0, 2, 1, 3]) for x in (query, value))
    k = g.node("Transpose", key, perm=[0, 2, 3, 1])
    scores = g.node("MatMul", g.node("Mul", q, g.number(scale, dtype)), k)
    if mask is not None:
        scores = g.node("Add", scores, g.cast(mask, dtype))
    if causal:
        rows, columns = (
            counted(g, g.node("Gather", g.shape(x), g.number(1, torch.int64))) for x in (query, key)
        )
        later = g.node("Greater", columns, g.node("Unsqueeze", rows, [1]))
        hidden = g.node("Where", later, g.number(-math.inf, dtype), g.number(0, dtype))
        scores = g.node("Add", scores, hidden)
    found = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    return g.node("Transpose", found, perm=[0, 2, 1, 3])


@emits("attention_bias")
def _attention_bias(g, mask, dtype, least):
    return g.node("Where", g.cast(mask, torch.bool), g.number(0, dtype), g.number(least, dtype))


@emits("below")
def _below(g, x, count, dtype):
    end = g.node("Squeeze", g.ints([count]), [0])
    places = g.cast(counted(g, end), g.fact(x).dtype)
    return g.cast(g.node("Less", places, g.node("Unsqueeze", x, [-1])), g.made.dtype)


def counted(g: Graph, end: str) -> str:
    """0, 1, ... before a 0-d int64."""
    return str(g.node("Range", g.number(0, torch.int64), end, g.number(1, torch.int64)))


# --- recurrent layers ---

# Where ONNX has the gates that we have as 0, 1, ...: input, output, forget, cell; update, reset, hidden.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}


@emits("recurrent")
def _recurrent(g, x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse):
    kind, order = ("RNN", (0,)) if mode.startswith("RNN") else (mode, _GATES[mode])
    weights = []
    for ref in (w_ih, w_hh, b_ih, b_hh):
        if ref not in g.outside:
            raise Unsupported("weights that are computed")
        name, buffer = g.outside[ref]
        gates = buffer.detach().chunk(len(order))
        weights.append((name, torch.cat([gates[i] for i in order])[None]))
    given = [g.buffer(buffer, name) for name, buffer in weights[:2]]
    given.append(g.buffer(torch.cat([buffer for _, buffer in weights[2:]], 1), weights[2][0]))
    ends = None if length is None else g.cast(length, torch.int32)
    states = [g.node("Unsqueeze", state, [0]) for state in (h, c) if state is not None]
    settings: dict[str, Any] = {
        "hidden_size": weights[1][1].shape[-1],
        "direction": "reverse" if reverse else None,
    }
    if kind == "GRU":
        settings["linear_before_reset"] = 1
    elif kind == "RNN":
        settings["activations"] = ["Relu" if mode == "RNN_RELU" else "Tanh"]
    made = g.node(kind, x, *given, ends, *states, outputs=3 if kind == "LSTM" else 2, **settings)
    return [g.node("Squeeze", made[0], [1]), *(g.node("Squeeze", state, [0]) for state in made[1:])]
