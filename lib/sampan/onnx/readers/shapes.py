"""Shapes, joining, cutting, and reading and writing by places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sampan as paddle

from ...engine.tensor import Tensor
from ...nn import functional as F
from ..library import DTYPES
from .table import Cannot, array, fixed, ints, reads, tensor


def _shape(value: Any) -> list[int]:
    return [int(n) for n in value.shape]


@reads("Shape")
def _shape_of(node, x):
    return np.array(_shape(x)[node.get("start", 0) : node.get("end")], np.int64)


@reads("Size")
def _size(node, x):
    return np.array(math.prod(_shape(x)), np.int64)


@reads("Constant")
def _constant(node):
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        value = node.get(name)
        if value is not None:
            kind = np.float32 if "float" in name else np.int64 if "int" in name else None
            return np.asarray(value, kind)
    raise Cannot(f"a constant of kind {sorted(node.settings)}")


@reads("ConstantOfShape")
def _constant_of_shape(node, shape):
    value = np.asarray(node.get("value", np.zeros(1, np.float32))).reshape(())
    return (
        np.full(ints(shape), value)
        if fixed(shape)
        else paddle.full(ints(shape), value.item(), str(value.dtype))
    )


@reads("Reshape")
def _reshape(node, x, shape=None):
    wanted = node.get("shape") if shape is None else ints(shape)
    if not node.get("allowzero"):
        wanted = [_shape(x)[i] if n == 0 else n for i, n in enumerate(wanted)]
    if -1 in wanted and 0 not in _shape(x):
        rest = math.prod(n for n in wanted if n != -1)
        wanted = [math.prod(_shape(x)) // rest if n == -1 else n for n in wanted]
    return np.reshape(x, wanted) if fixed(x) else tensor(x).reshape(wanted)


@reads("Flatten")
def _flatten(node, x):
    shape = _shape(x)
    axis = node.get("axis", 1)
    axis += len(shape) if axis < 0 else 0
    return tensor(x).reshape([math.prod(shape[:axis]), math.prod(shape[axis:])])


@reads("Squeeze")
def _squeeze(node, x, axes=None):
    shape = _shape(x)
    listed = node.get("axes") if axes is None else ints(axes)
    gone = [a % len(shape) for a in listed] if listed else [i for i, n in enumerate(shape) if n == 1]
    if any(shape[a] != 1 for a in gone):
        raise Cannot(f"axes {gone} of a value of shape {shape}")
    kept = [n for i, n in enumerate(shape) if i not in gone]
    return np.reshape(x, kept) if fixed(x) else x.reshape(kept)


@reads("Unsqueeze")
def _unsqueeze(node, x, axes=None):
    listed = node.get("axes") if axes is None else ints(axes)
    shape, rank = _shape(x), len(x.shape) + len(listed)
    new = [a % rank for a in listed]
    rest = iter(shape)
    made = [1 if i in new else next(rest) for i in range(rank)]
    return np.reshape(x, made) if fixed(x) else x.reshape(made)


@reads("Transpose")
def _transpose(node, x):
    order = node.get("perm") or list(range(len(x.shape)))[::-1]
    return np.transpose(x, order) if fixed(x) else x.transpose(order)


@reads("Concat")
def _concat(node, *inputs):
    axis = node.get("axis", 1)
    return (
        np.concatenate(inputs, axis) if fixed(*inputs) else paddle.concat([tensor(x) for x in inputs], axis)
    )


@reads("Split")
def _split(node, x, sizes=None):
    x, axis = tensor(x), node.get("axis", 0)
    length, parts = x.shape[axis], len(node.outputs)
    listed = node.get("split") if sizes is None else ints(sizes)
    if not listed:
        each = -(-length // parts)
        listed = [min(each, length - i * each) for i in range(parts)]
    return tuple(paddle.split(x, listed, axis))


@reads("Slice")
def _slice(node, x, starts=None, ends=None, axes=None, steps=None):
    first, last = (node.get(n) if v is None else ints(v) for n, v in (("starts", starts), ("ends", ends)))
    listed = (node.get("axes") if axes is None else ints(axes)) or list(range(len(first)))
    by = ints(steps) if steps is not None else [1] * len(first)
    index = [slice(None)] * len(x.shape)
    turned = []
    for start, end, axis, step in zip(first, last, listed, by, strict=True):
        length = _shape(x)[axis]
        if step < 0:  # the same entries from the other side
            start, end = (
                max(-1, min(length - 1, n + length if n < 0 else n))
                for n in (start, end if end >= -length else -length - 1)
            )
            index[axis] = slice(length - 1 - start, length - 1 - end, -step)
            turned.append(axis)
        else:
            index[axis] = slice(start, end, step)
    if fixed(x):
        return np.flip(x, turned)[tuple(index)] if turned else x[tuple(index)]
    return (x.flip(turned) if turned else x)[tuple(index)]


@reads("Expand")
def _expand(node, x, shape):
    wanted = list(np.broadcast_shapes(tuple(_shape(x)), tuple(ints(shape))))
    return np.broadcast_to(x, wanted) if fixed(x, shape) else tensor(x).expand(wanted)


@reads("Tile")
def _tile(node, x, repeats):
    return tensor(x).tile(ints(repeats))


@reads("Pad")
def _pad(node, x, pads=None, value=None, axes=None):
    x, mode = tensor(x), node.get("mode", "constant")
    widths = (node.get("pads") or node.get("paddings")) if pads is None else ints(pads)
    listed = [a % x.ndim for a in ints(axes)] if axes is not None else list(range(x.ndim))
    fill = node.get("value", 0.0) if value is None else array(value).item()
    for i, axis in enumerate(listed):
        before, after = widths[i], widths[i + len(listed)]
        x = _padded(x, axis, before, after, mode, fill)
    return x


def _padded(x: Tensor, axis: int, before: int, after: int, mode: str, fill: float) -> Tensor:
    length = x.shape[axis]
    if mode != "constant":
        places = np.arange(-before, length + after)
        if mode == "edge":
            places = np.clip(places, 0, length - 1)
        elif mode == "wrap":
            places = places % length
        else:
            period = max(2 * (length - 1), 1)
            places = np.minimum(places % period, period - places % period)
        return paddle.index_select(x, tensor(places), axis)
    parts = [x[(slice(None),) * axis + (slice(max(0, -before), length + min(0, after)),)]]
    for width, place in ((before, 0), (after, len(parts) + 1)):
        if width > 0:
            shape = _shape(x)
            shape[axis] = width
            parts.insert(place, paddle.full(shape, fill, x.dtype))
    return paddle.concat(parts, axis)


@reads("Range")
def _range(node, start, limit, delta):
    values = [array(v).item() for v in (start, limit, delta)]
    return np.arange(*values, dtype=array(start).dtype)


@reads("Trilu")
def _trilu(node, x, k=None):
    diagonal = 0 if k is None else ints(k)[0]
    x = tensor(x)
    kind = x.dtype
    x = x.astype("int32") if kind is paddle.bool else x
    return (paddle.triu if node.get("upper", 1) else paddle.tril)(x, diagonal).astype(kind)


@reads("EyeLike")
def _eye_like(node, x):
    kind = DTYPES[node.get("dtype")] if node.get("dtype") else tensor(x).data.dtype
    rows, columns = _shape(x)
    return tensor(np.eye(rows, columns, node.get("k", 0))).astype(kind)


@reads("DepthToSpace")
def _depth_to_space(node, x):
    x, r = tensor(x), node.get("blocksize")
    n, c, h, w = x.shape
    crd, channels = node.get("mode", "DCR") == "CRD", c // r**2
    cut = x.reshape([n, channels, r, r, h, w] if crd else [n, r, r, channels, h, w])
    moved = cut.transpose([0, 1, 4, 2, 5, 3] if crd else [0, 3, 4, 1, 5, 2])
    return moved.reshape([n, channels, h * r, w * r])


@reads("SpaceToDepth")
def _space_to_depth(node, x):
    x, r = tensor(x), node.get("blocksize")
    n, c, h, w = x.shape
    crd = node.get("mode", "DCR") == "CRD"
    cut = x.reshape([n, c, h // r, r, w // r, r]).transpose([0, 1, 3, 5, 2, 4] if crd else [0, 3, 5, 1, 2, 4])
    return cut.reshape([n, c * r * r, h // r, w // r])


# --- places ---


def _positive(index: Any, length: int) -> Tensor:
    """Places counted from the start. One outside the axis stays so: the call that reads there refuses it."""
    index = tensor(index).astype("int64")
    return paddle.where(index < 0, index + length, index)


@reads("Gather")
def _gather(node, x, index):
    axis = node.get("axis", 0) % len(x.shape)
    if fixed(x, index):
        return np.take(x, index, axis)
    places = _positive(index, _shape(x)[axis])
    shape = _shape(x)
    flat = paddle.index_select(tensor(x), places.reshape([-1]), axis)
    return flat.reshape([*shape[:axis], *places.shape, *shape[axis + 1 :]])


@reads("GatherElements")
def _gather_elements(node, x, index):
    axis = node.get("axis", 0) % len(x.shape)
    return paddle.take_along_axis(tensor(x), _positive(index, _shape(x)[axis]), axis, broadcast=False)


@reads("GatherND")
def _gather_nd(node, x, index):
    batches = node.get("batch_dims", 0)
    x, index = tensor(x), tensor(index)
    shape, depth = x.shape, index.shape[-1]
    before = [
        paddle.arange(shape[i]).reshape([1] * i + [-1] + [1] * (index.ndim - 2 - i)) for i in range(batches)
    ]
    places = [_positive(index[..., i], shape[batches + i]) for i in range(depth)]
    return x[(*before, *places)]


@reads("ScatterElements", "Scatter")
def _scatter_elements(node, x, index, updates):
    x, axis, how = tensor(x), node.get("axis", 0) % len(x.shape), node.get("reduction", "none")
    names = {"none": "assign", "add": "add", "mul": "multiply", "max": "amax", "min": "amin"}
    places = _positive(index, x.shape[axis])
    return paddle.put_along_axis(x, places, tensor(updates), axis, names[how], broadcast=False)


@reads("ScatterND")
def _scatter_nd(node, x, index, updates):
    if node.get("reduction", "none") not in ("none", "add"):
        raise Cannot(f"reduction {node.get('reduction')!r}")
    x, index, updates = tensor(x).clone(), tensor(index), tensor(updates)
    if node.get("reduction") == "add":
        return paddle.scatter_nd_add(x, index, updates)
    x[tuple(_positive(index[..., i], x.shape[i]) for i in range(index.shape[-1]))] = updates
    return x


@reads("OneHot")
def _one_hot(node, x, depth, values):
    count, axis = ints(depth)[0], node.get("axis", -1)
    values = tensor(values)
    hot = F.one_hot(_positive(x, count).astype("int64") % count, count).astype("bool")
    known = paddle.logical_and(tensor(x) >= -count, tensor(x) < count).unsqueeze(-1)
    hot = paddle.logical_and(hot, known)
    return paddle.where(hot.moveaxis(-1, axis), values[1], values[0])


@reads("NonZero")
def _nonzero(node, x):
    return paddle.nonzero(tensor(x)).transpose([1, 0])


@reads("Compress")
def _compress(node, x, condition):
    x, axis = tensor(x), node.get("axis")
    places = np.flatnonzero(array(condition))
    return paddle.index_select(x.reshape([-1]) if axis is None else x, tensor(places), axis or 0)
