"""Records that were not written whole; the log after a snapshot."""

from pathlib import Path

import numpy as np

from sampan.distributed.parameter_server import Shard, TableSettings


def test_a_log_that_was_cut_ends_before_the_record(tmp_path: Path) -> None:
    settings = TableSettings(1, initializer=("constant", 0.0)).described()
    shard = Shard()
    shard.open(str(tmp_path), 0, 1)
    shard.table("t", settings)
    one = np.array([7]), np.ones((1, 1), np.float32)
    shard.pull("t", one[0], 1)
    for step in (1, 2):
        shard.push("t", *one, 1.0, 0, step)
    (log,) = (tmp_path / "shard-0000" / "t").glob("log-*.bin")
    size = log.stat().st_size
    for cut in range(1, size // 2):
        log.write_bytes(log.read_bytes()[: size - cut])
        shard = Shard()
        shard.open(str(tmp_path), 0, 1)
        assert shard.table("t", settings) == [1]
        assert shard.push("t", *one, 1.0, 0, 2)  # sent again
        assert log.stat().st_size == size
        assert shard.pull("t", one[0], 3)["rows"].item() == -2


def test_pushes_after_a_snapshot_are_in_the_new_log(tmp_path: Path) -> None:
    settings = TableSettings(1, initializer=("constant", 0.0)).described()
    shard = Shard()
    shard.open(str(tmp_path), 0, 1)
    shard.table("t", settings)
    for step in range(1, 7):
        shard.push("t", np.array([7]), np.ones((1, 1), np.float32), 1.0, 0, step)
        if step == 3:
            shard.save()
    logs = sorted(path.name for path in (tmp_path / "shard-0000" / "t").glob("log-*.bin"))
    assert logs == ["log-3.bin"]
    again = Shard()
    again.open(str(tmp_path), 0, 1)
    assert again.table("t", settings) == [6]
    assert again.pull("t", np.array([7]), 7)["rows"].item() == -6
