"""Gradients through loops and branches of a Program, against those of the functions run eagerly."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.jit import to_static
from sampan.jit.control_flow import flow_calls

from .paddle_flow import INPUTS, PROGRAMS


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_gradients_are_those_of_the_function_itself(function: Any) -> None:
    made = to_static(function, full_graph=True)
    for values, number in INPUTS:
        slopes = []
        for called in (function, made):
            x: Any = paddle.to_tensor(values, dtype="float64", stop_gradient=False)
            (called(x, paddle.to_tensor(number)) ** 3).sum().backward()
            slopes.append(x.grad.numpy())
        assert np.allclose(slopes[0], slopes[1], rtol=1e-9, atol=1e-12)
    assert len(made.programs) == 2 and all(list(flow_calls(program)) for program in made.programs)


class Refining(nn.Layer):
    """A loop with parameters, random numbers and a part without gradients in it."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.norm, self.drop = nn.Linear(4, 4), nn.LayerNorm(4), nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        h = x
        for i in range(6):
            h = self.drop(self.norm(self.step(h))) + x
            if h.abs().mean() > 1.2:
                break
            with paddle.no_grad():
                h = h + i
        if h.mean() > 100:
            return h
        return h - h.detach().mean()


def test_a_layer_trains_as_it_does_eagerly() -> None:
    nets, weights = [], []
    for full_graph in (False, True):
        paddle.seed(3)
        net: Any = Refining()
        if full_graph:
            to_static(net, full_graph=True)
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        rng = np.random.default_rng(0)
        for scale in (0.2, 3, 0.2, 0.2):
            x = paddle.to_tensor((scale * rng.standard_normal((5, 4))).astype("float32"))
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        nets.append(net)
        weights.append([value.numpy() for value in net.state_dict().values()])
    for one, other in zip(*weights, strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(nets[1].forward.programs) == 1


def test_second_derivatives_go_through_a_loop() -> None:
    made = to_static(powers, full_graph=True)
    x: Any = paddle.to_tensor([1.5, 0.5], stop_gradient=False)
    first: Any = paddle.grad(made(x).sum(), x, create_graph=True)[0]
    second: Any = paddle.grad(first.sum(), x)[0]
    assert np.allclose(second.numpy(), 12 * x.numpy() ** 2 * 4)  # of 4 x^4


def powers(x: Any) -> Any:
    y = x
    for _ in range(paddle.to_tensor(3)):
        y = y * x
    while y.max() < 20:
        y = y * 2
    return y


def test_a_loop_that_writes_runs_eagerly_where_gradients_are_recorded(caplog: Any) -> None:
    def filled(x: Any, n: Any) -> Any:
        buffer = paddle.zeros([4])
        for i in range(n):
            buffer[i] = x[i] * 2
        return buffer

    made = to_static(filled, full_graph=True)
    x: Any = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    n = paddle.to_tensor(2)
    with paddle.no_grad():
        assert made(x, n).tolist() == [2, 4, 0, 0] and made.programs
    made(x, n).sum().backward()
    assert x.grad.tolist() == [2, 2, 0] and "a loop or branch with gradients writes to memory" in caplog.text
