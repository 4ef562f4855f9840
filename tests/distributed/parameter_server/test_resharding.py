"""A table that was saved by some shards goes on in another number of them."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampan.distributed.parameter_server import Client, TableSettings, start_shards

DIM, RULES = 4, [("SGD", {}), ("Adagrad", {}), ("Adam", {"lazy_mode": True})]


def trained(client: Client, steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        ids = np.unique(rng.integers(-100, 100, 60))
        client.pull("t", ids)
        client.push({"t": (ids, rng.normal(size=(len(ids), DIM)).astype(np.float32), 0.1)})
    client.settle()


@pytest.mark.parametrize(("rule", "given"), RULES)
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1), (1, 4), (2, 2)])
def test_rows_and_state_are_those_before(
    rule: str, given: dict[str, Any], before: int, after: int, tmp_path: Path
) -> None:
    settings = TableSettings(DIM, rule=rule, rule_settings=given)
    clients = [Client(start_shards(before)), Client(start_shards(after, folder=tmp_path / "shards"))]
    for client in clients:
        client.table("t", settings)
    trained(clients[0], 6, 0)
    clients[0].save(str(tmp_path / "copy"))
    clients[1].load("t", str(tmp_path / "copy"))
    every = np.arange(-100, 100)
    assert clients[1].statistics("t")["rows"] == clients[0].statistics("t")["rows"]
    for seed in (1, 2):  # the next steps show the state
        first, second = (client.pull("t", every, False) for client in clients)
        assert (first != 0).any(1).sum() > 150
        np.testing.assert_array_equal(second, first)
        for client in clients:
            trained(client, 4, seed)
    clients[1].transport.close()
    again = Client(start_shards(after, folder=tmp_path / "shards"))
    again.table("t", settings)
    np.testing.assert_array_equal(again.pull("t", every, False), clients[0].pull("t", every, False))


def test_ages_and_counts_of_ids_that_wait_for_a_row_are_kept(tmp_path: Path) -> None:
    clients = [Client(start_shards(shards)) for shards in (2, 3)]
    for client in clients:
        client.table("t", TableSettings(1, admission=3, initializer=("constant", 1.0)))
    old, new, waiting = np.arange(50), np.arange(100, 150), np.arange(200, 250)
    for _ in range(3):
        clients[0].pull("t", old)
    for _ in range(5):
        clients[0].pull("t", new)
    for _ in range(2):
        clients[0].pull("t", waiting)
    clients[0].save(str(tmp_path))
    clients[1].load("t", str(tmp_path))
    assert clients[1].pull("t", waiting, False).sum() == 0
    assert clients[1].pull("t", waiting).sum() == 50  # the third time
    assert clients[1].shrink(7) == 50  # the old ones
    assert clients[1].pull("t", new, False).sum() == 50 and clients[1].pull("t", old, False).sum() == 0


def test_folders_that_have_no_whole_table_are_named(tmp_path: Path) -> None:
    clients = [Client(start_shards(shards)) for shards in (3, 2)]
    for client, dim in zip(clients, (DIM, DIM + 1), strict=True):
        client.table("t", TableSettings(dim))
    trained(clients[0], 1, 0)
    with pytest.raises(FileNotFoundError, match="no table was saved here"):
        clients[1].load("t", str(tmp_path))
    clients[0].save(str(tmp_path))
    with pytest.raises(ValueError, match="expected rows of 5, got 4"):
        clients[1].load("t", str(tmp_path))
    shutil.rmtree(tmp_path / "shard-0001")
    with pytest.raises(
        ValueError, match=r"expected all shards of one saved table, got shards \[0, 2\] of \[3\]"
    ):
        clients[0].load("t", str(tmp_path))
