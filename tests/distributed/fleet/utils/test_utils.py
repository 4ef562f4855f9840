"""Files of this machine, and what programs of hybrid parallelism call."""

import pytest

import sampan as paddle
from sampan.distributed import fleet
from tests.distributed.fleet import parallel_programs as programs


def test_files_of_this_machine(tmp_path):
    files = fleet.utils.fs.LocalFS()
    files.mkdirs(str(tmp_path / "a" / "b"))
    files.touch(str(tmp_path / "a" / "c"))
    assert files.ls_dir(str(tmp_path / "a")) == (["b"], ["c"])
    files.mv(str(tmp_path / "a" / "c"), str(tmp_path / "d"))
    with pytest.raises(FileNotFoundError):
        files.mv(str(tmp_path / "a" / "c"), str(tmp_path / "e"))
    files.delete(str(tmp_path / "a"))
    assert not files.is_exist(str(tmp_path / "a"))


@pytest.mark.servers
@pytest.mark.parametrize("known", [True, False])
def test_gradients_become_means(workers, known):
    for dense, rows, without in workers(2)(programs.averaged, known):
        assert dense == [2.5, 2.5]  # of 2 and 3
        assert rows == [[1, 1], [0.5, 0.5], [0.5, 0.5]]
        assert without is None


def test_gradients_of_one_process_stay():
    x = paddle.ones([2])
    x.stop_gradient = False
    (x * 3).sum().backward()
    fleet.utils.hybrid_parallel_util.fused_allreduce_gradients([x], None)
    assert x.grad.tolist() == [3, 3]
