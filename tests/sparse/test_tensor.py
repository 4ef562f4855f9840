"""Making sparse tensors, their layouts, and what is refused."""

import numpy as np
import scipy.sparse
import torch
from hypothesis import given

import sampan
from sampan import sparse
from tests.sparse.drawn import coordinates, dense_of, examples, matrices


@examples
@given(coordinates())
def test_coordinates_mean_what_numpy_adds_up(drawn):
    indices, values, shape = drawn
    x = sparse.sparse_coo_tensor(indices, values, shape)
    assert x.shape == shape and x.nnz() == indices.shape[1] and x.dtype == torch.float64
    assert np.allclose(x.to_dense().numpy(), dense_of(indices, values, shape))


@examples
@given(coordinates())
def test_coalesced_entries_ascend_are_single_and_mean_the_same(drawn):
    indices, values, shape = drawn
    x = sparse.sparse_coo_tensor(indices, values, shape)
    once = x.coalesce()
    places = [tuple(column) for column in once.indices().numpy().T]
    assert once.is_coalesced() and places == sorted(set(places)) == sorted({tuple(c) for c in indices.T})
    assert np.allclose(once.to_dense().numpy(), x.to_dense().numpy())
    assert once.coalesce().pattern is once.pattern


@examples
@given(coordinates())
def test_the_gradient_of_coalescing_goes_to_every_entry_of_its_place(drawn):
    indices, values, shape = drawn
    x = sparse.sparse_coo_tensor(indices, values, shape, stop_gradient=False)
    weight = np.random.default_rng(0).standard_normal(shape)
    (x.coalesce().to_dense() * sampan.to_tensor(weight)).sum().backward()
    expected = weight[tuple(indices)] if indices.shape[1] else values
    assert np.allclose(x.grad.values().numpy(), expected)


@examples
@given(matrices())
def test_the_layouts_hold_the_same_matrix(array):
    x = sampan.to_tensor(array)
    coo, csr = x.to_sparse_coo(2), x.to_sparse_csr()
    for other in (coo, csr, coo.to_sparse_csr(), csr.to_sparse_coo()):
        assert np.array_equal(other.to_dense().numpy(), array)
    theirs = scipy.sparse.csr_matrix(array)
    assert csr.crows().tolist() == theirs.indptr.tolist()
    assert csr.cols().tolist() == theirs.indices.tolist()
    assert csr.values().tolist() == theirs.data.tolist()


def test_a_batch_of_matrices_has_its_rows_one_after_the_other():
    x = sampan.arange(8.0).reshape([2, 2, 2]).to_sparse_csr()
    assert x.crows().tolist() == [0, 1, 3, 0, 2, 4]  # as PaddlePaddle 3.3.1
    assert x.cols().tolist() == [1, 0, 1, 0, 1, 0, 1]
    assert x.to_dense().tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    again = sparse.sparse_csr_tensor(x.crows(), x.cols(), x.values(), [2, 2, 2])
    assert again.to_dense().tolist() == x.to_dense().tolist()


def test_a_dense_axis_keeps_zeros_beside_what_is_not():
    x = sampan.arange(8.0).reshape([2, 2, 2]).to_sparse_coo(2)
    assert x.indices().tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert x.values().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert (x.sparse_dim(), x.dense_dim()) == (2, 1)


def test_columns_that_do_not_ascend_are_sorted_with_their_values():
    x = sparse.sparse_csr_tensor([0, 3, 3], [2, 0, 2], [1.0, 2.0, 3.0], [2, 3], stop_gradient=False)
    assert x.to_dense().tolist() == [[2, 0, 4], [0, 0, 0]]
    assert x.cols().tolist() == [0, 2] and x.values().tolist() == [2, 4]


def test_gradients_reach_the_dense_tensor_that_it_was_made_from():
    x = sampan.to_tensor([[0.0, 1.0], [2.0, 0.0]], stop_gradient=False)
    y = sparse.sin(x.to_sparse_coo(2))
    y.backward(y)
    expected = [[0, np.sin(1) * np.cos(1)], [np.sin(2) * np.cos(2), 0]]
    assert np.allclose(x.grad.numpy(), expected)  # PaddlePaddle 3.3.1: 0.45464867, -0.37840125


def test_values_keep_their_place_on_the_tape():
    values = sampan.to_tensor([1.0, 2.0], stop_gradient=False)
    x = sparse.sparse_coo_tensor([[0, 1], [1, 0]], values, [2, 2], stop_gradient=False)
    sparse.sin(x).to_dense().sum().backward()
    assert np.allclose(values.grad.numpy(), np.cos([1, 2]))
    assert x.grad.nnz() == 2 and np.allclose(x.grad.values().numpy(), np.cos([1, 2]))
    x.clear_grad(False)
    assert x.grad is None


def test_printing_shows_places_and_values():
    x = sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    text = repr(x)
    assert "shape=[2, 2]" in text and "indices=[[0, 1]," in text and "values=[1., 2.]" in text
    assert "crows=[0, 1, 2]" in repr(x.to_sparse_csr())
