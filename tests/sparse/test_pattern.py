"""A sparse tensor owns its indices: they cannot be written through another array, and are int32 or int64."""

import numpy as np
import pytest
import scipy.sparse
import torch

import sampan
from sampan import sparse

PLACES = np.array([[0, 1, 2, 2], [1, 2, 0, 3]])
CROWS, COLS = np.array([0, 1, 2, 4]), np.array([1, 2, 0, 3])
DENSE = np.array([[0, 1, 0, 0], [0, 0, 2, 0], [3, 0, 0, 4.0]], np.float32)
VALUES = np.array([1, 2, 3, 4.0], np.float32)


def memory(wrap, array):
    """(what is passed in, the array in whose memory it lies)"""
    array = array.copy()
    return wrap(array), array


def shared(array):
    return sampan.Tensor(torch.from_numpy(array))


@pytest.mark.parametrize("wrap", [lambda a: a, torch.from_numpy, shared])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_caller_may_overwrite_what_it_passed_in(wrap, kind):
    places, below = memory(wrap, PLACES.astype(kind))
    x = sparse.sparse_coo_tensor(places, VALUES, [3, 4])
    below[...] = 0
    assert x.to_dense().tolist() == DENSE.tolist()
    parts = [memory(wrap, part.astype(kind)) for part in (CROWS, COLS)]
    x = sparse.sparse_csr_tensor(parts[0][0], parts[1][0], VALUES, [3, 4])
    for _, below in parts:
        below[...] = 0
    assert x.to_dense().tolist() == DENSE.tolist()
    assert sparse.matmul(x, sampan.eye(4)).tolist() == DENSE.tolist()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")  # torch says once that it is in beta
def test_what_is_given_out_is_a_copy():
    coo, csr = sampan.to_tensor(DENSE).to_sparse_coo(2), sampan.to_tensor(DENSE).to_sparse_csr()
    for tensor in (coo.indices(), csr.crows(), csr.cols()):
        tensor.data.zero_()
    theirs, others = sparse.to_torch(coo), sparse.to_torch(csr)
    for buffer in (theirs._indices(), others.crow_indices(), others.col_indices()):
        buffer.zero_()
    matrix, rows = sparse.to_scipy(coo), sparse.to_scipy(csr)
    for array in (matrix.row, matrix.col, rows.indptr, rows.indices):
        array[...] = 0
    for x in (coo, csr):
        assert x.to_dense().tolist() == DENSE.tolist()


def test_what_others_made_is_copied():
    for matrix in (scipy.sparse.csr_matrix(DENSE), scipy.sparse.coo_matrix(DENSE)):
        x = sparse.from_scipy(matrix)
        for name in ("indptr", "indices") if matrix.format == "csr" else ("row", "col"):
            getattr(matrix, name)[...] = 0
        assert x.to_dense().tolist() == DENSE.tolist()
    for theirs in (torch.tensor(DENSE).to_sparse(), torch.tensor(DENSE).to_sparse_csr()):
        x = sparse.from_torch(theirs)
        parts = [theirs._indices()] if theirs.is_sparse else [theirs.crow_indices(), theirs.col_indices()]
        for part in parts:
            part.zero_()
        assert x.to_dense().tolist() == DENSE.tolist()


def test_a_flag_of_torch_is_not_believed():
    lies = torch.sparse_coo_tensor(
        PLACES[:, ::-1].copy(), VALUES[::-1].copy(), (3, 4), is_coalesced=True, check_invariants=False
    )
    x = sparse.from_torch(lies)
    assert not x.is_coalesced()
    assert sparse.matmul(x, sampan.eye(4)).tolist() == DENSE.tolist()
    assert sparse.from_torch(torch.tensor(DENSE).to_sparse()).is_coalesced()


def test_values_set_to_another_memory_are_refused():
    x = sampan.to_tensor(DENSE).to_sparse_coo(2)
    x.values().data = torch.zeros(1)
    for work in (
        lambda: sparse.matmul(x, sampan.eye(4)),
        lambda: x + sampan.to_tensor(DENSE[:, ::-1].copy()).to_sparse_coo(2),
    ):
        with pytest.raises(ValueError, match=r"expected 4"):
            work()


def test_lengths_that_int64_or_int32_cannot_number():
    with pytest.raises(ValueError, match=r"2\^63 - 1"):
        sparse.sparse_coo_tensor([[0], [1]], [1.0], [2**32, 2**32])
    with pytest.raises(ValueError, match="at most 2147483647"):
        sparse.sparse_csr_tensor([0, 1], [2**32], [1.0], [1, 2**33])
    with pytest.raises(TypeError, match="shape: expected integers"):
        sparse.sparse_coo_tensor([[0], [1]], [1.0], [2.5, 2.0])
    many = np.array([0, 2**62, 0, 2**62, 0, 2**62, 0, 2**62 + 1])  # together 1, where int64 overflows
    with pytest.raises(ValueError, match="expected to end at the number of entries, 1"):
        sparse.sparse_csr_tensor(many, [0], [1.0], [4, 1, 1])


def test_wide_matrices_are_added_where_they_are():
    far = 2**33 + 1  # in int32 it would be column 1
    x = sparse.sparse_coo_tensor([[0, 1], [1, far]], [1.0, 2.0], [2, 2**34])
    y = sparse.sparse_coo_tensor([[0, 1], [far, far]], [3.0, 4.0], [2, 2**34])
    total = x + y
    assert total.indices().tolist() == [[0, 0, 1], [1, far, far]]
    assert total.values().tolist() == [1, 3, 6]
    assert (x * y).values().tolist() == [0, 0, 8]
    with pytest.raises(ValueError, match="at most 2147483647"):
        sparse.matmul(x, sampan.ones([1, 1]).as_strided([2**34, 1], [0, 1]))


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_copied_in_place(layout):
    def make(array):
        return getattr(sampan.to_tensor(array), layout)(*[2] * layout.endswith("coo"))

    a, b = make(DENSE), make(DENSE[:2, :3].copy())
    a.stop_gradient = False
    assert a.copy_(a, True).to_dense().tolist() == DENSE.tolist()
    assert a.copy_(b, True) is a and not a.stop_gradient and b.stop_gradient
    b.values().data.zero_()
    assert a.shape == [2, 3] and a.to_dense().tolist() == DENSE[:2, :3].tolist()
    for other in (
        sampan.to_tensor(DENSE),
        make(DENSE.astype("float64")),
        make(DENSE).to_sparse_csr() if layout.endswith("coo") else make(DENSE).to_sparse_coo(),
    ):
        with pytest.raises(RuntimeError, match="copy_: expected"):  # as in Paddle
            a.copy_(other, False)
