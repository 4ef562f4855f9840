"""Operators of the encoders of speech (`speech/nn`)."""

from __future__ import annotations

import math

import torch

from ..graph import Graph
from .layers import counted
from .table import emits


@emits("project")
def _project(g, x, weight, bias):
    product = g.node("MatMul", x, weight)
    return product if bias is None else g.node("Add", product, bias)


@emits("residual")
def _residual(g, x, y, share):
    return g.node("Add", x, y if share == 1 else g.node("Mul", y, g.number(share, g.made.dtype)))


@emits("depthwise")
def _depthwise(g, x, weight, bias):
    channels, _, kernel = g.static(weight, "a weight")
    turned = g.node("Transpose", x, perm=[0, 2, 1])
    found = g.node("Conv", turned, weight, bias, kernel_shape=[kernel], group=channels)
    return g.node("Transpose", found, perm=[0, 2, 1])


@emits("encoded_distances")
def _encoded_distances(g, queries, keys, width, like):
    wide = torch.float64
    first = g.node("Sub", g.number(keys, torch.int64), g.number(1, torch.int64))
    end = g.node("Neg", g.number(queries, torch.int64))
    distance = g.cast(g.node("Range", first, end, g.number(-1, torch.int64)), wide)
    rates = 10000.0 ** (-torch.arange(0, width, 2, dtype=wide) / width)
    angle = g.node("Mul", g.node("Unsqueeze", distance, [1]), g.buffer(rates))
    # The cosine as a sine: ONNX Runtime has no cosine of float64.
    parts = angle, g.node("Add", angle, g.number(math.pi / 2, wide))
    both = g.node("Concat", *(g.node("Unsqueeze", g.node("Sin", part), [2]) for part in parts), axis=2)
    return g.cast(g.node("Reshape", both, [-1, width]), g.made.dtype)


@emits("scores_by_distance")
def _scores_by_distance(g, query, bias, places, scale):
    rows = g.node("Transpose", g.node("Add", query, bias), perm=[0, 2, 1, 3])
    by_distance = g.node("MatMul", rows, g.node("Transpose", places, perm=[1, 2, 0]))
    return g.node("Mul", _by_key(g, by_distance), g.number(scale, g.made.dtype))


def _by_key(g: Graph, scores: str) -> str:
    """[batch, heads, queries, keys + queries - 1] by distance to [..., queries, keys]: entry j of row i is
    entry queries - 1 - i + j."""
    sizes = g.node("Shape", scores)
    first, queries, distances = (
        g.node("Slice", sizes, [begin], [end], [0]) for begin, end in ((0, 2), (2, 3), (3, 4))
    )
    before = g.node("Sub", queries, [1])
    keys = g.node("Sub", distances, before)
    row, column = (counted(g, g.node("Squeeze", size, [0])) for size in (queries, keys))
    places = g.node("Sub", g.node("Add", column, before), g.node("Unsqueeze", row, [1]))
    whole = g.node("Expand", places, g.node("Concat", first, queries, keys, axis=0))
    return str(g.node("GatherElements", scores, whole, axis=3))
