"""Parameters: a gradient or none, and which dtypes."""

import copy
import pickle

import numpy as np
import pytest

import sampan as paddle
from sampan import nn


def test_parameter_without_a_gradient():
    for free in (nn.Parameter(paddle.ones([2]), False), nn.Parameter(paddle.ones([2]), requires_grad=False)):
        assert free.stop_gradient and not free.trainable
        assert copy.deepcopy(free).stop_gradient and pickle.loads(pickle.dumps(free)).stop_gradient
    kept = nn.Parameter(paddle.ones([2]))
    assert not copy.deepcopy(kept).stop_gradient and not pickle.loads(pickle.dumps(kept)).stop_gradient
    assert nn.Parameter(np.array([1, 2]), requires_grad=False).dtype == paddle.int64


def test_parameter_refuses_integers():
    with pytest.raises(TypeError, match="floating"):
        nn.Parameter(np.array([1, 2]))


def test_a_parameter_from_a_tensor():
    x = paddle.ones([2])
    w = paddle.base.framework.EagerParamBase.from_tensor(x, trainable=False, name="w")
    assert isinstance(w, paddle.base.framework.EagerParamBase) and w.name == "w" and not w.trainable
    x[0] = 5.0
    assert w.tolist() == [5, 1]  # one memory, as in Paddle
    assert type(w).from_tensor(x).trainable
