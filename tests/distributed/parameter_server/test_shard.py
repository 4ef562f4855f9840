"""Names, settings and folders that do not fit; copies; old rows."""

from pathlib import Path

import numpy as np
import pytest

from sampan.distributed.parameter_server import Client, TableSettings, start_shards


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    client = Client(start_shards(2, folder=tmp_path))
    client.table("t", TableSettings(2))
    for settings, text in (
        (TableSettings(3), "there with other settings"),
        (TableSettings(2, workers=2, staleness=None), "there with other settings"),
    ):
        with pytest.raises(ValueError, match=text):
            client.table("t", settings)
    with pytest.raises(ValueError, match="a name that a folder may have"):
        client.table("../t", TableSettings(2))
    with pytest.raises(ValueError, match=r"expected one of the tables \['t'\]"):
        client.transport.request([(0, "pull", ("u", np.array([1]), 1))])
    with pytest.raises(ValueError, match="has another table"):
        start_shards(3, folder=tmp_path)
    with pytest.raises(ValueError, match="needs a shard with a folder"):
        Client(start_shards(1)).table("t", TableSettings(2, 10, 4))


def test_copies_are_loaded_and_old_rows_removed(tmp_path: Path) -> None:
    client = Client(start_shards(2))
    client.table("t", TableSettings(2, rule="Adam", rule_settings={"lazy_mode": True}))
    other = Client(start_shards(2, folder=tmp_path / "other"))
    other.table("t", client.tables["t"])
    ids, rows = np.arange(50), np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    client.pull("t", ids)
    client.push({"t": (ids, rows, 0.1)})
    client.save(str(tmp_path / "copy"))
    other.load("t", str(tmp_path / "copy"))
    for one in (client, other):
        one.push({"t": (ids, rows, 0.1)})
    np.testing.assert_array_equal(client.pull("t", ids, False), other.pull("t", ids, False))
    for _ in range(4):
        other.pull("t", ids[:10])
    assert other.shrink(3) == 40 and other.statistics("t")["rows"] == 10
    again = Client(start_shards(2, folder=tmp_path / "other"))
    assert (again.transport.request([(0, "statistics", ("t",))])[0]["rows"]) == 5
    with pytest.raises(FileNotFoundError, match="no table was saved here"):
        other.load("t", str(tmp_path / "nothing"))
