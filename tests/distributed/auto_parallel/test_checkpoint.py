"""Checkpoints: what was saved is read into other placements."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from tests.distributed.auto_parallel import programs
from tests.distributed.pool import Pool

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


def test_errors_name_the_state_and_the_reason(tmp_path):
    dist.save_state_dict({"w": sampan.ones([4])}, str(tmp_path))
    with pytest.raises(ValueError, match=r"^load_state_dict: state_dict: .*Missing key.* v.* \(rank 0\)$"):
        dist.load_state_dict({"v": sampan.ones([4])}, str(tmp_path))
    with pytest.raises(ValueError, match=r"^load_state_dict: state_dict: .*Size mismatch"):
        dist.load_state_dict({"w": sampan.ones([5])}, str(tmp_path))
    for load in (
        lambda path: dist.load_state_dict({"w": sampan.ones([4])}, path),
        dist.load_merged_state_dict,
    ):
        with pytest.raises(FileNotFoundError, match=r"path: no checkpoint in .*absent"):
            load(str(tmp_path / "absent"))


SAVES_TWICE = """
import resource, signal, sys
import sampan
import sampan.distributed as dist

dist.save_state_dict({"w": sampan.full([100_000], 1.0)}, sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN if sys.argv[2] == "full" else signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
dist.save_state_dict({"w": sampan.full([100_000], 2.0)}, sys.argv[1])
"""


@pytest.mark.parametrize("how", ["full", "killed"])
def test_a_save_that_fails_leaves_the_checkpoint_that_was_there(tmp_path, how):
    """The second save may write a quarter of its file: then the disk is full, or a signal ends the process."""
    program = [sys.executable, "-c", SAVES_TWICE, str(tmp_path), how]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == (1 if how == "full" else -signal.SIGXFSZ)
    assert len([*tmp_path.glob("*.distcp")]) == 2
    read = {"w": sampan.zeros([100_000])}
    dist.load_state_dict(read, str(tmp_path))
    assert read["w"].numpy().min() == read["w"].numpy().max() == 1.0
    dist.save_state_dict({"w": sampan.full([100_000], 3.0)}, str(tmp_path))
    assert len([*tmp_path.glob("*.distcp")]) == 1  # without what was left
    dist.load_state_dict(read, str(tmp_path))
    assert read["w"].numpy().min() == 3.0


def saved_again(folder):
    mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    for number in range(3):
        whole = sampan.arange(8, dtype="float32") + number
        state = {"w": dist.shard_tensor(whole, mesh, [dist.Shard(0)])}
        dist.save_state_dict(state, folder, async_save=number == 1)
    dist.barrier()


def test_a_checkpoint_of_two_processes_is_replaced(workers, tmp_path):
    workers(2)(saved_again, str(tmp_path))
    assert dist.load_merged_state_dict(str(tmp_path))["w"].tolist() == [2.0 + k for k in range(8)]
    assert len([*tmp_path.glob("*.distcp")]) == 2


def saved_with_a_group_of_some(folder):
    dist.new_group([0, 1])  # these are in more groups than the third process
    dist.save_state_dict({"w": sampan.full([2], 5.0)}, folder, async_save=True)
    dist.save_state_dict({"w": sampan.ones([1])}, folder + "-next")  # waits for the first


def test_a_save_in_the_background_of_processes_in_different_groups(tmp_path):
    pool = Pool(3)  # its own: other tests begin with processes that are in the same groups
    try:
        pool(saved_with_a_group_of_some, str(tmp_path / "c"))
    finally:
        pool.close()
    assert dist.load_merged_state_dict(str(tmp_path / "c"))["w"].tolist() == [5.0, 5.0]


def saved_while_training(folder):
    """The values at the call are written, while collectives of the program go on."""
    mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    whole = sampan.arange(100_000, dtype="float32")
    weight = dist.shard_tensor(whole, mesh, [dist.Shard(0)])
    own = sampan.full([2, 2], float(dist.get_rank()))
    part = dist.ShardedWeight("own", own, (2, 2), (4, 2), (2 * dist.get_rank(), 0))
    dist.save_state_dict({"w": weight, "own": part}, folder, async_save=True)
    with sampan.no_grad():
        weight.multiply_(sampan.to_tensor(0.0))
        own.fill_(9.0)
    totals = []
    for number in range(100):
        total = sampan.full([1], float(number))
        dist.all_reduce(total)
        totals.append(total.item() == 2 * number)
    dist.save_state_dict({"again": sampan.ones([1])}, folder + "-next")  # waits for the first
    read = dist.load_merged_state_dict(folder)
    dist.barrier()
    return all(totals), (read["w"] == whole).all().item(), read["own"].tolist()


def test_a_save_in_the_background(workers, tmp_path):
    rows = [[0.0, 0.0]] * 2 + [[1.0, 1.0]] * 2
    assert workers(2)(saved_while_training, str(tmp_path / "c")) == [(True, True, rows)] * 2


def test_the_error_of_a_save_in_the_background_is_raised_by_the_next(tmp_path):
    (tmp_path / "file").write_text("")
    dist.save_state_dict({"w": sampan.ones([1])}, str(tmp_path / "file" / "under"), async_save=True)
    with pytest.raises(ValueError, match="save_state_dict: state_dict: NotADirectoryError"):
        dist.save_state_dict({"w": sampan.ones([1])}, str(tmp_path / "good"))
    dist.save_state_dict({"w": sampan.ones([1])}, str(tmp_path / "good"))
