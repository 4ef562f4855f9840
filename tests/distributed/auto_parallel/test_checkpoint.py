"""Checkpoints: what was saved is read into other placements."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_a_state_is_read_into_other_placements_and_merged(workers, tmp_path):
    for saved, read, merged, epoch, lies, _ in workers(2)(programs.saved_and_read, str(tmp_path)):
        assert (epoch, lies) == (3, "[Shard(dim=0)]")
        assert merged.keys() == {f"net.{name}" for name in read}
        for name, value in merged.items():
            assert np.array_equal(value, read[name.removeprefix("net.")])
        assert saved.keys() == read.keys()


def test_what_two_processes_wrote_one_reads(workers, tmp_path):
    workers(2)(programs.saved_and_read, str(tmp_path))
    net = programs.made("mlp")
    dist.load_state_dict({"net": net.state_dict()}, str(tmp_path))
    merged = dist.load_merged_state_dict(str(tmp_path), "net.")
    for name, value in net.state_dict().items():
        assert np.array_equal(value.numpy(), merged[f"net.{name}"].numpy())


def test_one_process_saves_and_reads(tmp_path):
    state = {"w": sampan.arange(4, dtype="float32"), "nested": {"epoch": 2}}
    dist.save_state_dict(state, str(tmp_path), unique_id=7)
    assert (tmp_path / "7").is_dir()
    read = {"w": sampan.zeros([4]), "nested": {"epoch": 0}}
    dist.load_state_dict(read, str(tmp_path), unique_id=7)
    assert read["w"].tolist() == [0.0, 1.0, 2.0, 3.0] and read["nested"]["epoch"] == 2
    with pytest.raises(TypeError, match="expected a dict, got list"):
        dist.save_state_dict([], str(tmp_path))
