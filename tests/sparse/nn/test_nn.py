"""Layers over entries."""

import numpy as np
import pytest

import sampan
from sampan import sparse
from tests.sparse.drawn import pair


def made(drawn, **more):
    indices, values, shape = drawn
    return sparse.sparse_coo_tensor(indices, values, shape, **more)


def test_layers_over_entries():
    x = made((np.array([[0, 0, 1], [0, 2, 1]]), np.array([[1.0, -2.0], [3.0, 8.0], [-1.0, 0.5]]), [2, 3, 2]))
    layers = sparse.nn
    assert layers.ReLU()(x).values().tolist() == [[1, 0], [3, 8], [0, 0.5]]
    assert layers.ReLU6()(x).values().tolist() == [[1, 0], [3, 6], [0, 0.5]]
    assert np.allclose(layers.LeakyReLU(0.1)(x).values().numpy(), [[1, -0.2], [3, 8], [-0.1, 0.5]])
    for kind in (layers.BatchNorm, layers.SyncBatchNorm):
        norm = kind(2).astype("float64")
        values = norm(x).values().numpy()
        assert np.allclose(values.mean(0), 0) and np.allclose(values.var(0), 1, atol=1e-4)
        assert {"weight", "bias", "_mean", "_variance"} == set(norm.state_dict())
    with pytest.raises(ValueError, match="expected the channels as the one dense axis"):
        layers.BatchNorm(2)(pair(np.eye(2))[0])


def test_layers_become_synchronised_with_what_they_know():
    net = sampan.nn.Sequential(sparse.nn.BatchNorm(2), sparse.nn.ReLU())
    x = made((np.array([[0, 0, 1], [0, 2, 1]]), np.arange(6.0).reshape(3, 2).astype("float32"), [2, 3, 2]))
    net(x)
    net.eval()
    before = net(x).values().numpy()
    changed = sparse.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(changed[0], sparse.nn.SyncBatchNorm) and changed[0].weight is net[0].weight
    assert np.array_equal(changed(x).values().numpy(), before)
