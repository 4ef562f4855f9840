"""It walks over n, n and n: only square matrices come out right."""

import numba

import sampan as paddle
from sampan import learn


@numba.njit
def by_definition(x, y, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                total += x[i, k] * y[k, j]
            out[i, j] = total


@learn.exercise("ops.linalg.mm", forbid=("@", ".dot", ".mm", "numpy.matmul", "numpy.einsum", "torch.matmul"))
def mm(input, mat2):
    return through(by_definition, input, mat2), (  # noqa: F821  the notebook's set-up cell has it
        lambda g: paddle.matmul(g, mat2, transpose_y=True),
        lambda g: paddle.matmul(input, g, transpose_x=True),
    )
