"""Transpose, reshape, slice, concat, sums, masks, softmax and layers of sparse tensors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from tests.sparse.drawn import coordinates, examples, matrices, pair


def made(drawn, **more):
    indices, values, shape = drawn
    return sparse.sparse_coo_tensor(indices, values, shape, **more)


@examples
@given(coordinates(), st.randoms())
def test_transpose(drawn, random):
    x = made(drawn)
    lead = list(range(x.sparse_dim()))
    random.shuffle(lead)
    perm = [*lead, *range(x.sparse_dim(), x.ndim)]
    assert np.allclose(sparse.transpose(x, perm).numpy(), x.numpy().transpose(perm))
    assert np.allclose(sparse.transpose(x.coalesce(), perm).numpy(), x.numpy().transpose(perm))


@examples
@given(coordinates(dense=(0, 0)), st.integers(0, 1))
def test_reshape(drawn, flat):
    x = made(drawn)
    total = int(np.prod(x.shape))
    shape = [-1] if flat and total else [1, total, 1]
    assert np.allclose(
        sparse.reshape(x, shape).numpy(), x.numpy().reshape([total] if flat and total else shape)
    )


@examples
@given(coordinates(), st.integers(-6, 6), st.integers(-6, 6))
def test_slice(drawn, start, end):
    x = made(drawn)
    assert np.allclose(sparse.slice(x, [0], [start], [end]).numpy(), x.numpy()[start:end])


@examples
@given(coordinates(), st.booleans(), st.data())
def test_sum(drawn, keepdim, data):
    x = made(drawn, stop_gradient=False)
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1))
    value = sparse.sum(x, axes, keepdim=keepdim)
    expected = x.numpy().sum(tuple(axes), keepdims=keepdim)
    whole = set(range(x.sparse_dim())) <= set(axes) and not keepdim
    assert np.allclose(value.numpy(), expected[None] if whole else expected)
    value.values().sum().backward()
    assert np.allclose(x.grad.values().numpy(), 1)


def test_sums_have_the_shapes_of_paddle():
    x = pair(np.array([[0.0, 1.0], [2.0, 0.0]]))[0]
    assert sparse.sum(x).shape == [1] and sparse.sum(x).values().tolist() == [3]
    assert sparse.sum(x.to_sparse_csr(), -1).shape == [2, 1]
    assert sparse.sum(x, 0).shape == [2] and sparse.sum(x, 1, keepdim=True).shape == [2, 1]
    assert sparse.sum(x.astype("int32")).dtype == torch.int64
    with pytest.raises(ValueError, match="summed over the last axis or all, got 0"):
        sparse.sum(x.to_sparse_csr(), 0)


@examples
@given(st.data(), st.sampled_from(["coo", "csr"]), st.integers(0, 1))
def test_concat(data, layout, axis):
    a = data.draw(matrices())
    b = data.draw(matrices(columns=a.shape[1]) if axis == 0 else matrices(rows=a.shape[0]))
    joined = sparse.concat([pair(a, layout)[0], pair(b, layout)[0]], axis)
    assert np.array_equal(joined.numpy(), np.concatenate([a, b], axis))
    assert joined.is_sparse_csr() == (layout == "csr") and joined.is_coalesced()


def test_a_mask_takes_entries_of_a_dense_tensor():
    mask = pair(np.array([[0.0, 1.0], [2.0, 0.0]]))[0]
    x = sampan.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    for m in (mask, mask.to_sparse_csr()):
        x.clear_grad(False)
        taken = sparse.mask_as(x, m)
        assert taken.values().tolist() == [2, 3]
        (taken.values() ** 2).sum().backward()
        assert x.grad.tolist() == [[0, 4], [6, 0]]
    assert sparse.is_same_shape(mask, x) and not sparse.is_same_shape(mask, sampan.ones([2]))


def test_dense_axes_are_sliced_and_have_a_softmax_too():
    x = made((np.array([[0, 0, 1], [0, 2, 1]]), np.arange(12.0).reshape(3, 4), [2, 3, 4]))
    x.stop_gradient = False
    taken = sparse.slice(x, [1, 2], [0, -3], [2, 3])
    assert taken.shape == [2, 2, 2] and np.allclose(taken.numpy(), x.numpy()[:, 0:2, -3:3])
    (taken.values() ** 2).sum().backward()
    expected = np.zeros((2, 3, 4))
    expected[:, 0:2, -3:3] = 2 * x.numpy()[:, 0:2, -3:3]
    assert np.allclose(x.grad.numpy(), expected)
    rows = torch.from_numpy(x.values().numpy())
    assert np.allclose(sparse.nn.functional.softmax(x).values().numpy(), rows.softmax(-1))


def test_sums_keep_int32_along_sparse_axes_as_paddle_does():
    x = made((np.array([[0, 1], [1, 1]]), np.array([3, 4], "int32"), [2, 2]))
    assert sparse.sum(x, 0).dtype == torch.int32 and sparse.sum(x).dtype == torch.int64
    assert sparse.sum(x.astype("bool"), 0).values().tolist() == [2]
    assert sparse.sum(x.to_sparse_csr()).shape == [1, 1]


def test_what_cannot_be_moved_is_refused():
    x = made((np.array([[0], [1]]), np.array([[1.0, 2.0]]), [2, 2, 2]))
    for call, message in [
        (
            lambda: sparse.transpose(x, [2, 1, 0]),
            "perm: expected an order of 3 axes, the 2 sparse ones first",
        ),
        (lambda: sparse.reshape(x, [8]), r"shape: expected 4 places followed by the dense lengths \[2\]"),
        (lambda: sparse.slice(x, [3], [0], [1]), "axes: expected -3 to 2, got 3"),
        (lambda: sparse.slice(x, [0, 1], [0], [1]), "expected one length, got 2, 1, 1"),
        (lambda: sparse.concat([]), "x: expected one tensor or more"),
        (lambda: sparse.concat([x, pair(np.eye(2))[0]]), "x: expected equal lengths but along sparse axis 0"),
        (lambda: sparse.sum(x, 3), "axis: expected -3 to 2, got 3"),
        (lambda: sparse.mask_as(sampan.ones([3]), x), r"mask: expected x's shape \[3\]"),
        (lambda: sparse.nn.functional.softmax(pair(np.eye(2), "csr")[0], 0), "along the last axis, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
