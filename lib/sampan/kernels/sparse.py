"""The sparse kernels as `kernels.sparse`: each is the CPU's loop and the GPU's kernel of its name, see
`on_device`.

Look them up late (`kernels.sparse.times_dense`), so that another version can take a kernel's place.
"""

import numpy as np

from . import (
    cpu_sparse_attention,
    cpu_sparse_conv,
    cpu_sparse_dense,
    cpu_sparse_products,
    cpu_sparse_structure,
)
from .device import on_device
from .registry import Loop

# What a matrix is made of.
cuts = on_device(cpu_sparse_structure.cuts, "cuda_sparse.cuts")
rows_of = on_device(cpu_sparse_structure.rows_of, "cuda_sparse.rows_of")
transpose = on_device(cpu_sparse_structure.transpose, "cuda_sparse.transpose")
ascending = on_device(cpu_sparse_structure.ascending, "cuda_sparse.ascending")
grouped = on_device(cpu_sparse_structure.grouped, "cuda_sparse.grouped")
segment_sums = on_device(cpu_sparse_structure.segment_sums, "cuda_sparse.segment_sums")
segment_spread = on_device(cpu_sparse_structure.segment_spread, "cuda_sparse.segment_spread")
union = on_device(cpu_sparse_structure.union, "cuda_sparse.union")
united = on_device(cpu_sparse_structure.united, "cuda_sparse.united")

# Its products, softmax and attention.
times_dense = on_device(cpu_sparse_dense.times_dense, "cuda_sparse.times_dense")
sampled = on_device(cpu_sparse_dense.sampled, "cuda_sparse.sampled")
product_columns = on_device(cpu_sparse_products.product_columns, "cuda_sparse.product_columns")
product_values = on_device(cpu_sparse_products.product_values, "cuda_sparse.product_values")
product_dots = on_device(cpu_sparse_products.product_dots, "cuda_sparse.product_dots")
softmax = on_device(cpu_sparse_products.softmax, "cuda_sparse.softmax")
softmax_back = on_device(cpu_sparse_products.softmax_back, "cuda_sparse.softmax_back")
attend = on_device(cpu_sparse_attention.attend, "cuda_sparse.attend")
attend_back = on_device(cpu_sparse_attention.attend_back, "cuda_sparse.attend_back")

# Convolutions.
table = on_device(cpu_sparse_conv.table, "cuda_sparse.table")
distinct = on_device(cpu_sparse_conv.distinct, "cuda_sparse.distinct")
neighbours = on_device(cpu_sparse_conv.neighbours, "cuda_sparse.neighbours")
reached = on_device(cpu_sparse_conv.reached, "cuda_sparse.reached")
spread = on_device(cpu_sparse_conv.spread, "cuda_sparse.spread")
add_rows = on_device(cpu_sparse_conv.add_rows, "cuda_sparse.add_rows")
largest = on_device(cpu_sparse_conv.largest, "cuda_sparse.largest")

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
    modules = (cpu_sparse_attention, cpu_sparse_dense, cpu_sparse_products, cpu_sparse_structure)
    loops = {loop: loop.parallel_from for m in modules for loop in vars(m).values() if isinstance(loop, Loop)}
    places, wide = np.arange(3), np.ones((3, 2), np.float32)
    ones, order = np.ones(3, np.float32), np.empty(3, np.int32)
    try:
        for parallel_from in (0, 1 << 62):
            for loop in loops:
                loop.parallel_from = parallel_from
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
            times_dense(parts, *matrix, wide, np.empty_like(wide))
            sampled(parts, crows, cols, wide, wide, np.empty_like(ones))
            out = np.empty_like(ones)
            softmax(parts, crows, ones, out)
            softmax_back(parts, crows, out, ones, np.empty_like(ones))
            at = product_columns((crows, cols), (crows, cols), 3)
            product_values(matrix, matrix, 3, at)
            product_dots(matrix, matrix, 3, at)
            weights, made = np.empty((1, 3), np.float32), np.empty_like(wide)
            attend((parts, crows, cols), wide, wide, wide, 1.0, 3, weights, made)
            attend_back(
                (parts, crows, cols), (parts, crows, cols, cols), (wide,) * 4, 1.0, 3, weights, (made,) * 3
            )
    finally:
        for loop, parallel_from in loops.items():
            loop.parallel_from = parallel_from
