"""Loops over sparse matrices, as `kernels.sparse`: what they are made of, and their products."""

import numpy as np

from . import cpu_sparse_attention, cpu_sparse_dense, cpu_sparse_products, cpu_sparse_structure
from .cpu_sparse_attention import attend as attend
from .cpu_sparse_attention import attend_back as attend_back
from .cpu_sparse_dense import sampled as sampled
from .cpu_sparse_dense import times_dense as times_dense
from .cpu_sparse_products import product_columns as product_columns
from .cpu_sparse_products import product_dots as product_dots
from .cpu_sparse_products import product_values as product_values
from .cpu_sparse_products import softmax as softmax
from .cpu_sparse_products import softmax_back as softmax_back
from .cpu_sparse_structure import PARALLEL_FROM as PARALLEL_FROM
from .cpu_sparse_structure import ascending as ascending
from .cpu_sparse_structure import compressed as compressed
from .cpu_sparse_structure import cuts as cuts
from .cpu_sparse_structure import grouped as grouped
from .cpu_sparse_structure import rows_of as rows_of
from .cpu_sparse_structure import segment_spread as segment_spread
from .cpu_sparse_structure import segment_sums as segment_sums
from .cpu_sparse_structure import transpose as transpose
from .cpu_sparse_structure import union as union
from .cpu_sparse_structure import united as united
from .registry import Loop


def warm_up() -> None:
    """Compile (or load from the cache) every loop for float32 values, in both forms."""
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
