"""What is refused where a sparse tensor is made."""

import numpy as np
import pytest

import sampan
from sampan import sparse


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
