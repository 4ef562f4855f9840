"""Products of a sparse matrix with a dense one, and of two dense ones at the entries of a sparse one.

Both come down to rows of a dense matrix, named by column numbers, that are added up or multiplied. A block of
columns stays in registers over all entries of a row (see `cpu_register_block`), and the rows are asked for
`AHEAD` entries before they are needed, since where they lie cannot be foretold.

Real types are vectors; others (integers, complex numbers, factors of two types) take the plain loop.
"""

from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .cpu_register_block import RegisterBlock, arrays, row_of
from .cpu_sparse_structure import PARALLEL_FROM
from .loops import Loop

AHEAD = 32  # entries

_INT64 = ir.IntType(64)


def row_sum(out, values, cols, x, start, stop):
    """out[j] = the sum of values[e] x[cols[e], j] over the entries e from start to stop."""
    for j in range(out.size):
        out[j] = 0
    for e in range(start, stop):
        v, other = values[e], x[cols[e]]
        for j in range(out.size):
            out[j] += v * other[j]


def row_dots(out, row, cols, x, start, stop):
    """out[e] = row . x[cols[e]] for the entries e from start to stop. At least one column."""
    for e in range(start, stop):
        other, total = x[cols[e]], out.dtype.type(0)
        for j in range(row.size):
            total += row[j] * other[j]
        out[e] = total


@contextmanager
def _entries(context, b, cols, x, start, stop):
    """Code once an entry: (entry, its row of x, the row of x that is needed soon)."""
    last = b.sub(b.extract_value(cols.shape, 0), ir.Constant(_INT64, 1))
    with cgutils.for_range_slice(b, start, stop, ir.Constant(_INT64, 1)) as (e, _):
        soon = b.add(e, ir.Constant(_INT64, AHEAD))
        later = b.select(b.icmp_signed("<", soon, last), soon, last)
        yield e, row_of(b, x, cols, e), row_of(b, x, cols, later)


@intrinsic
def _row_sum(typing, out, values, cols, x, start, stop):
    def emit(context, b, signature, args):
        out, values, cols, x = arrays(context, b, signature.args, args[:4])
        for block in RegisterBlock(b, signature.args[0].dtype).over(b.extract_value(out.shape, 0)):
            sums = [cgutils.alloca_once_value(b, block.zero) for _ in range(block.count)]
            for s in sums:
                b.store(block.zero, s)
            with _entries(context, b, cols, x, *args[4:]) as (e, row, soon):
                block.prefetch(soon)
                value = block.splat(b.load(b.gep(values.data, [e])))
                for s, other in zip(sums, block.read(row), strict=True):
                    b.store(block.multiply_add(value, other, b.load(s)), s)
            block.write(out.data, [b.load(s) for s in sums])
        return context.get_dummy_value()

    return types.void(out, values, cols, x, types.int64, types.int64), emit


@intrinsic
def _row_dots(typing, out, row, cols, x, start, stop):
    def emit(context, b, signature, args):
        out, row, cols, x = arrays(context, b, signature.args, args[:4])
        for block in RegisterBlock(b, signature.args[0].dtype).over(b.extract_value(row.shape, 0)):
            kept = block.read(row.data)
            with _entries(context, b, cols, x, *args[4:]) as (e, other, soon):
                block.prefetch(soon)
                block.add_dot(out, e, kept, block.read(other))
        return context.get_dummy_value()

    return types.void(out, row, cols, x, types.int64, types.int64), emit


def _in_vectors(*arrays: Any) -> bool:
    """Whether these arrays are contiguous and of one real type."""
    kinds = {a.dtype for a in arrays}
    return len(kinds) == 1 and kinds < {types.float32, types.float64} and all(a.layout == "C" for a in arrays)


@overload(row_sum)
def _overload_row_sum(out, values, cols, x, start, stop):
    if _in_vectors(out, values, x):
        return lambda out, values, cols, x, start, stop: _row_sum(out, values, cols, x, start, stop)
    return row_sum


@overload(row_dots)
def _overload_row_dots(out, row, cols, x, start, stop):
    if _in_vectors(out, row, x):
        return lambda out, row, cols, x, start, stop: _row_dots(out, row, cols, x, start, stop)
    return row_dots


def _spmm(cuts, crows, cols, values, x, out):
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row_sum(out[r], values, cols, x, crows[r], crows[r + 1])


def _sddmm(cuts, crows, cols, x, y, out):
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row_dots(out, x[r], cols, y, crows[r], crows[r + 1])


_spmm_loop = Loop(_spmm, PARALLEL_FROM, "spmm")
_sddmm_loop = Loop(_sddmm, PARALLEL_FROM, "sddmm")


def spmm(cuts: Any, crows: Any, cols: Any, values: Any, x: Any, out: Any) -> None:
    """out[r] = the sum over row r's entries of value * x[col]. x: [columns, k], out: [rows, k]."""
    _spmm_loop(cuts, crows, cols, values, x, out, size=cols.size * x.shape[1])


def sddmm(cuts: Any, crows: Any, cols: Any, x: Any, y: Any, out: Any) -> None:
    """out[e] = x[row of e] . y[col of e]: the product x y^T, at the entries alone. x: [rows, k], y: [columns,
    k]."""
    if x.shape[1] == 0:
        out[:] = 0
    else:
        _sddmm_loop(cuts, crows, cols, x, y, out, size=cols.size * x.shape[1])
