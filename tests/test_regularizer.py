"""L1 decay, and a parameter's own regularizer."""

import numpy as np

import sampan as paddle
from sampan import nn, optimizer
from sampan.regularizer import L1Decay, L2Decay


def test_l1_decay_and_a_parameters_own_regularizer():
    parameter, own = (
        nn.Parameter(np.array([2.0, -3.0, 0.0])),
        nn.Parameter(np.array([2.0]), regularizer=L2Decay(0.5)),
    )
    optim = optimizer.SGD(0.1, [parameter, own], weight_decay=L1Decay(0.5))
    parameter.grad, own.grad = paddle.zeros([3], "float64"), paddle.zeros([1], "float64")
    optim.step()
    np.testing.assert_allclose(parameter.numpy(), [1.95, -2.95, 0.0])
    np.testing.assert_allclose(own.numpy(), [1.9])
