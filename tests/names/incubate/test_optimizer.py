"""Numbers recorded from PaddlePaddle 3.3.1."""

import numpy as np
import pytest

import sampan as paddle
from sampan import incubate, nn, optimizer


def stepped(parameter, optim, i):
    parameter.grad = paddle.to_tensor(np.array([1.0, float(i)], "float32"))
    optim.step()


def test_average_over_two_windows():
    parameter = nn.Parameter(np.ones(2, "float32"))
    sgd = optimizer.SGD(0.1, [parameter])
    average = incubate.ModelAverage(0.15, [parameter], 2, 4)
    found = []
    for i in range(6):
        stepped(parameter, sgd, i)
        average.step()
        with average.apply():
            found.append(parameter.numpy().copy())
    expected = [[0.9, 1.0], [0.85, 0.95], [0.8, 0.8666667], [0.65, 0.55], [0.6, 0.3666667], [0.45, -0.25]]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(parameter.numpy(), [0.4, -0.5], rtol=1e-5)
    with average.apply(need_restore=False):
        pass
    np.testing.assert_allclose(parameter.numpy(), expected[-1], rtol=1e-5)
    average.restore()
    np.testing.assert_allclose(parameter.numpy(), [0.4, -0.5], rtol=1e-5)


def test_look_ahead():
    parameter = nn.Parameter(np.ones(2, "float32"))
    ahead = incubate.LookAhead(optimizer.SGD(0.1, [parameter]), 0.5, 3)
    found = []
    for i in range(6):
        stepped(parameter, ahead, i)
        found.append(parameter.numpy().copy())
    expected = [[0.9, 1.0], [0.8, 0.9], [0.8, 0.85], [0.7, 0.55], [0.6, 0.15], [0.65, 0.25]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for bad, error in (({"alpha": 2.0}, ValueError), ({"k": 0}, ValueError)):
        with pytest.raises(error, match=next(iter(bad))):
            incubate.LookAhead(optimizer.SGD(0.1, [parameter]), **bad)
    with pytest.raises(TypeError, match="inner_optimizer"):
        incubate.LookAhead(3)
    assert incubate.optimizer.LBFGS is optimizer.LBFGS
