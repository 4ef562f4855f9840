"""Making sparse tensors, their layouts, and what is refused."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from sampan.kernels import cpu_sparse_structure
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
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1 << 18, 2048), (100, 40), (7, 1)]))
def test_entries_are_grouped_in_the_order_they_came(seed, sizes):
    """Whatever buckets and chunks they are sorted by, into few rows or many, over few columns or 2^31."""
    rng = np.random.default_rng(seed)
    height, width, count = (
        rng.choice([1, 9, 2000, 10**6]),
        rng.choice([1, 300, 2**31 - 1]),
        rng.integers(0, 400),
    )
    rows, cols = rng.integers(0, height, count), rng.integers(0, width, count)
    with mock.patch.multiple(cpu_sparse_structure, CHUNK=sizes[0], BUCKET=sizes[1]):
        crows, found, (starts, order) = cpu_sparse_structure.grouped(rows, cols, int(height))
    keys = rows * 2**31 + cols
    stable = np.argsort(keys, kind="stable")
    unique, first = np.unique(keys[stable], return_index=True)
    assert np.array_equal(order, stable) and np.array_equal(starts, np.append(first, count))
    assert np.array_equal(found, unique % 2**31)
    assert np.array_equal(crows, np.searchsorted(unique >> 31, np.arange(height + 1)))


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 3], [1, 0]], [1.0, 2.0], [2, 2]), r"indices\[0, 1\]: expected 0 to 1, .* got 3"),
        (([[0, -1]], [1.0, 2.0], [3]), r"indices\[0, 1\]: .* got -1"),
        (([[0, 1], [1, 0]], [1.0], [2, 2]), r"values: expected 2"),
        (([0, 1], [1.0, 2.0], [2]), r"indices: expected \[sparse axes, nnz\], got shape \[2\]"),
        (([[0, 1]], [1.0, 2.0], [1, 2]), r"shape: expected 1 sparse lengths"),
        (([[0]], [1.0], [-2]), r"shape: expected lengths of 0 or more"),
        ((np.empty((2, 0), int), np.empty(0)), r"shape: must be given"),
    ],
)
def test_malformed_coordinates_are_refused_by_place(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse.sparse_coo_tensor(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 2, 1], [0, 1], [1.0, 2.0], [2, 2]), r"crows\[2\]: expected 2 or more"),
        (([0, 1], [0, 1], [1.0, 2.0], [2, 2]), r"crows: expected 3 for shape \[2, 2\], got 2"),
        (([1, 1, 2], [0, 1], [1.0, 2.0], [2, 2]), r"crows: expected 0 at the start"),
        (
            ([0, 1, 3], [0, 1], [1.0, 2.0], [2, 2]),
            r"crows: expected to end at the number of entries, 2, got 3",
        ),
        (([0, 1, 2], [0, 2], [1.0, 2.0], [2, 2]), r"cols\[1\]: expected 0 to 1"),
        (([0, 1, 2], [0, 1], [1.0], [2, 2]), r"values: expected 2"),
        (([0, 1], [0], [1.0], [1]), r"shape: expected \[rows, columns\]"),
    ],
)
def test_malformed_rows_are_refused_by_place(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse.sparse_csr_tensor(*arguments)


def test_wrong_kinds_are_refused():
    x = sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    with pytest.raises(TypeError, match="indices: expected integers, got float"):
        sparse.sparse_coo_tensor([[0.5]], [1.0], [2])
    with pytest.raises(TypeError, match="expected a sparse tensor, got Tensor"):
        sparse.sin(sampan.ones([2]))
    with pytest.raises(ValueError, match="crows: expected a CSR tensor, got COO"):
        x.crows()
    with pytest.raises(ValueError, match="indices: expected a COO tensor, got CSR"):
        x.to_sparse_csr().indices()
    with pytest.raises(ValueError, match="sparse_dim: expected 1 to 2"):
        sampan.ones([2, 2]).to_sparse_coo(3)
