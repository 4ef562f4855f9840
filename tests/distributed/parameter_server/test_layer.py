"""Layers on shards, beside the same program with nn.Embedding(sparse=True) in one process."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.parameter_server import start_shards
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
