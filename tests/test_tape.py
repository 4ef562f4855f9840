"""The tape: what it keeps, what it frees, and writes in place that it follows or refuses."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.leaves import array, leaf


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "sigmoid", "relu", "softmax", "reciprocal", "rsqrt"])
def test_in_place_twins_of_one_input(name: str) -> None:
    values = array(5)
    x = leaf(values)
    y = x * 1.0
    memory = y.data_ptr()
    assert getattr(y, f"{name}_")() is y and y.data_ptr() == memory and y.inplace_version == 1
    (y * y).sum().backward()
    t = torch.tensor(values, requires_grad=True)
    u = torch.softmax(t, -1) if name == "softmax" else getattr(torch, name)(t)
    (u * u).sum().backward()
    np.testing.assert_allclose(y.numpy(), u.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("name", ["add", "subtract"])
def test_in_place_twins_of_two_inputs(name: str) -> None:
    x, w = leaf(array(3, 4)), leaf(array(4, seed=1))
    y = x * 2.0
    getattr(y, f"{name}_")(w)
    (y * y).sum().backward()
    sign = 1 if name == "add" else -1
    value = 2 * x.numpy() + sign * w.numpy()
    np.testing.assert_allclose(x.grad.numpy(), 4 * value)
    np.testing.assert_allclose(w.grad.numpy(), 2 * sign * value.sum(0))


def test_a_chain_of_in_place_changes() -> None:
    x = leaf([0.5, 1.0])
    y = x * 1.0
    y.exp_().add_(x).scale_(3.0, 1.0)
    y[0] = x[1] * 10.0
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(), [10.0, 3 * (np.e + 1) + 1])
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 10 + 3 * (np.e + 1)])


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.add_(paddle.ones([2], "float64")),
        lambda y: y.set_value(np.zeros(2)),
        lambda y: y.zero_(),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: y.detach().fill_(3.0),
        lambda y: y.detach()[1:].add_(paddle.ones([1], "float64")),
        lambda y: y.detach().reshape([2, 1]).scale_(2.0),
        lambda y: y.copy_(paddle.zeros([2], "float64")),
    ],
)
def test_a_backward_through_overwritten_memory_is_refused(write) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    z = (y * y).sum()
    write(y)
    with pytest.raises(RuntimeError, match=r"backward: multiply needs '[xy]' \[2\] as it was.*clone\(\)"):
        z.backward()
    assert x.grad is None


def test_overwriting_a_result_or_a_mask_is_refused_too() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = y.sum()
    with paddle.no_grad():
        y.add_(y)
    with pytest.raises(RuntimeError, match="exp needs its result"):
        z.backward()
    condition = paddle.to_tensor([True, False])
    z = paddle.where(condition, x, x * 2.0).sum()
    condition.logical_not_()
    with pytest.raises(RuntimeError, match="select needs"):
        z.backward()


def test_overwriting_what_no_gradient_needs_is_allowed() -> None:
    x, data = leaf([1.0, 2.0]), paddle.to_tensor([3.0, 4.0], dtype="float64")
    y = x + data
    z = (y * 2.0).sum()
    data.zero_()
    y.detach().zero_()
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_optimizer_step_between_forward_and_backward_is_refused() -> None:
    layer = paddle.nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=layer.parameters())
    x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
    first, second = layer(layer(x)).sum(), layer(layer(x)).sum()
    first.backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="overwritten"):
        second.backward()


def test_leaves_that_want_a_gradient_are_not_overwritten_on_the_tape() -> None:
    x = leaf([1.0, 2.0])
    for write in (
        lambda: x.add_(x),
        lambda: x.__setitem__(0, 1.0),
        lambda: x[0].add_(leaf(1.0)),
        lambda: x[0].zero_(),
        lambda: x.unsqueeze_(0),
        lambda: x.cast_("float32"),
    ):
        with pytest.raises(ValueError, match=r"leaf that wants a gradient.*no_grad"):
            write()
    assert x.tolist() == [1.0, 2.0] and x.shape == [2] and x.inplace_version == 0
    with paddle.no_grad():
        x.add_(x)
    assert x.tolist() == [2.0, 4.0] and not x.stop_gradient and x.is_leaf


def test_a_write_through_a_view_is_followed_or_refused_never_forgotten() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 2.0
    v = y[0]
    v.multiply_(paddle.to_tensor([3.0, 3.0], dtype="float64"))
    v.sum().backward()
    assert x.grad.tolist() == [[6.0, 6.0], [0.0, 0.0]]
    x.clear_grad()
    y = x * 2.0
    v = y[0]
    v.add_(x[1] * x[1])
    v.sum().backward(retain_graph=True)  # the view knows
    assert x.grad.tolist() == [[2.0, 2.0], [6.0, 8.0]]
    for later in (y.sum(), y[0].sum(), y.reshape([4]).sum()):  # its base does not
        with pytest.raises(RuntimeError, match="after a view of it had been overwritten"):
            later.backward()
    buffer = paddle.zeros([2, 2], "float64")
    with pytest.raises(ValueError, match="part of another tensor's memory"):
        buffer[0].add_(x[0])
    assert buffer.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_data_becomes_part_of_the_tape_when_something_recorded_is_written_into_it() -> None:
    buffer, w = paddle.zeros([3], "float64"), leaf([2.0, 3.0])
    buffer[1:] = w * w
    assert not buffer.stop_gradient and not buffer.is_leaf
    (buffer * buffer).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 4 * np.array([2.0, 3.0]) ** 3)


def test_in_place_results_that_do_not_fit() -> None:
    numbers = paddle.to_tensor([1, 2])
    with pytest.raises(TypeError, match=r"float32 does not fit into Tensor int64\[2\]"):
        numbers.add_(paddle.to_tensor([1.5, 2.5]))
    wide = paddle.to_tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"^add_: the result has shape \[2, 2\]"):
        wide.add_(paddle.ones([2, 2]))
    assert numbers.tolist() == [1, 2] and wide.tolist() == [1.0, 2.0] and wide.inplace_version == 0


def test_twins_that_change_the_dtype_or_the_shape() -> None:
    x = leaf([1.5, 2.5])
    y = (x * 1.0).cast_("float32")
    assert y.dtype == paddle.float32 and not y.stop_gradient
    y.reshape_([2, 1]).unsqueeze_(0)
    assert y.shape == [1, 2, 1]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    z = (x * 1.0).greater_than_(paddle.to_tensor([2.0, 2.0], dtype="float64"))
    assert z.dtype == paddle.bool and z.stop_gradient and z.tolist() == [False, True]
    f = (x * 1.0).floor_divide_(paddle.ones([2], "float64"))
    assert f.stop_gradient  # it has no gradient, and no longer claims the one of what it was


def test_backward_frees_the_memory_of_the_tape() -> None:
    gc.disable()
    try:
        x = leaf(np.ones(100))
        middle = (x * 2.0).exp()
        loss = (middle * middle).sum()
        watched = weakref.ref(middle.data)
        del middle
        assert watched() is not None
        loss.backward(retain_graph=True)
        assert watched() is not None
        loss.backward()
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "made",
    [
        lambda y: y + 1.0,
        lambda y: -y,
        lambda y: y.relu(),
        lambda y: y.exp(),
        lambda y: y.sum(),
        lambda y: y.mean(),
        lambda y: paddle.nn.functional.dropout(y, 0.5),
        lambda y: paddle.nn.functional.softmax(y),
        lambda y: paddle.concat([y, y]),
        lambda y: y.cast("float32"),
        lambda y: y[paddle.to_tensor([0, 1])],
    ],
)
def test_the_tape_does_not_keep_inputs_that_no_pullback_needs(made) -> None:
    y = leaf(array(4)) * 1.0
    watched = weakref.ref(y.data)
    result = made(y)
    del y
    assert watched() is None
    result.sum().backward()


def test_taking_the_loss_away_frees_everything_without_the_collector() -> None:
    gc.disable()
    try:
        x = leaf(np.ones(10))
        y = x.exp()
        y.retain_grads()
        loss = (y * y).sum()
        nodes = [weakref.ref(y.node), weakref.ref(loss.node)]
        del y, loss
        assert [n() for n in nodes] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "use",
    [
        lambda h: h * 2.0,
        lambda h: h / 2.0,
        lambda h: h - 1.0,
        lambda h: h * paddle.to_tensor([3.0, 3.0, 3.0]),
    ],
)
def test_the_tape_lets_go_of_what_no_gradient_will_read(use) -> None:
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    h = x.exp() + 0.0
    memory = weakref.ref(h.data)
    result = use(h)
    del h
    gc.collect()
    assert memory() is None
    (slope,) = paddle.grad(result.sum(), x, create_graph=True)
    slope.sum().backward()  # what is left suffices for the second order
    assert paddle.allclose(x.grad, slope.detach())
