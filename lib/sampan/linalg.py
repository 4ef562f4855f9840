"""Linear algebra by Paddle's names: the operators of `ops.decomposition`, `ops.norms` and `ops.linalg`."""

# ruff: noqa: I001
# fmt: off
from .ops.decomposition import (
    cholesky, cholesky_inverse, cholesky_solve, det, eig, eigh, eigvals, eigvalsh, inverse as inv,
    inverse as inverse, lstsq, lu, lu_solve, lu_unpack, qr, slogdet, solve, svd, svdvals, triangular_solve,
)
from .ops.indexing import diagonal
from .ops.linalg import cross, matmul, matrix_transpose, multi_dot, vecdot
from .ops.norms import (
    cond, householder_product, matrix_exp, matrix_norm, matrix_power, matrix_rank, norm, ormqr, pca_lowrank, pinv,
    svd_lowrank, vector_norm,
)
from .ops.statistics import corrcoef, cov

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "cross", "det", "diagonal", "eig",
    "eigh", "eigvals", "eigvalsh", "householder_product", "inv", "lstsq", "lu", "lu_solve", "lu_unpack", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "ormqr",
    "pca_lowrank", "pinv", "qr", "slogdet", "solve", "svd", "svd_lowrank", "svdvals", "triangular_solve", "vecdot",
    "vector_norm",
]
