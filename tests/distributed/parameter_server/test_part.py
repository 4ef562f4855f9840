"""A part beside one table in one process, with each rule; what a killed one comes back with; a full disk."""

import gc
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan
from sampan import nn, optimizer
from sampan.distributed.parameter_server import Client, Shard, TableSettings, start_shards

RULES = [
    ("SGD", {}),
    ("Adagrad", {}),
    ("Adam", {"lazy_mode": True}),
    ("Adam", {}),
]
COUNT, DIM, RATE = 60, 4, 0.1


def batches(steps: int = 8) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [
        (np.unique(rng.zipf(1.3, 30) % COUNT), rng.normal(size=(COUNT, DIM)).astype(np.float32))
        for _ in range(steps)
    ]


def whole_table(rule: str, settings: dict[str, Any]) -> np.ndarray:
    """The oracle: the same gradients in one nn.Embedding, whose rows are those that a shard draws."""
    first = sampan.embedding.DynamicEmbedding(COUNT, DIM)
    layer = nn.Embedding(COUNT, DIM, sparse=True)
    layer.weight.set_value(first(sampan.arange(COUNT)))
    step = getattr(optimizer, rule)(RATE, parameters=layer.parameters(), **settings)
    for ids, rows in batches():
        layer(sampan.to_tensor(ids)).backward(sampan.to_tensor(rows[: len(ids)]))
        step.step()
        step.clear_grad()
    return layer.weight.numpy()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("cache_rows", [0, 30])
@pytest.mark.parametrize(("rule", "settings"), RULES)
def test_rows_are_stepped_as_in_one_table(
    rule: str, settings: dict[str, Any], cache_rows: int, shards: int, tmp_path: Path
) -> None:
    if cache_rows and settings == {} and rule == "Adam":
        table = TableSettings(DIM, COUNT, cache_rows, rule=rule)
        with pytest.raises(ValueError, match="needs one that leaves rows without a gradient unchanged"):
            Client(start_shards(1, folder=tmp_path)).table("t", table)
        return
    home = start_shards(shards, folder=tmp_path)  # closed below: it lets the files go
    client = Client(home)
    client.table("t", TableSettings(DIM, COUNT, cache_rows, rule=rule, rule_settings=settings))
    every = np.arange(COUNT)
    if not cache_rows:
        client.pull("t", every)  # all rows are there, as the exact Adam moves them all
    for ids, rows in batches():
        client.pull("t", ids)
        client.push({"t": (ids, rows[: len(ids)], RATE)})
    client.settle()
    found = client.pull("t", every, train=False)
    np.testing.assert_allclose(found, whole_table(rule, settings), rtol=0, atol=1e-6)
    home.close()
    gc.collect()
    again = Client(start_shards(shards, folder=tmp_path))  # nothing was saved: the log has it all
    again.table("t", TableSettings(DIM, COUNT, cache_rows, rule=rule, rule_settings=settings))
    if settings or rule != "Adam":  # the exact Adam moves rows that were never pushed, which no log has
        ids = batches()[0][0]
        np.testing.assert_array_equal(again.pull("t", ids), found[ids])
    assert again.step == len(batches()) + 1


@pytest.mark.parametrize("cache_rows", [0, 30])
@pytest.mark.parametrize("saved_at", [(), (2,), (1, 4)])
def test_a_push_counts_once_whatever_was_saved(
    cache_rows: int, saved_at: tuple[int, ...], tmp_path: Path
) -> None:
    """Whole numbers as gradients, so that sums are exact."""
    settings = TableSettings(DIM, COUNT, cache_rows, initializer=("constant", 0.0)).described()
    shard, expected = Shard(), np.zeros((COUNT, DIM), np.float32)
    shard.open(str(tmp_path), 0, 1)
    shard.table("t", settings)
    for step, (ids, rows) in enumerate(batches(4), 1):
        whole = np.rint(rows[: len(ids)])
        shard.pull("t", ids, step)
        assert shard.push("t", ids, whole, 1.0, 0, step)
        assert not shard.push("t", ids, whole, 1.0, 0, step)
        expected[ids] -= whole
        if step in saved_at:
            shard.save()
        assert not shard.push("t", ids, whole, 1.0, 0, step)
        assert shard.statistics("t")["repeated"] == 2
        shard.parts.clear()  # as after a kill: nothing is flushed, and its locks are gone
        gc.collect()
        reopened = Shard()
        assert reopened.open(str(tmp_path), 0, 1) == ["t"]
        assert reopened.table("t", settings) == [step]
        rows_now = reopened.pull("t", np.arange(COUNT), step + 1, False)["rows"]
        np.testing.assert_array_equal(rows_now, expected)
        shard = reopened


def test_a_full_disk_changes_nothing_and_training_goes_on(tmp_path: Path) -> None:
    settings = TableSettings(64, initializer=("constant", 0.0)).described()
    shard, ids = Shard(), np.arange(100)
    shard.open(str(tmp_path), 0, 1)
    shard.table("t", settings)
    rows = np.ones((100, 64), np.float32)
    shard.pull("t", ids, 1)
    shard.push("t", ids, rows, 1.0, 0, 1)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, unlimited[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            shard.save()
        with pytest.raises(OSError, match="File too large"):
            shard.push("t", ids, rows, 1.0, 0, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    for save in (True, False):
        again = Shard()
        again.open(str(tmp_path), 0, 1)
        assert (again.pull("t", ids, 2)["rows"] == -1).all()
        if save:
            again.save()
    assert again.push("t", ids, rows, 1.0, 0, 2)
    assert (again.pull("t", ids, 3)["rows"] == -2).all()


def test_only_admitted_ids_get_rows() -> None:
    ids = np.arange(4000)
    client = Client(start_shards(2))
    client.table("counted", TableSettings(1, admission=2, initializer=("constant", 1.0)))
    client.table("drawn", TableSettings(1, probability=0.25, initializer=("constant", 1.0)))
    assert client.pull("counted", ids).sum() == 0
    asked = client.ask_rows("counted", ids[:100])
    assert asked.wait().sum() == 100 and asked.known.all()
    asked = client.ask_rows("counted", np.arange(5000))
    assert asked.wait().sum() == 4000 and asked.known.sum() == 4000
    shares = [client.pull("drawn", ids).mean() for _ in range(3)]
    np.testing.assert_allclose(shares, [1 - 0.75**n for n in (1, 2, 3)], atol=0.03)
    assert client.pull("drawn", np.arange(-5, 4000), train=False).mean() == pytest.approx(
        shares[-1], abs=1e-2
    )
