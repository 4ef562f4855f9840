"""PyLayer: operators of the user's own, to any order, and what they keep."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import sampan as paddle
from sampan.autograd import PyLayer
from tests.leaves import leaf


class Exp(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensor()
        return g * y


class Split(PyLayer):
    @staticmethod
    def forward(ctx, x, factor, materialize=True):
        ctx.set_materialize_grads(materialize)
        ctx.factor = factor
        return x * factor, x * 3.0, "note"

    @staticmethod
    def backward(ctx, a, b):
        Split.seen = (a, b)
        return a * ctx.factor + (0.0 if b is None else b * 3.0)


def test_a_layer_of_the_users_own_to_the_third_order() -> None:
    x = leaf([0.3, 0.7])
    value = Exp.apply(x)
    assert value.node.name == "Exp"
    for _ in range(3):
        np.testing.assert_allclose(value.numpy(), np.exp([0.3, 0.7]), rtol=1e-14)
        (value,) = paddle.grad(value.sum(), x, create_graph=True)
    np.testing.assert_allclose(value.numpy(), np.exp([0.3, 0.7]), rtol=1e-14)


def test_a_missing_output_gradient_is_zeros_or_none() -> None:
    x = leaf([1.0])
    first, second, note = Split.apply(x, 2.0)
    assert note == "note" and not second.stop_gradient
    first.backward()
    assert x.grad.tolist() == [2.0] and Split.seen[1].tolist() == [0.0]
    Split.apply(x, 2.0, materialize=False)[0].backward()
    assert Split.seen[1] is None


def test_a_layer_says_how_many_gradients_it_should_have_returned() -> None:
    class Wrong(Exp):
        @staticmethod
        def backward(ctx, g):
            return g, g

    x = leaf([1.0])
    with pytest.raises(ValueError, match=r"Wrong.backward: expected 1 gradients.*got 2"):
        Wrong.apply(x).backward()
    assert x.grad is None


def test_a_layer_outside_the_tape_and_one_that_marks_its_outputs() -> None:
    class Sorted(PyLayer):
        @staticmethod
        def forward(ctx, x):
            order = x.argsort()
            top = x.max()
            ctx.mark_non_differentiable(top)
            ctx.order = order
            return x.take_along_axis(order, 0), order, top

        @staticmethod
        def backward(ctx, g, of_order, of_top):  # as in Paddle, zeros for what has no gradient
            assert of_order.tolist() == [0, 0, 0] and of_top.tolist() == 0
            return g.take_along_axis(ctx.order.argsort(), 0)

    value, order, top = Sorted.apply(leaf([3.0, 1.0, 2.0]))
    assert order.stop_gradient and top.stop_gradient and not value.stop_gradient
    x = leaf([3.0, 1.0, 2.0])
    (Sorted.apply(x)[0] * paddle.to_tensor([1.0, 10.0, 100.0], dtype="float64")).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]
    with paddle.no_grad():
        assert Sorted.apply(x)[0].stop_gradient


def test_a_layer_refuses_saved_memory_that_was_overwritten() -> None:
    x = leaf([1.0])
    value = Exp.apply(x)
    with paddle.no_grad():
        value.zero_()
    with pytest.raises(RuntimeError, match="Exp needs a saved tensor"):
        value.backward()


def test_a_layer_keeps_what_it_saves_and_no_more() -> None:
    x = leaf([1.0]) * 1.0
    kept = weakref.ref(x)
    value = Exp.apply(x)
    del x
    assert kept() is None
    node = weakref.ref(value.node)
    value.backward()
    del value
    assert node() is None  # no cycle that waits for the collector
