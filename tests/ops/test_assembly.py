"""Arrays made of smaller ones, against NumPy and SciPy, with their gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import sampan as paddle


def test_block_diagonal() -> None:
    arrays = [np.array([[1.0, 2.0]]), np.array([3.0]), np.array(4.0), np.zeros((0, 2))]
    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    found = paddle.block_diag(tensors)
    expected = scipy.linalg.block_diag(arrays[0], [[3.0]], [[4.0]], np.zeros((0, 2)))
    np.testing.assert_array_equal(found.numpy(), expected)
    (found * found).sum().backward()
    for tensor, a in zip(tensors, arrays, strict=True):
        np.testing.assert_array_equal(tensor.grad.numpy(), 2 * a)
    with pytest.raises(ValueError, match="one dtype"):
        paddle.block_diag([paddle.ones([1]), paddle.ones([1], "int64")])


def test_cartesian_products() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (a, b))
    found = paddle.cartesian_prod([x, y])
    assert found.tolist() == [list(pair) for pair in itertools.product(a, b)]
    found.sum().backward()
    assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [2, 2, 2]
    assert paddle.cartesian_prod([x]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="vectors"):
        paddle.cartesian_prod([paddle.ones([2, 2])])


def test_combinations() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    for r in (1, 2, 3):
        assert paddle.combinations(paddle.to_tensor(values), r).tolist() == [
            list(c) for c in itertools.combinations(values, r)
        ]
    assert paddle.combinations(paddle.ones([2]), 4).shape == [0, 4]
    assert paddle.combinations(paddle.ones([2]), 0).shape == [0]
    for bad, kind in ((-1, ValueError), (1.5, ValueError)):
        with pytest.raises(kind, match="r must be"):
            paddle.combinations(paddle.ones([3]), bad)
    with pytest.raises(TypeError, match="vector"):
        paddle.combinations(paddle.ones([2, 2]))


def test_vander() -> None:
    for values in ([1.0, 2.0, 3.0], [1, 2, 3], [1 + 1j, 0]):
        for n, increasing in itertools.product((None, 0, 1, 4), (False, True)):
            found = paddle.vander(paddle.to_tensor(np.array(values)), n, increasing)
            np.testing.assert_allclose(found.numpy(), np.vander(np.array(values), n, increasing))
    with pytest.raises(ValueError, match="n must not be negative"):
        paddle.vander(paddle.ones([2]), -1)


def test_diagonals_of_lists_and_scalars() -> None:
    assert paddle.diag_embed([1.0, 2.0]).tolist() == [[1, 0], [0, 2]]
    assert paddle.diagflat(paddle.to_tensor(3.0), 1).tolist() == [[0, 3], [0, 0]]


def test_multiplex() -> None:
    a, b = (
        paddle.to_tensor(v, stop_gradient=False) for v in ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
    )
    index = paddle.to_tensor([[1], [0]], dtype="int32")
    found = paddle.multiplex([a, b], index)
    assert found.tolist() == [[5, 6], [3, 4]]
    found.sum().backward()
    assert a.grad.tolist() == [[0, 0], [1, 1]] and b.grad.tolist() == [[1, 1], [0, 0]]
    with pytest.raises(ValueError, match="index must be from 0 to 1"):
        paddle.multiplex([a, b], index + 1)
    with pytest.raises(ValueError, match="at least two"):
        paddle.multiplex([a], index)
