"""A mixture of experts over processes has the values and gradients of one process; in one process it is a sum
written by hand."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.group import Group
from sampan.distributed.moe import BaseGate, MoELayer, NaiveGate
from sampan.engine.errors import InvalidArgument, InvalidType
from tests.distributed.moe import programs
from tests.distributed.moe.programs import EXPERTS, WIDTH, expert, mixture, numbers


def test_it_is_the_sum_of_the_chosen_experts() -> None:
    layer = mixture("naive", None)
    x = numbers(2, 3, WIDTH, seed=5).astype("float32")
    found = layer(paddle.to_tensor(x)).numpy()
    experts = [expert(number) for number in range(EXPERTS)]
    scores = layer.gate.gate(paddle.to_tensor(x)).numpy()
    for at in np.ndindex(2, 3):
        best = np.argsort(-scores[at])[:2]
        row = paddle.to_tensor(x[at][None])
        wanted = sum(scores[at][number] * experts[number](row).numpy()[0] for number in best)
        assert np.allclose(found[at], wanted, rtol=0, atol=1e-5)


@pytest.mark.servers
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("kind", ["naive", "gshard", "switch"])
def test_values_and_gradients_of_one_process(workers: Any, kind: str, count: int) -> None:
    y, gradient, _, _ = programs.computed(kind, 5)
    answers = workers(count)(programs.computed, kind, 5)
    assert np.allclose(np.concatenate([a[0] for a in answers]), y, rtol=0, atol=1e-12)
    assert np.allclose(np.concatenate([a[1] for a in answers]), gradient, rtol=0, atol=1e-12)
    assert all((a[3] is None) == (kind == "naive") for a in answers)
    for one, other in zip(answers[0][2], programs.computed(kind, 5)[2], strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.servers
def test_experts_that_run_twice(workers: Any) -> None:
    plain = workers(2)(programs.computed, "naive", 4)
    settings = {"recompute_interval": 1, "recompute_ctx": {"mp_group": Group()}}
    again = programs.computed("naive", 4, **settings)
    whole = programs.computed("naive", 4)
    assert np.array_equal(again[0], whole[0]) and np.allclose(again[1], whole[1], rtol=0, atol=1e-12)
    assert np.allclose(np.concatenate([a[0] for a in plain]), whole[0], rtol=0, atol=1e-12)


@pytest.mark.servers
def test_rows_that_all_processes_have(workers: Any) -> None:
    y, gradient, _, _ = programs.computed("naive", 4)
    for found, found_gradient in workers(2)(programs.shared, "naive", 4):
        assert np.allclose(found, y, rtol=0, atol=1e-12)
        assert np.allclose(found_gradient, gradient, rtol=0, atol=1e-12)


@pytest.mark.servers
def test_a_process_whose_experts_get_no_rows(workers: Any) -> None:
    first, second = workers(2)(programs.without_rows)
    assert not any(first[0]) and all(second[0]) and first[1] and second[1]


def test_gradients_by_finite_differences() -> None:
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        layer = mixture("switch", None)
        x = paddle.to_tensor(numbers(1, 4, WIDTH, seed=3), stop_gradient=False)
        way = numbers(1, 4, WIDTH, seed=4)
        layer(x).sum().backward()
        step = 1e-6 * way
        up, down = (layer(paddle.to_tensor(x.numpy() + s)).sum().item() for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx((x.grad.numpy() * way).sum(), rel=1e-6)
    finally:
        paddle.set_default_dtype(before)


def test_what_it_refuses() -> None:
    experts = [expert(0), expert(1)]
    with pytest.raises(AssertionError, match="gate config' type must be dict or an instance of BaseGate"):
        MoELayer(WIDTH, experts, "gshard")
    with pytest.raises(AssertionError, match="got 'best'"):
        MoELayer(WIDTH, experts, {"type": "best"})
    with pytest.raises(InvalidType, match="Unimplemented gate type"):
        MoELayer(WIDTH, experts, BaseGate(2, 1))
    with pytest.raises(InvalidArgument, match="experts: expected at least one Layer, got none"):
        MoELayer(WIDTH, [])
    with pytest.raises(AssertionError, match="topk should be 2 in gshard"):
        MoELayer(WIDTH, experts, {"top_k": 1})
    with pytest.raises(InvalidArgument, match="topk: expected 1 to 2, the number of experts, got 3"):
        MoELayer(WIDTH, experts, {"type": "naive", "top_k": 3})
    layer = MoELayer(WIDTH, experts, NaiveGate(WIDTH, 2, 1, topk=1))
    assert layer.top_k == 1 and layer(paddle.ones([1, 2, WIDTH])).shape == [1, 2, WIDTH]
    with pytest.raises(InvalidArgument, match=r"inp: expected \[batch, time, 8\], got"):
        layer(paddle.ones([2, WIDTH]))


def test_a_mixture_learns() -> None:
    paddle.seed(3)
    layer = MoELayer(WIDTH, [expert(n) for n in range(EXPERTS)], {"type": "gshard"})
    head = nn.Linear(WIDTH, 1)
    x = paddle.to_tensor(numbers(16, 4, WIDTH, seed=5).astype("float32"))
    y = x.abs().sum(axis=-1, keepdim=True)
    optimizer = paddle.optimizer.Adam(0.01, parameters=[*layer.parameters(), *head.parameters()])
    losses = []
    for _ in range(40):
        loss = ((head(layer(x)) - y) ** 2).mean()
        (loss + 0.01 * layer.gate.get_loss()).backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.25 * losses[0]
    assert layer.gate.get_loss() is None  # it was taken
