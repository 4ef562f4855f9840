"""Earlier names of slots, which notebooks that were handed out before still have.

Imports nothing: programs that only read notebooks load this file without the library.
"""

RENAMED = {
    "kernels.sparse.sampled": "kernels.sparse.sddmm",
    "kernels.sparse.times_dense": "kernels.sparse.spmm",
    "ops.resampling.rows_at": "ops.embedding.rows_at",
    "ops.resampling.rows_summed": "ops.embedding.rows_summed",
}
