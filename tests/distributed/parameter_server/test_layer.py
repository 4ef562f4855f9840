"""Layers on shards, beside the same program with nn.Embedding(sparse=True) in one process."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.parameter_server import Service, start_shards
from sampan.distributed.server_roles import Roles
from tests.distributed.parameter_server.words import DIM, ROWS, in_one_process, losses, served

RULES: list[tuple[str, dict[str, Any]]] = [("SGD", {}), ("Adagrad", {}), ("Adam", {"lazy_mode": True})]


@pytest.mark.parametrize(("rule", "settings"), RULES)
@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_losses_are_those_of_one_process(
    rule: str, settings: dict[str, Any], prefetch: bool, padding_idx: int | None
) -> None:
    service = served(start_shards(3), a_sync=False)
    table = service.embedding([ROWS, DIM], padding_idx=padding_idx)
    found = losses(table, lambda o: service.optimizer(o, False, 0), rule, settings, prefetch)
    np.testing.assert_allclose(found, in_one_process(rule, settings, padding_idx), rtol=0, atol=2e-6)
    assert found[-1] < found[0]


def test_losses_over_each_transport(started: Any) -> None:
    service = served(started(2), a_sync=False)
    table = service.embedding([ROWS, DIM])
    found = losses(table, lambda o: service.optimizer(o, False, 0), "Adagrad", {}, prefetch=True)
    np.testing.assert_allclose(found, in_one_process("Adagrad", {}), rtol=0, atol=2e-6)


@pytest.mark.parametrize("k_steps", [1, 4])
def test_geo_of_one_worker_is_its_own_training(k_steps: int) -> None:
    service = served(start_shards(2), True, k_steps)
    table = service.embedding([ROWS, DIM])
    found = losses(table, lambda o: service.optimizer(o, True, k_steps), "Adagrad", {})
    np.testing.assert_allclose(found, in_one_process("Adagrad", {}), rtol=0, atol=1e-5)
    ids = table.ids.numpy()
    rows = service.client().pull(table.table_name, ids, train=False)
    changed = abs(rows - table.weight.numpy()).max(1) > 1e-6
    assert changed.any() == (k_steps == 4)  # steps 9 and 10 were not exchanged yet


def test_look_ups_without_a_step_and_ids_out_of_range_are_named() -> None:
    table = served(start_shards(2), False).embedding([ROWS, DIM], "words")
    with pytest.raises(ValueError, match="words: ids"):
        table(paddle.to_tensor([ROWS]))
    with pytest.raises(RuntimeError, match="words: 1000 look-ups in training without a step"):
        for _ in range(1001):
            table(paddle.to_tensor([1]))
    table.eval()
    assert table(paddle.to_tensor([[7, 8]])).shape == [1, 2, DIM]


def test_geo_of_several_workers_adds_the_mean_of_their_changes() -> None:
    """Whole steps of SGD with numbers that float32 holds exactly; the workers take turns."""
    home, rate = start_shards(2), 0.25
    attr = paddle.ParamAttr("t", paddle.nn.initializer.Constant(1.0))
    tables, steps = [], []
    for number in (0, 1):
        service = Service(Roles(False, number, 2), True, 2, home)
        tables.append(service.embedding([8, 2], attr))
        own = paddle.optimizer.SGD(rate, parameters=tables[-1].parameters())
        steps.append(service.optimizer(own, True, 2))
    looked_up, slopes = [[0, 1, 1], [1, 2]], [3.0, 8.0]  # id 1 belongs to both
    for turn in range(4):
        for table, step, ids, slope in zip(tables, steps, looked_up, slopes, strict=True):
            (table(paddle.to_tensor(ids)) * slope).sum().backward()
            step.step()
            step.clear_grad()
        rows = tables[0].client.pull("t", np.arange(4), False)[:, 0]
        pushed = (turn + 1) // 2 * 2  # steps that were exchanged
        changed = np.array([3.0, 2 * 3.0 + 8.0, 8.0, 0.0]) * pushed * rate / 2
        there = np.array([1.0, 1.0, 1.0, 0.0])  # id 3 was never looked up
        np.testing.assert_array_equal(rows, there - changed)
    seen = [table(paddle.to_tensor([1])).numpy()[0, 0] for table in tables]
    last = [1 - (2 * 3.0 * 4 + 8.0 * 2) * rate / 2, 1 - (2 * 3.0 + 8.0) * 4 * rate / 2]
    assert seen == last  # worker 0 has not seen the last two steps of worker 1, which came after its own
