"""Backward and grad: gradients of several orders, hooks and modes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import autograd
from sampan.autograd import PyLayer
from sampan.engine.tensor import Tensor
from tests.leaves import array, leaf

# --- backward -------------------------------------------------------------------------------------------------


def test_a_tensor_that_is_no_scalar_starts_from_ones() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_backward_from_a_given_gradient() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward(paddle.to_tensor([10.0, 0.5], dtype="float64"))
    assert x.grad.tolist() == [20.0, 2.0]
    y = leaf([1.0, 2.0], "float32")
    (y * y).backward(paddle.to_tensor([1.0, 1.0], dtype="float64"))  # taken in the tensor's own dtype
    assert y.grad.dtype == paddle.float32 and y.grad.tolist() == [2.0, 4.0]


def test_a_diamond_is_walked_once_and_summed() -> None:
    x = leaf(3.0)
    a = x * x
    b, c = a * 2.0, a.exp()
    (b * c).backward()
    expected = 12 * np.exp(9.0) + 18 * np.exp(9.0) * 6
    assert float(x.grad) == pytest.approx(expected, rel=1e-12)


def test_gradients_accumulate_until_they_are_cleared() -> None:
    x = leaf([1.0, 2.0])
    held = None
    for times in (1, 2, 3):
        (x * x).sum().backward()
        held = x.grad if held is None else held
        np.testing.assert_array_equal(x.grad.numpy(), times * np.array([2.0, 4.0]))
    assert held.tolist() == [6.0, 12.0]  # as in Paddle, what was taken before is added to in place
    x.clear_grad()
    assert x.grad.tolist() == [0.0, 0.0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None
    x.clear_grad()
    assert x.grad is None


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y: x + y,
        lambda x, y: paddle.concat([x, y]),
        lambda x, y: paddle.stack([x, y]),
        lambda x, y: paddle.concat([y, x]).reshape([2, 3]) * 1.0,
        lambda x, y: paddle.where(paddle.to_tensor([True, False, True]), x, y),
        lambda x, y: paddle.einsum("i,j->ij", x, y),
        lambda x, y: x.broadcast_to([2, 3]) + y,
    ],
)
def test_no_two_gradients_share_memory(made) -> None:
    x, y = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    value = made(x, y)
    start = paddle.to_tensor(array(*value.shape))
    kept = start.numpy().copy()
    value.backward(start, retain_graph=True)
    first = [t.grad.numpy().copy() for t in (x, y)]
    value.backward(start)
    for tensor, before in zip((x, y), first, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), 2 * before, rtol=1e-14)
    np.testing.assert_array_equal(start.numpy(), kept)  # nor does the caller's gradient change
    memory = {t.data.untyped_storage().data_ptr() for t in (x.grad, y.grad, start)}
    assert len(memory) == 3


def test_a_slice_that_is_written_gets_memory_of_its_own() -> None:
    base, value = leaf([1.0, 2.0, 3.0]), leaf([5.0, 6.0])
    y = base * 1.0
    y[1:] = value
    y.retain_grads()
    for times in (1, 2):
        y.sum().backward(retain_graph=True)
        assert value.grad.tolist() == [times, times] and base.grad.tolist() == [times, 0.0, 0.0]
        assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_several_roots_at_once() -> None:
    x = leaf(2.0)
    y = x * x
    autograd.backward([y, y * x], [None, paddle.to_tensor(0.5, dtype="float64")])
    assert float(x.grad) == pytest.approx(2 * 2 + 0.5 * 3 * 4)


def test_what_is_wrong_with_a_backward_is_said() -> None:
    x = leaf([1.0, 2.0])
    paddle.to_tensor([1.0]).backward()  # nothing on the tape: nothing to do, as in Paddle
    with pytest.raises(ValueError, match=r"grad_tensors: expected shape \[2\].*got \[1\]"):
        (x * x).backward(paddle.to_tensor([1.0]))
    with pytest.raises(TypeError, match=r"grad_tensor.*ndarray"):
        (x * x).backward(np.ones(2))
    with pytest.raises(ValueError, match="grad_tensors: expected 1"):
        autograd.backward([x * x], [None, None])
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"the tape behind sum was freed.*retain_graph=True"):
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_retain_graph_lets_backward_run_again() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_a_tape_of_a_hundred_thousand_entries() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert float(x.grad) == 1.0
    del y  # taking the tape apart must not recurse either


# --- grad and higher orders -----------------------------------------------------------------------------------


def test_grad_leaves_every_grad_alone() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    assert [g.tolist() for g in paddle.grad(y.sum(), [x, y, w])] == [[3.0, 4.0], [1.0, 1.0], [1.0, 2.0]]
    assert x.grad is None and w.grad is None


def test_the_tape_behind_a_target_is_kept() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    (g,) = paddle.grad((y * y).sum(), y)
    y.backward(g)
    assert x.grad.tolist() == [4.0, 32.0]


def test_unused_inputs_and_constants() -> None:
    x, other = leaf([1.0, 2.0]), leaf([3.0])
    with pytest.raises(ValueError, match=r"inputs\[1\].*allow_unused"):
        paddle.grad((x * x).sum(), [x, other])
    found = paddle.grad((x * x).sum(), [x, other], allow_unused=True)
    assert found[0].tolist() == [2.0, 4.0] and found[1] is None
    y = x * 2.0
    (found,) = paddle.grad(y * x, x, no_grad_vars=y)
    assert found.tolist() == [2.0, 4.0]
    assert paddle.grad(y * x, [x, y], no_grad_vars=[y])[1] is None
    with pytest.raises(ValueError, match="only_inputs"):
        paddle.grad(x, x, only_inputs=False)


def test_three_derivatives_of_one_function_as_torch_has_them() -> None:
    values = array(4)
    x, t = leaf(values), torch.tensor(values, requires_grad=True)
    y, u = ((x**3) * x.sin() / (1.0 + x.exp())).sum(), ((t**3) * t.sin() / (1.0 + t.exp())).sum()
    for order in (1, 2, 3):
        (y,) = paddle.grad(y, x, create_graph=order < 3)
        (u,) = torch.autograd.grad(u, t, create_graph=order < 3)
        np.testing.assert_allclose(y.numpy(), u.detach().numpy(), rtol=1e-10)
        y, u = y.sum(), u.sum()


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
def test_powers_at_zero(exponent: int) -> None:
    x = leaf(0.0)
    value, factor = x**exponent, 1.0
    for order in range(1, 4):
        (value,) = paddle.grad(value, x, create_graph=True, allow_unused=True)
        factor *= exponent - order + 1
        assert float(value) == (factor if exponent == order else 0.0)
        if value.stop_gradient:
            break


def test_a_gradient_penalty_trains_through_a_gradient() -> None:
    values, weight = array(3, 4), array(4, 2, seed=1)
    x, w = leaf(values), leaf(weight)
    t, v = torch.tensor(values, requires_grad=True), torch.tensor(weight, requires_grad=True)
    (g,) = paddle.grad((x @ w).tanh().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((t @ v).tanh().sum(), t, create_graph=True)
    (g * g).sum().backward()
    (h * h).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), rtol=1e-10)


def test_second_derivatives_pass_through_pooling() -> None:
    values = array(1, 2, 4, 4)
    F = paddle.nn.functional
    for ours, theirs in (
        (lambda x: F.max_pool2d(x, 2), lambda t: torch.nn.functional.max_pool2d(t, 2)),
        (lambda x: F.avg_pool2d(x, 2), lambda t: torch.nn.functional.avg_pool2d(t, 2)),
        (lambda x: F.adaptive_avg_pool2d(x, 3), lambda t: torch.nn.functional.adaptive_avg_pool2d(t, 3)),
    ):
        x, t = leaf(values), torch.tensor(values, requires_grad=True)
        (g,) = paddle.grad((ours(x) ** 3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad((theirs(t) ** 3).sum(), t, create_graph=True)
        (g,) = paddle.grad((g * g).sum(), x)
        (h,) = torch.autograd.grad((h * h).sum(), t)
        np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-10)


def test_a_number_or_array_beside_a_tensor_has_no_gradient_but_counts() -> None:
    x, factor = leaf([1.0, 2.0]), np.array([3.0, 4.0])[::-1]  # a view with a negative stride
    (g,) = paddle.grad((x**factor).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.numpy(), [4.0, 12.0])
    (h,) = paddle.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), [12.0, 12.0])
    (g,) = paddle.grad((factor**x).sum(), x, create_graph=True)
    (h,) = paddle.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), factor ** np.array([1.0, 2.0]) * np.log(factor) ** 2)


def test_gradients_come_back_in_the_dtype_of_their_input() -> None:
    w, x = leaf([[1.0, 2.0]], "float32"), leaf([[1.0], [2.0]], "float32")
    (w @ x).sum(dtype="float64").backward()
    assert w.grad.dtype == paddle.float32 and w.grad.tolist() == [[1.0, 2.0]]
    for function in ("softmax", "log_softmax"):
        w.clear_grad()
        getattr(paddle.nn.functional, function)(w @ x, dtype="float64").sum().backward()
        assert w.grad.dtype == paddle.float32
    half = leaf([1.0], "float16")
    (half * leaf([2.0], "float32")).sum().backward()
    assert half.grad.dtype == paddle.float16 and half.grad.tolist() == [2.0]
    v = leaf([1.0, 2.0, 3.0], "float32")
    v.cumsum(dtype="float64").sum().backward()
    assert v.grad.dtype == paddle.float32 and v.grad.tolist() == [3.0, 2.0, 1.0]


def test_ties_share_the_gradient() -> None:  # as PaddlePaddle 3.3.1 has it
    for name in ("max", "min", "amax", "amin"):
        x = leaf([2.0, 2.0])
        getattr(x, name)().backward()
        assert x.grad.tolist() == [0.5, 0.5]
    for name in ("maximum", "minimum"):
        x, y = leaf([1.0]), leaf([1.0])
        getattr(paddle, name)(x, y).backward()
        assert x.grad.tolist() == y.grad.tolist() == [0.5]


# --- hooks and the gradients of non-leaves ---------------------------------------------------------------


def test_a_leaf_hook_sees_the_whole_gradient_once() -> None:
    x, seen = leaf([1.0, 2.0]), []
    handle = x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x + x).sum().backward()
    assert seen == [[3.0, 5.0]] and x.grad.tolist() == [3.0, 5.0]
    assert handle.remove() is True and handle.remove() is False
    (x * x + x).sum().backward()
    assert len(seen) == 1


def test_hooks_replace_the_gradient_in_order() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.register_hook(lambda g: g * 10.0)
    y.register_hook(lambda g: g + 1.0)
    x.register_hook(lambda g: g * 100.0)
    y.sum().backward()
    assert x.grad.tolist() == [2200.0, 2200.0]


def test_a_hook_that_takes_itself_away_does_not_hide_the_next() -> None:
    x, seen = leaf([1.0]), []
    first = x.register_hook(lambda g: (seen.append("first"), first.remove())[0])
    x.register_hook(lambda g: seen.append("second"))
    (x * 2.0).backward()
    (x * 2.0).backward()
    assert seen == ["first", "second", "second"]


def test_what_a_hook_keeps_does_not_change_later() -> None:
    x, other, kept = leaf([1.0, 2.0]), leaf([1.0, 1.0]), []
    y = x + 0.0
    y.register_hook(lambda g: kept.append(g))
    x.register_hook(lambda g: kept.append(g))
    z = y + other
    z.sum().backward(retain_graph=True)
    before = [g.tolist() for g in kept]
    z.sum().backward()
    assert [g.tolist() for g in kept[:2]] == before == [[1.0, 1.0]] * 2


def test_retain_grads_keeps_the_gradient_of_what_is_no_leaf() -> None:
    x = leaf([1.0, 2.0])
    y = x + 0.0
    y.retain_grads()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    assert y.grad.tolist() == [2.0, 4.0]
    z.backward()
    assert y.grad.tolist() == [2.0, 4.0] and x.grad.tolist() == [
        4.0,
        8.0,
    ]  # as Paddle: that of the last backward


def test_hooks_are_refused_where_no_gradient_comes() -> None:
    with pytest.raises(RuntimeError, match="stop_gradient=True"):
        paddle.to_tensor([1.0]).register_hook(lambda g: g)


# --- modes ----------------------------------------------------------------------------------------------------


def test_modes_nest_and_end() -> None:
    x = leaf([1.0])
    assert autograd.is_grad_enabled()
    with paddle.no_grad():
        assert (x * 2.0).stop_gradient
        with paddle.enable_grad():
            assert not (x * 2.0).stop_gradient
        assert (x * 2.0).stop_gradient
    with pytest.raises(KeyError), paddle.no_grad():
        raise KeyError
    assert autograd.is_grad_enabled()
    with paddle.set_grad_enabled(False):
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()


def test_modes_as_decorators() -> None:
    @paddle.no_grad()
    def silent(x: Tensor) -> Tensor:
        return x * 2.0

    @paddle.enable_grad()
    def loud(x: Tensor) -> Tensor:
        return x * 2.0

    x = leaf([1.0])
    assert silent(x).stop_gradient
    with paddle.no_grad():
        assert not loud(x).stop_gradient


def test_the_mode_belongs_to_the_thread() -> None:
    seen: dict[str, bool] = {}
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(10)
        seen["other"] = (leaf([1.0]) * 2.0).stop_gradient
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with paddle.no_grad():
        inside.set()
        done.wait(10)
        seen["here"] = (leaf([1.0]) * 2.0).stop_gradient
    thread.join()
    assert seen == {"other": False, "here": True}


def test_two_threads_each_run_their_own_tape() -> None:
    found: dict[int, float] = {}

    def work(k: int) -> None:
        for _ in range(50):
            x = leaf(float(k))
            y = x
            for _ in range(10):
                y = y * x
            y.backward()
            found[k] = float(x.grad)

    threads = [threading.Thread(target=work, args=(k,)) for k in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {2: 11 * 2.0**10, 3: 11 * 3.0**10}


def test_stop_gradient_set_on_what_is_no_leaf_cuts_there() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.stop_gradient = True
    (y * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# --- several outputs ------------------------------------------------------------------------------------------


def test_pieces_of_which_one_is_used() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = paddle.split(x, 2)
    (second * second).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [6.0, 8.0]]
    assert first.node.name == "split_sizes[0]"


def test_a_piece_is_a_target_and_has_hooks() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = paddle.split(x, 2)
    first.register_hook(lambda g: g * 10.0)
    (g,) = paddle.grad((first * second).sum(), second, retain_graph=True)
    assert g.tolist() == [[1.0, 2.0]]
    (first * second).sum().backward()
    assert x.grad.tolist() == [[30.0, 40.0], [1.0, 2.0]]


# --- PyLayer --------------------------------------------------------------------------------------------------


# --- in place -------------------------------------------------------------------------------------------------


# --- what the tape keeps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("consistent", [True, False])
def test_a_gradient_has_the_dtype_of_its_output_unless_told(consistent):
    seen = []

    class Watch(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.set_grad_in_dtype_consistent(consistent)
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            seen.append(dy.dtype)
            return dy

    class Half(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            return dy.astype("float16")

    x = paddle.ones([3])
    x.stop_gradient = False
    Half.apply(Watch.apply(x)).sum().backward()
    assert seen == [paddle.float32 if consistent else paddle.float16]


PRODUCTS = {
    "multiply": lambda x, y: x * y,
    "matmul": lambda x, y: x @ y,
    "transposed": lambda x, y: x.t() @ y,
    "mean": lambda x, y: (x * y).mean(),
    "sum": lambda x, y: x.sum() * y,
    "linear": paddle.nn.functional.linear,
    "bmm": lambda x, y: paddle.bmm(x[None], y[None]),
    "conv2d": lambda x, y: paddle.nn.functional.conv2d(x[None, None], y[None, None, :2, :2]),
    "index": lambda x, y: x[0] * y[1],
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("allow_unused", [False, True])
def test_a_second_derivative_of_a_product_by_one_factor_is_zeros(name, allow_unused):
    """As in PaddlePaddle 3.3.1, where each of these gives zeros with and without allow_unused."""
    x, y = (paddle.to_tensor(np.full((3, 3), v), stop_gradient=False) for v in (0.5, 2.0))
    first = paddle.grad(PRODUCTS[name](x, y).sum(), [x, y], create_graph=True)
    for gradient, factor in zip(first, (x, y), strict=True):
        (second,) = paddle.grad(
            gradient.sum(), [factor], create_graph=True, allow_unused=allow_unused, retain_graph=True
        )
        assert second.shape == [3, 3] and second.dtype == factor.dtype and not second.numpy().any()


def test_a_second_derivative_of_a_sum_is_none():
    x, y = (paddle.to_tensor(np.full((3, 3), v), stop_gradient=False) for v in (0.5, 2.0))
    for total in (x + y, x * 2.0 - y, paddle.concat([x, y])):
        gradient = paddle.grad(total.sum(), x, create_graph=True)[0]
        assert paddle.grad(gradient.sum(), x, create_graph=True, allow_unused=True) == [None]
        with pytest.raises(ValueError, match="not part of what the outputs were computed from"):
            paddle.grad(gradient.sum(), x, create_graph=True)


def test_a_leaf_hears_of_its_gradient_as_soon_as_it_is_complete() -> None:
    order: list[str] = []
    seen: dict[str, np.ndarray] = {}
    leaves = {name: paddle.randn([4, 4]) for name in ("first", "second", "tied")}

    def done(name: str) -> Any:
        def hook(leaf: Tensor) -> None:
            order.append(name)
            seen[name] = leaf.grad.numpy()
            leaf.grad.data.zero_()  # as a reduction over processes overwrites it

        return hook

    for name, parameter in leaves.items():
        parameter.stop_gradient = False
        parameter.register_post_accumulate_grad_hook(done(name))
    first, second, tied = leaves.values()
    x = paddle.randn([3, 4])

    def loss() -> Tensor:
        hidden = (x @ first).tanh()
        hidden.register_hook(lambda g: order.append("hidden"))
        return ((hidden @ second) @ tied + hidden @ tied).square().sum()

    loss().backward()
    assert order[2:] == ["hidden", "first"] and set(order[:2]) == {"second", "tied"}
    for name, gradient in zip(leaves, paddle.grad(loss(), [first, second, tied]), strict=True):
        np.testing.assert_allclose(seen[name], gradient.numpy(), rtol=1e-5, atol=1e-5)
    assert float(first.grad.abs().sum()) == 0.0
    with pytest.raises(RuntimeError, match="expected a leaf with stop_gradient=False, got"):
        x.register_post_accumulate_grad_hook(print)


def test_a_complete_gradient_is_nobody_elses_memory() -> None:
    x, y = (paddle.ones([3]) for _ in range(2))
    x.stop_gradient = y.stop_gradient = False
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.data.fill_(7.0))
    z = y * 1.0
    (x + z).sum().backward()  # x and z get one array from the sum
    assert x.grad.tolist() == [7.0] * 3 and y.grad.tolist() == [1.0] * 3
