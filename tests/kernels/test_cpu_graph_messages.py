"""The loops over received messages beside NumPy, with any number of threads, and their twins for a GPU."""

import numba
import numpy as np
import pytest
import torch

from sampan.kernels import cpu_graph_messages as loops
from sampan.kernels import cuda_graph
from sampan.kernels.cpu_sparse_structure import cuts

HEIGHT, WIDTH = 700, 300


def edges_of(count: int):
    """(starts, columns, edge numbers in any order) of rows of which some are empty."""
    rng = np.random.default_rng(count)
    rows = np.sort(rng.integers(0, HEIGHT, count) // 3 * 3)
    starts = np.searchsorted(rows, np.arange(HEIGHT + 1)).astype(np.int32)
    return (
        starts,
        rows,
        rng.integers(0, WIDTH, count).astype(np.int32),
        rng.permutation(count).astype(np.int32),
    )


def drawn(*shape: int, dtype: str = "float64"):
    values = np.random.default_rng(len(shape)).normal(size=shape)
    return (values * 3).astype(dtype)


CALLS = {  # name -> (the loop's arrays after cuts and starts, the shape of the result, NumPy's answer)
    "row_max": lambda rows, cols, edges, k: _extreme(rows, cols, k, np.maximum),
    "row_min": lambda rows, cols, edges, k: _extreme(rows, cols, k, np.minimum),
    "equal_sums": lambda rows, cols, edges, k: _equal(rows, cols, k),
    "head_sums": lambda rows, cols, edges, k: _head_sums(rows, cols, edges, k),
    "head_dots": lambda rows, cols, edges, k: _head_dots(rows, cols, edges, k),
    "edge_softmax": lambda rows, cols, edges, k: _softmax(rows, edges, k),
    "edge_softmax_back": lambda rows, cols, edges, k: _softmax_back(rows, edges, k),
}


def _extreme(rows, cols, k, ufunc):
    x = drawn(WIDTH, k)
    first = -np.inf if ufunc is np.maximum else np.inf
    expected = np.full((HEIGHT, k), first)
    ufunc.at(expected, rows, x[cols])
    expected[np.isinf(expected)] = 0
    return (cols, x), expected


def _equal(rows, cols, k):
    x, y, g = drawn(HEIGHT, k).round(), drawn(WIDTH, k).round(), drawn(WIDTH, k)
    expected = np.zeros((HEIGHT, k))
    np.add.at(expected, rows, np.where(x[rows] == y[cols], g[cols], 0))
    return (cols, x, y, g), expected


def _head_sums(rows, cols, edges, k):
    weights, x = drawn(edges.size, 3), drawn(WIDTH, 3, k)
    expected = np.zeros((HEIGHT, 3, k))
    np.add.at(expected, rows, weights[edges][..., None] * x[cols])
    return (cols, edges, weights, x), expected


def _head_dots(rows, cols, edges, k):
    x, y = drawn(HEIGHT, 3, k), drawn(WIDTH, 3, k)
    expected = np.empty((edges.size, 3))
    expected[edges] = (x[rows] * y[cols]).sum(-1)
    return (cols, edges, x, y), expected


def _softmax(rows, edges, k):
    values = drawn(edges.size, k)
    raised, expected = np.exp(values[edges]), np.empty_like(values)
    totals = np.zeros((HEIGHT, k))
    np.add.at(totals, rows, raised)
    expected[edges] = raised / totals[rows]
    return (edges, values), expected


def _softmax_back(rows, edges, k):
    y, g = drawn(edges.size, k), drawn(edges.size, k)[::-1].copy()
    expected, means = np.empty_like(y), np.zeros((HEIGHT, k))
    np.add.at(means, rows, (y * g)[edges])
    expected[edges] = y[edges] * (g[edges] - means[rows])
    return (edges, y, g), expected


@pytest.mark.parametrize("k", [1, 4, 37])
@pytest.mark.parametrize("count", [0, 5, 30_000])
@pytest.mark.parametrize("name", CALLS)
def test_loops_and_their_twins_give_numpy_s_answer(name, count, k):
    starts, rows, cols, edges = edges_of(count)
    given, expected = CALLS[name](rows, cols, edges, k)
    found = np.full_like(expected, np.nan)
    getattr(loops, name)(cuts(starts), starts, *given, found)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    out = torch.full(expected.shape, torch.nan, dtype=torch.float64)
    buffers = [torch.from_numpy(a) for a in (starts, starts, *given)]
    getattr(cuda_graph, name)(*buffers, out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_no_result_depends_on_the_number_of_threads(name):
    starts, rows, cols, edges = edges_of(60_000)
    given, expected = CALLS[name](rows, cols, edges, 8)
    given = [a.astype(np.float32) if a.dtype == np.float64 else a for a in given]
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            found.append(np.empty(expected.shape, np.float32))
            getattr(loops, name)(cuts(starts), starts, *given, found[-1])
    finally:
        numba.set_num_threads(before)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 3, 400_000])
def test_differ_finds_one_number(count, kind):
    owned = np.random.default_rng(0).integers(0, 100, count).astype(np.int32)
    assert not loops.differ(owned, owned.astype(kind))
    for place in {0, count // 2, count - 1} if count else ():
        other = owned.astype(kind)
        other[place] += 1
        assert loops.differ(owned, other)


def test_a_softmax_of_large_numbers_stays_finite():
    starts, edges = np.array([0, 3], np.int32), np.arange(3, dtype=np.int32)
    values, out = np.array([[1e4], [1e4], [-1e4]], np.float32), np.empty((3, 1), np.float32)
    loops.edge_softmax(cuts(starts), starts, edges, values, out)
    np.testing.assert_allclose(out.ravel(), [0.5, 0.5, 0], atol=1e-30)
