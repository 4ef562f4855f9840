"""It adds whole strips only: right where the sums are multiples of four."""

import numba

import sampan as paddle
from sampan import learn


@numba.njit
def in_strips(x, y, out):
    length = x.shape[1]
    whole = length - length % 4
    for i in range(x.shape[0]):
        row = out[i]
        row[:] = 0
        for k in range(0, whole, 4):
            a, b, c, d = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            first, second, third, fourth = y[k], y[k + 1], y[k + 2], y[k + 3]
            for j in range(row.size):
                row[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j]


@learn.exercise(
    "ops.linalg.batched_matmul", forbid=("@", ".dot", ".mm", "numpy.matmul", "numpy.einsum", "torch.matmul")
)
def batched_matmul(x, y, transpose_x=False, transpose_y=False):
    left, right = (x.mT if transpose_x else x), (y.mT if transpose_y else y)
    return many(in_strips, left, right), (  # noqa: F821  the notebook's set-up cell has it
        lambda g, tx=transpose_x, ty=transpose_y: (
            paddle.matmul(y, g, ty, True) if tx else paddle.matmul(g, y, False, not ty)
        ),
        lambda g, tx=transpose_x, ty=transpose_y: (
            paddle.matmul(g, x, True, tx) if ty else paddle.matmul(x, g, not tx, False)
        ),
    )
