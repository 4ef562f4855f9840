"""In which order entries stay: as they came, unless a place repeats; and what of a sparse tensor is a Tensor's."""

import numpy as np
import pytest

import sampan
from sampan import sparse

F = sparse.nn.functional
PLACES = np.array([[3, 0, 1, 0], [2, 4, 0, 1]])
VALUES = np.array([1.0, -2.0, 3.0, 0.5])


def loose(places=PLACES, values=VALUES):
    return sparse.sparse_coo_tensor(places, values, [4, 5], stop_gradient=False)


def whole(x):
    return x.to_dense().numpy()


@pytest.mark.parametrize(
    "function",
    [sparse.sin, F.relu, F.softmax, lambda x: x * 3, lambda x: x / 2, lambda x: x + x, lambda x: x * x],
)
def test_entries_stay_where_they_were_and_mean_what_the_ordered_ones_mean(function):
    found, ordered = function(loose()), function(loose().coalesce())
    assert found.indices().tolist() == PLACES.tolist()
    assert np.allclose(whole(found), whole(ordered))
    x, y = loose(), loose()
    weights = np.arange(20.0).reshape(4, 5)
    (function(x).to_dense() * sampan.to_tensor(weights)).sum().backward()
    (function(y.coalesce()).to_dense() * sampan.to_tensor(weights)).sum().backward()
    assert np.allclose(x.grad.values().numpy(), y.grad.values().numpy())


def test_products_masks_and_turning_keep_the_order():
    a, b = np.random.default_rng(0).standard_normal((2, 4, 5))
    product = sparse.masked_matmul(sampan.to_tensor(a), sampan.to_tensor(b.T), sparse.sparse_coo_tensor([[3, 0], [0, 1]], [1.0, 1.0], [4, 4]))  # fmt: skip
    assert product.indices().tolist() == [[3, 0], [0, 1]]
    assert np.allclose(product.values().numpy(), (a @ b.T)[[3, 0], [0, 1]])
    masked = sparse.mask_as(sampan.to_tensor(a), loose())
    assert np.allclose(masked.values().numpy(), a[tuple(PLACES)])
    assert sparse.transpose(loose().coalesce(), [1, 0]).indices().tolist() == [[1, 4, 0, 2], [0, 0, 1, 3]]


def test_layers_of_channels_keep_the_order():
    x = sparse.sparse_coo_tensor(
        [[1, 0, 0], [0, 1, 0], [1, 1, 0]], [[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]], [2, 2, 2, 2]
    )
    for layer in (sparse.nn.BatchNorm(2), sparse.nn.SyncBatchNorm(2), sparse.nn.Linear(2, 3)):
        out, ordered = layer(x), layer(x.coalesce())
        assert out.indices().tolist() == x.indices().tolist()
        assert np.allclose(whole(out), whole(ordered), atol=1e-6)
    assert np.allclose(F.global_avg_pool(x).numpy(), [[3.5, 2.0], [1.0, 2.0]])


def test_places_that_repeat_are_added_up_first():
    twice = loose(np.concatenate([PLACES, PLACES[:, :1]], 1), np.append(VALUES, 1.0))
    expected = np.zeros((4, 5))
    np.add.at(expected, tuple(PLACES), VALUES)
    expected[3, 2] = 2.0
    assert np.allclose(whole(sparse.square(twice)), expected**2)
    assert np.allclose(whole(twice * twice), expected**2)


def test_a_bias_is_added_to_the_entries_alone_and_has_a_gradient():
    x = sparse.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], [3, 2], stop_gradient=False)
    bias = sampan.to_tensor([10.0, 20.0], stop_gradient=False)
    y = sparse.add(x, bias)
    assert y.values().tolist() == [[11.0, 22.0], [13.0, 24.0]] and y.indices().tolist() == [[2, 0]]
    y.values().sum().backward()
    assert bias.grad.tolist() == [2.0, 2.0] and x.grad.values().tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_hook_sees_and_replaces_a_sparse_gradient():
    x = loose()
    y = sparse.square(x)
    seen = []
    handle = y.register_hook(lambda g: seen.append(g) or g * 2)
    y.retain_grads()  # after the hook: what is kept is what it gave
    y.values().sum().backward()
    assert seen[0].indices().tolist() == PLACES.tolist() and y.grad.values().tolist() == [2.0] * 4
    assert x.grad.values().tolist() == (4 * VALUES).tolist() and np.allclose(x.gradient(), whole(x.grad))
    assert handle.remove() and not handle.remove()
    x.grad = None
    assert x.grad is None and x.gradient() is None


def test_a_given_tensor_of_values_gets_the_gradient():
    values = sampan.to_tensor([1.0, 2.0])
    x = sparse.sparse_csr_tensor([0, 1, 2], [1, 0], values, [2, 2], stop_gradient=False)
    sparse.square(x).values().sum().backward()
    assert values.grad.tolist() == [2.0, 4.0] and not values.stop_gradient


def test_an_empty_tensor_and_one_of_half_precision_are_printed():
    none = sparse.sparse_coo_tensor(np.empty((2, 0), int), np.empty(0), [2, 2])
    assert "values=[]" in repr(none)
    half = loose().astype("bfloat16")
    assert "dtype=paddle.bfloat16" in repr(half) and "-2." in repr(half)


def test_batches_are_seen_by_crows_that_decrease():
    x = sparse.sparse_csr_tensor([0, 1, 2, 0, 0, 1], [1, 0, 2], [1.0, 2.0, 3.0])
    assert x.shape == [2, 2, 3]
    assert x.to_dense().tolist() == [[[0, 1, 0], [2, 0, 0]], [[0, 0, 0], [0, 0, 3]]]
    with pytest.raises(ValueError, match="crows"):
        sparse.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0])


def test_a_sparse_tensor_is_a_tensor():
    assert (
        sampan.is_tensor(loose()) and sampan.is_tensor(loose().to_sparse_csr()) and not sampan.is_tensor([1])
    )
    assert (
        sampan.sparse.unary.sin is sparse.sin
        and sampan.sparse.creation.sparse_coo_tensor is sparse.sparse_coo_tensor
    )
