"""Products of sparse matrices, beside SciPy."""

from unittest import mock

import numpy as np
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import sparse
from sampan.kernels import cpu_sparse_products
from tests.sparse.drawn import examples


@settings(examples, max_examples=25)
@given(st.data(), st.sampled_from([(1 << 16, 1 << 26), (100, 200)]))
def test_products_of_sparse_matrices_are_those_of_scipy(data, sizes):
    """Rows from empty to full, second matrices up to 1e6 columns wide, and values that cancel but keep their place."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows, inner, columns = (
        data.draw(st.sampled_from(n)) for n in ([0, 1, 40], [1, 3, 60], [1, 63, 64, 65, 5000, 10**6])
    )

    def drawn(shape, count):
        values = rng.integers(-2, 3, count).astype(np.float32)  # sums of these are exact, and often 0
        places = [rng.integers(0, max(n, 1), count if min(shape) else 0) for n in shape]
        return scipy.sparse.coo_matrix((values[: len(places[0])], places), shape).tocsr()

    a, b = (
        drawn((rows, inner), data.draw(st.integers(0, 300))),
        drawn((inner, columns), data.draw(st.integers(0, 900))),
    )
    x, y = (
        sparse.sparse_csr_tensor(m.indptr, m.indices, m.data, m.shape, stop_gradient=False) for m in (a, b)
    )
    ones = [scipy.sparse.csr_matrix((np.ones_like(m.data), m.indices, m.indptr), m.shape) for m in (a, b)]
    everywhere = ones[0] @ ones[1]  # SciPy itself leaves out what cancels
    everywhere.sort_indices()

    def at(matrix, places):
        rows = np.repeat(np.arange(places.shape[0]), np.diff(places.indptr))
        return np.asarray(matrix.tocsr()[rows, places.indices]).ravel() if places.nnz else np.zeros(0)

    with mock.patch.multiple(cpu_sparse_products, PART=sizes[0], SCRATCH=sizes[1]):
        out = x @ y
    assert np.array_equal(out.crows().numpy(), everywhere.indptr)
    assert np.array_equal(out.cols().numpy(), everywhere.indices)
    assert np.array_equal(out.values().numpy(), at(a @ b, everywhere))
    g = everywhere.copy()
    g.data = rng.integers(-2, 3, g.nnz).astype(np.float32)
    out.values().backward(sampan.to_tensor(g.data))
    assert np.array_equal(x.grad.values().numpy(), at(g @ b.T, a))
    assert np.array_equal(y.grad.values().numpy(), at(a.T @ g, b))
