"""How the functions of notebooks 05 and 05b are called: on the arrays that the kernels know, and through the library's sparse tensors.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

import sampan
from sampan import kernels, sparse
from sampan.learn import slots
from sampan.learn.drivers import THE_VALUE, driver, gradient_of, parameter
from sampan.sparse.pattern import Coo, Rows

LOW = 0xFFFFFFFF  # of a packed entry: where it stood


def _arrays(*buffers: torch.Tensor) -> list[np.ndarray]:
    return [buffer.numpy() for buffer in buffers]


@driver(answer=lambda *_: [parameter("crows"), parameter("cols"), parameter("starts"), parameter("order")])
def rows_grouped(slot: slots.Slot, rows: Any, cols: Any, height: int) -> Any:
    """(crows, cols, starts, order) of entries in any order: where each row begins, its columns, and which entries
    make each place."""
    crows, columns, (starts, order) = slot.placed(*_arrays(rows, cols), height)
    return (
        np.asarray(crows),
        np.asarray(columns),
        np.asarray(starts),
        np.asarray(order).astype(np.int64) & LOW,
    )


@driver
def rows_times(slot: slots.Slot, crows: Any, cols: Any, values: Any, x: Any) -> Any:
    """What the product leaves in an array that held other numbers before."""
    crows, cols, values, x = _arrays(crows, cols, values, x)
    out = np.full((crows.size - 1, x.shape[1]), 7.5, x.dtype)
    slot.placed(kernels.sparse.cuts(crows), crows, cols, values, x, out)
    return out


@driver
def rows_times_chained(slot: slots.Slot, crows: Any, cols: Any, values: Any, x: Any, times: int) -> Any:
    """A square matrix so many times: each product is the next one's dense factor. Long work, a short answer."""
    crows, cols, values, x = _arrays(crows, cols, values, x)
    cuts, out = kernels.sparse.cuts(crows), np.full_like(x, 7.5)
    for _ in range(times):
        slot.placed(cuts, crows, cols, values, x, out)
        x, out = out, x
    return x


@driver
def rows_sampled(slot: slots.Slot, crows: Any, cols: Any, x: Any, y: Any) -> Any:
    """What the sampled product leaves in an array that held other numbers before."""
    crows, cols, x, y = _arrays(crows, cols, x, y)
    out = np.full(cols.size, 7.5, x.dtype)
    slot.placed(kernels.sparse.cuts(crows), crows, cols, x, y, out)
    return out


@driver(answer=lambda *_: [THE_VALUE, [gradient_of("values"), gradient_of("x")]])
def rows_product(slot: slots.Slot, crows: Any, cols: Any, width: int, values: Any, x: Any, g: Any) -> Any:
    """(value, gradient of the values, gradient of x) of the body of the product of a sparse and a dense matrix."""
    rows = Rows(crows.numpy(), cols.numpy(), (len(crows) - 1, width))
    result = slot.placed(values, x, rows)
    if type(result) is not tuple or len(result) != 2 or type(result[1]) is not tuple or len(result[1]) != 2:
        raise TypeError(
            "the body gives back (value, (gradient of the values, gradient of x)), two functions of g"
        )
    value, pulls = result
    return value, [pull(g) for pull in pulls]


def _factors(
    indices: Any, values: Any, shape: list[int], x: Any, compressed: bool = False
) -> tuple[Any, Any, Any]:
    v, dense = (sampan.to_tensor(part, stop_gradient=False) for part in (values, x))
    matrix = sparse.sparse_coo_tensor(sampan.to_tensor(indices), v, shape)
    return v, dense, matrix.to_sparse_csr() if compressed else matrix


@driver(answer=lambda *_: [THE_VALUE, [gradient_of("values"), gradient_of("x")]])
def sparse_matmul(
    slot: slots.Slot, indices: Any, values: Any, shape: list[int], x: Any, g: Any, compressed: bool = False
) -> Any:
    """(value, [gradient of the values, gradient of x]) of the library's product: whatever the slot is, it is used.
    `indices` [2, entries] in any order, also repeated. compressed: as compressed rows."""
    v, dense, matrix = _factors(indices, values, shape, x, compressed)
    value = sparse.matmul(matrix, dense)
    value.backward(sampan.to_tensor(g))
    return value, [v.grad, dense.grad]


@driver(answer=lambda *_: [gradient_of("values"), gradient_of("x")])
def sparse_matmul_twice(slot: slots.Slot, indices: Any, values: Any, shape: list[int], x: Any, g: Any) -> Any:
    """Gradients, by the values and x, of the sum of the squares of both first gradients: second derivatives."""
    v, dense, matrix = _factors(indices, values, shape, x)
    value = sparse.matmul(matrix, dense)
    first: Any = sampan.grad(value, [v, dense], sampan.to_tensor(g), create_graph=True)
    return sampan.grad((first[0] * first[0]).sum() + (first[1] * first[1]).sum(), [v, dense])


@driver
def places_near(slot: slots.Slot, places: Any, offsets: Any, shape: list[int]) -> Any:
    """The table of neighbours."""
    return np.asarray(slot.placed(places.numpy(), offsets.numpy(), tuple(shape)))


@driver(answer=lambda *_: [THE_VALUE, [gradient_of("features"), gradient_of("weight")]])
def submanifold(
    slot: slots.Slot, places: Any, features: Any, shape: list[int], weight: Any, dilation: int, g: Any
) -> Any:
    """(value, [gradient of the features, gradient of the weight]) of the library's submanifold convolution, at the
    entries: places [1 + axes, entries], features [entries, in], weight [kernel ..., in, out], two axes or three."""
    f, w = (sampan.to_tensor(part, stop_gradient=False) for part in (features, weight))
    x = sparse.SparseTensor(Coo(places, tuple(shape), True), f)
    run = sparse.nn.functional.subm_conv2d if len(shape) == 3 else sparse.nn.functional.subm_conv3d
    value = run(x, w, dilation=dilation).values()
    value.backward(sampan.to_tensor(g))
    return value, [f.grad, w.grad]


@numba.njit(cache=True)
def rows_by_columns(crows: Any, cols: Any, values: Any, x: Any, out: Any) -> None:
    """The product as a textbook has it, number by number: what notebook 05's loop is raced against, by the grader."""
    for r in range(crows.size - 1):
        for j in range(x.shape[1]):
            total = out.dtype.type(0)
            for e in range(crows[r], crows[r + 1]):
                total += values[e] * x[cols[e], j]
            out[r, j] = total
