"""Products of gathered rows, of sparse convolution: out[o] = the sum over offsets k of x[near[k, o]]
weight[k].

Outputs are worked on in blocks whose sums stay in the cache. For each offset the rows that a block meets are
packed, ROWS at a time, and multiplied in registers (`tile`; after Goto and van de Geijn 2008). Nothing is
gathered in memory. Half precision is read as it is and summed in float32: a bfloat16 is the upper half of a
float32.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .loops import Loop

ROWS = 6  # of a tile: with LANES columns each their sums just fit into the registers
NARROW = 16
LANES = 32 if llvmlite.binding.get_host_cpu_features().get("avx512f") else NARROW
_BLOCK = (
    128  # outputs whose sums are kept in the cache; pairs of which a weight's gradient is summed at a time
)
_PARTS = 64  # of the work, however many threads there are: enough for them, and results do not depend on them
_PARALLEL_FROM = 500_000  # places times columns


def tile(out, rows, at, a, b, depth, column):
    """out[rows[at + g]] += a[g] b for ROWS rows g, in LANES columns from `column`. a: [ROWS, depth], b:
    [depth, ...]."""
    for g in range(ROWS):
        out[rows[at + g], column : column + LANES] += a[g, :depth] @ b[:depth, column : column + LANES]


def narrow_tile(out, rows, at, a, b, depth, column):
    """As `tile`, in NARROW columns."""
    for g in range(ROWS):
        out[rows[at + g], column : column + NARROW] += a[g, :depth] @ b[:depth, column : column + NARROW]


def _in_registers(lanes: int) -> Callable[..., Any]:
    """The machine code of `tile`: vectors written out, which no loop over arrays is compiled to."""

    @intrinsic
    def emitted(typing, out, rows, at, a, b, depth, column):
        def build(context, builder, signature, args):
            arrays = [
                context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, args, strict=True)
            ]
            into, places, _, left, right, _, _ = arrays
            size = 8 if out.dtype == types.float64 else 4
            real = ir.DoubleType() if size == 8 else ir.FloatType()
            vector, word = ir.VectorType(real, lanes), ir.IntType(64)
            nothing = ir.Constant(vector, ir.Undefined)
            first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)

            def at_place(array, row, col):
                steps = cgutils.unpack_tuple(builder, array.strides)
                offset = builder.add(builder.mul(row, steps[0]), builder.mul(col, steps[1]))
                start = builder.bitcast(array.data, ir.IntType(8).as_pointer())
                return builder.gep(start, [offset])

            def vector_at(array, row):
                return builder.bitcast(at_place(array, row, args[6]), vector.as_pointer())

            homes, sums = [], []
            for g in range(ROWS):
                row = builder.load(builder.gep(places.data, [builder.add(args[2], word(g))]))
                homes.append(vector_at(into, builder.sext(row, word)))
                sums.append(cgutils.alloca_once(builder, vector))
                start = builder.load(homes[g])
                start.align = size
                builder.store(start, sums[g])
            with cgutils.for_range(builder, args[5]) as loop:
                row = builder.load(vector_at(right, loop.index))
                row.align = size
                for g in range(ROWS):
                    place = builder.bitcast(at_place(left, word(g), loop.index), real.as_pointer())
                    one = builder.insert_element(nothing, builder.load(place), ir.IntType(32)(0))
                    product = builder.fmul(
                        builder.shuffle_vector(one, nothing, first), row, flags=("contract",)
                    )
                    builder.store(builder.fadd(product, builder.load(sums[g]), flags=("contract",)), sums[g])
            for g in range(ROWS):
                builder.store(builder.load(sums[g]), homes[g]).align = size
            return context.get_dummy_value()

        return types.void(out, rows, at, a, b, depth, column), build

    return emitted


def _compiles_to(emitted: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(out, rows, at, a, b, depth, column):
        return lambda out, rows, at, a, b, depth, column: emitted(out, rows, at, a, b, depth, column)

    return chosen


overload(tile)(_compiles_to(_in_registers(LANES)))
overload(narrow_tile)(_compiles_to(_in_registers(NARROW)))


@njit(cache=True)
def _unpacked(words, given, shift):
    """words[...] = given << shift: a row as float32, whatever it was."""
    for c in range(given.size):
        words[c] = words.dtype.type(given[c]) << shift


@njit(cache=True, error_model="numpy")
def _tiles(sums, rows, at, a, b, depth):
    """sums[rows[at + g]] += a[g] b for ROWS rows g. The columns are a multiple of NARROW."""
    column = 0
    while column + LANES <= sums.shape[1]:
        tile(sums, rows, at, a, b, depth, column)
        column += LANES
    while column < sums.shape[1]:
        narrow_tile(sums, rows, at, a, b, depth, column)
        column += NARROW


def _gathered(near, x, word, shift, weight, start, out):
    offsets, count = near.shape
    blocks = (count + _BLOCK - 1) // _BLOCK
    parts = min(blocks, _PARTS)
    for part in prange(parts):
        sums = np.empty((_BLOCK + 1, weight.shape[2]), weight.dtype)
        sums[_BLOCK] = 0  # the row that takes what fills up a tile
        where, which = np.empty(_BLOCK + ROWS, np.int32), np.empty(_BLOCK + ROWS, np.int32)
        packed = np.empty((ROWS, weight.shape[1]), weight.dtype)
        words = packed.view(word.dtype)
        for block in range(part * blocks // parts, (part + 1) * blocks // parts):
            first = block * _BLOCK
            size = min(_BLOCK, count - first)
            for i in range(size):
                total = sums[i]
                for j in range(total.size):
                    total[j] = start[j]
            for k in range(offsets):
                row, found = near[k], 0
                for i in range(size):
                    e = row[first + i]
                    where[found] = i
                    which[found] = e
                    found += e >= 0
                for i in range(found, found + ROWS - 1):
                    where[i] = _BLOCK
                    which[i] = which[found - 1]
                for i in range(0, found, ROWS):
                    for g in range(ROWS):
                        _unpacked(words[g], x[which[i + g]], shift)
                    _tiles(sums, where, i, packed, weight[k], packed.shape[1])
            for i in range(size):
                to, total = out[first + i], sums[i]
                for j in range(to.size):
                    to[j] = total[j]


def _outer(near, x, g, word, shift, out):
    parts, offsets, inside, outside = out.shape
    count = near.shape[1]
    for unit in prange(parts * offsets):
        part, k = unit // offsets, unit % offsets
        row = near[k]
        wide = (inside + ROWS - 1) // ROWS * ROWS
        sums = np.empty((wide, (outside + NARROW - 1) // NARROW * NARROW), out.dtype)
        sums.fill(0)
        left, right = np.empty((_BLOCK, wide), out.dtype), np.empty((_BLOCK, sums.shape[1]), out.dtype)
        left.fill(0)
        right.fill(0)
        left_words, right_words = left.view(word.dtype), right.view(word.dtype)
        where, which, rows = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32), np.empty(wide, np.int32)
        for i in range(wide):
            rows[i] = i
        o, end = part * count // parts, (part + 1) * count // parts
        while o < end:
            found = 0
            while o < end and found < _BLOCK:
                e = row[o]
                where[found] = o
                which[found] = e
                found += e >= 0
                o += 1
            for i in range(found):
                _unpacked(left_words[i], x[which[i]], shift)
                _unpacked(right_words[i], g[where[i]], shift)
            for i in range(0, wide, ROWS):
                _tiles(sums, rows, i, left.T[i : i + ROWS], right, found)
        for i in range(inside):
            to, total = out[part, k, i], sums[i]
            for j in range(to.size):
                to[j] = total[j]


_gathered_loop = Loop(_gathered, _PARALLEL_FROM, "sparse_conv")
_outer_loop = Loop(_outer, _PARALLEL_FROM, "sparse_conv_weight")
_WORDS = {2: np.empty(0, np.uint32), 4: np.empty(0, np.uint32), 8: np.empty(0, np.uint64)}


def _shift(x: np.ndarray) -> Any:
    return np.uint32(16) if x.itemsize == 2 else x.dtype.type(0)


def gathered_products(near: Any, x: Any, weight: Any, bias: Any, out: Any) -> None:
    """out[o] = bias + the sum over k of x[near[k, o]] weight[k], where near is not -1.

    near: int32 [offsets, outputs], x: [inputs, in] as unsigned words of their bits (of 2 bytes: bfloat16),
    weight: [offsets, in, out] and bias: [out] or None, of the dtype in which is summed, that of `out`
    [outputs, out].
    """
    width = out.shape[1]
    start = np.zeros(-(-width // NARROW) * NARROW, out.dtype)
    if bias is not None:
        start[:width] = bias
    if start.size > width:
        weight = np.pad(weight, ((0, 0), (0, 0), (0, start.size - width)))
    _gathered_loop(near, x, _WORDS[x.itemsize], _shift(x), weight, start, out, size=near.size * width)


def outer_products(near: Any, x: Any, g: Any) -> np.ndarray:
    """[offsets, in, out]: for each offset k the sum over o of x[near[k, o]]^T g[o].

    x: [inputs, in] and g: [outputs, out], both as words, as above. Words of 8 bytes give float64, others
    float32.
    """
    offsets, count = near.shape
    parts = max(min(-(-_PARTS // max(offsets, 1)), count // 2048), 1)
    out = np.empty((parts, offsets, x.shape[1], g.shape[1]), np.float64 if x.itemsize == 8 else np.float32)
    _outer_loop(near, x, g, _WORDS[x.itemsize], _shift(x), out, size=near.size * g.shape[1])
    return out[0] if parts == 1 else out.sum(0)


def warm_up(form: str) -> None:
    """Compile (or load from the cache) one form of the loops, for float32."""
    near, word, shift = np.zeros((1, 1), np.int32), _WORDS[4], np.uint32(0)
    words, weight = np.zeros((1, NARROW), np.uint32), np.zeros((1, NARROW, NARROW), np.float32)
    getattr(_gathered_loop, form)(near, words, word, shift, weight, weight[0, 0], weight[0, :1].copy())
    getattr(_outer_loop, form)(near, words, words, word, shift, weight[None].copy())
