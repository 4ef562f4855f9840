"""The sparse kernels as `kernels.sparse`: each is the CPU's loop and the GPU's kernel of its name, see
`dispatch`.

Look them up late (`kernels.sparse.spmm`), so that another version can take a kernel's place.
"""

import numpy as np

from . import (
    cpu_sparse_attention,
    cpu_sparse_conv,
    cpu_sparse_dense,
    cpu_sparse_products,
    cpu_sparse_structure,
)
from .device import dispatch
from .loops import in_both_forms

# What a matrix is made of.
cuts = dispatch(cpu_sparse_structure.cuts, "cuda_sparse.cuts")
rows_of = dispatch(cpu_sparse_structure.rows_of, "cuda_sparse.rows_of")
transpose = dispatch(cpu_sparse_structure.transpose, "cuda_sparse.transpose")
ascending = dispatch(cpu_sparse_structure.ascending, "cuda_sparse.ascending")
grouped = dispatch(cpu_sparse_structure.grouped, "cuda_sparse.grouped")
segment_sums = dispatch(cpu_sparse_structure.segment_sums, "cuda_sparse.segment_sums")
segment_spread = dispatch(cpu_sparse_structure.segment_spread, "cuda_sparse.segment_spread")
union = dispatch(cpu_sparse_structure.union, "cuda_sparse.union")
united = dispatch(cpu_sparse_structure.united, "cuda_sparse.united")

# Its products, softmax and attention.
spmm = dispatch(cpu_sparse_dense.spmm, "cuda_sparse.spmm")
sddmm = dispatch(cpu_sparse_dense.sddmm, "cuda_sparse.sddmm")
spgemm_columns = dispatch(cpu_sparse_products.spgemm_columns, "cuda_sparse.spgemm_columns")
spgemm_values = dispatch(cpu_sparse_products.spgemm_values, "cuda_sparse.spgemm_values")
spgemm_dots = dispatch(cpu_sparse_products.spgemm_dots, "cuda_sparse.spgemm_dots")
softmax = dispatch(cpu_sparse_products.softmax, "cuda_sparse.softmax")
softmax_back = dispatch(cpu_sparse_products.softmax_back, "cuda_sparse.softmax_back")
attend = dispatch(cpu_sparse_attention.attend, "cuda_sparse.attend")
attend_back = dispatch(cpu_sparse_attention.attend_back, "cuda_sparse.attend_back")

# Convolutions.
table = dispatch(cpu_sparse_conv.table, "cuda_sparse.table")
distinct = dispatch(cpu_sparse_conv.distinct, "cuda_sparse.distinct")
neighbours = dispatch(cpu_sparse_conv.neighbours, "cuda_sparse.neighbours")
reached = dispatch(cpu_sparse_conv.reached, "cuda_sparse.reached")
spread = dispatch(cpu_sparse_conv.spread, "cuda_sparse.spread")
add_rows = dispatch(cpu_sparse_conv.add_rows, "cuda_sparse.add_rows")
largest = dispatch(cpu_sparse_conv.largest, "cuda_sparse.largest")

# Loops alone: on a GPU their callers go another way.
compressed = cpu_sparse_structure.compressed
mutual_neighbours = cpu_sparse_conv.mutual_neighbours
neighbour_sums = cpu_sparse_conv.neighbour_sums
turned = cpu_sparse_conv.turned
gathered_products = cpu_sparse_conv.gathered_products
outer_products = cpu_sparse_conv.outer_products


def warm_up() -> None:
    """Compile (or load from the cache) every loop for float32 values, in both forms."""
    cpu_sparse_conv.warm_up()
    places, wide = np.arange(3), np.ones((3, 2), np.float32)
    ones, order = np.ones(3, np.float32), np.empty(3, np.int32)
    for _ in in_both_forms():
        crows, cols, segments = grouped(places, places, 3)
        for values in (ones[:, None], wide):
            segment_spread(segments, segment_sums(segments, values))
        parts, matrix = cuts(crows), (crows, cols, ones)
        transpose(crows, cols, 3, np.empty_like(crows), np.empty_like(cols), order)
        rows_of(crows, order)
        for kind in (np.int32, np.int64):
            ascending(places.astype(kind), places.astype(kind))
            compressed(places.astype(kind), places.astype(kind), 3, np.empty(4, np.int32), order)
        _, _, from_a, from_b = union(crows, cols, crows, cols)
        united(ones, ones, 1, from_a, from_b)
        spmm(parts, *matrix, wide, np.empty_like(wide))
        sddmm(parts, crows, cols, wide, wide, np.empty_like(ones))
        out = np.empty_like(ones)
        softmax(parts, crows, ones, out)
        softmax_back(parts, crows, out, ones, np.empty_like(ones))
        at = spgemm_columns((crows, cols), (crows, cols), 3)
        spgemm_values(matrix, matrix, 3, at)
        spgemm_dots(matrix, matrix, 3, at)
        weights, made = np.empty((1, 3), np.float32), np.empty_like(wide)
        attend((parts, crows, cols), wide, wide, wide, 1.0, 3, weights, made)
        attend_back(
            (parts, crows, cols), (parts, crows, cols, cols), (wide,) * 4, 1.0, 3, weights, (made,) * 3
        )
