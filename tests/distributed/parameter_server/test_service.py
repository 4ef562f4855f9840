"""Paddle's names in one process, and over shards."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan
from sampan.distributed.parameter_server import CountFilterEntry, start_shards
from sampan.names import compat
from tests.distributed.parameter_server.words import DIM, ROWS, losses, served

LINES = """
import paddle.distributed.fleet as fleet
fleet.init(is_collective=False)
strategy = fleet.DistributedStrategy(); strategy.a_sync = True
remote_emb = fleet.distributed_embedding(size=[10_000_000, 64], param_attr=paddle.ParamAttr(name="user_embedding"), is_distributed=True)
"""


@pytest.fixture
def fleet() -> Any:
    """`paddle.distributed.fleet` after these lines, and the layer."""
    compat.install()
    try:
        paddle = importlib.import_module("paddle")
        names: dict[str, Any] = {"paddle": paddle}
        exec(LINES, names)
        yield names["fleet"], names["strategy"], names["remote_emb"]
        names["fleet"].init()
    finally:
        compat.uninstall()


def test_the_lines_run_and_the_layer_trains_in_one_process(fleet: Any, tmp_path: Path) -> None:
    fleet, strategy, table = fleet
    fleet.init_worker()
    assert fleet.is_worker() and not fleet.is_server() and fleet.server_num() == 0
    assert table.weight.name == "user_embedding" and [*table.parameters()] == [table.weight]
    ids = sampan.to_tensor([[3, 9_999_999], [5, 3]])
    step = sampan.optimizer.Adam(0.1, parameters=table.parameters(), lazy_mode=True)
    step, found = fleet.distributed_optimizer(step, strategy), []
    for _ in range(5):
        loss = ((table(ids) - 1) ** 2).mean()
        loss.backward()
        step.step()
        step.clear_grad()
        found.append(float(loss))
    assert len(table) == 3 and found[-1] < 0.5 * found[0]
    fleet.save_persistables(None, tmp_path)
    again = sampan.embedding.DynamicEmbedding(10_000_000, 64)
    again.load(tmp_path / "user_embedding")
    np.testing.assert_array_equal(again(ids).numpy(), table(ids).numpy())
    table(sampan.to_tensor([7]))
    fleet.shrink(1)
    assert len(table) == 1
    with pytest.raises(ValueError, match="there is a table 'user_embedding'"):
        fleet.distributed_embedding([10, 2], "user_embedding")
    fleet.stop_worker()


def test_the_same_over_shards(fleet: Any, tmp_path: Path) -> None:
    fleet, strategy, _ = fleet
    fleet.use_shards(start_shards(2))
    table = fleet.distributed_embedding([ROWS, DIM], "words")
    found = losses(table, lambda o: fleet.distributed_optimizer(o, strategy), "Adagrad", {})
    assert found[-1] < found[0]
    fleet.save_persistables(None, tmp_path)
    before = table.client.pull("words", np.arange(ROWS), False)
    other = served(start_shards(2), True)
    loaded = other.embedding([ROWS, DIM], "words")
    other.optimizer(sampan.optimizer.Adagrad(0.1, parameters=[sampan.nn.Linear(1, 1).weight]), True, 0)
    other.load(tmp_path)
    np.testing.assert_array_equal(loaded.client.pull("words", np.arange(ROWS), False), before)
    fleet.stop_worker()


def test_entries_and_initializers_of_a_table() -> None:
    service = served(start_shards(1), True)
    attr = sampan.ParamAttr("t", sampan.nn.initializer.Constant(2.0))
    table = service.embedding([None, 3], attr, entry=CountFilterEntry(2))
    ids = sampan.to_tensor([-5, 8])
    assert table(ids).sum() == 0 and table(ids).sum() == 12
    with pytest.raises(ValueError, match="expected Constant, Normal of mean 0 or Uniform from -b to b"):
        service.embedding([4, 3], sampan.nn.initializer.XavierNormal())
    with pytest.raises(ValueError, match="init_server: expected the role PSERVER"):
        service.init_server()
