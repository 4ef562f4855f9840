"""spawn: environments, results, errors, and processes that end with the one that started them."""

import os
import signal
import subprocess
import sys
import time

import numba
import psutil
import pytest
import torch

import sampan as paddle
import sampan.distributed as dist

pytestmark = pytest.mark.servers


def total_of_ranks(factor):
    dist.init_parallel_env()
    x = paddle.full([2], factor * (dist.get_rank() + 1.0))
    dist.all_reduce(x)
    names = ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_CURRENT_ENDPOINT", "PADDLE_DISTRI_BACKEND")
    own = [list(batch) for batch in paddle.io.DistributedBatchSampler(list(range(6)), batch_size=2)]
    assert own == ([[0, 1], [4]] if dist.get_rank() == 0 else [[2, 3], [5]])
    return x.tolist(), [os.environ[name] for name in names], os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")


def test_two_processes():
    context = dist.spawn(total_of_ranks, args=(10,), nprocs=2, backend="gloo")
    for rank, queue in enumerate(context.return_queues):
        total, (own, count, endpoint, backend), endpoints = queue.get()
        assert total == [30, 30]
        assert (own, count, backend) == (str(rank), "2", "gloo")
        assert (len(endpoints), endpoints[rank]) == (2, endpoint)


def threads():
    return torch.get_num_threads(), numba.get_num_threads()


def test_processes_share_the_cores(monkeypatch):
    """Twice as many threads as cores wait for one another: a step with a table took 1.8 times as long."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    context = dist.spawn(threads, nprocs=2, backend="gloo")
    assert [queue.get() for queue in context.return_queues] == [(share, share)] * 2


def fails_on_one():
    if dist.get_rank() == 1:
        raise KeyError("no such table")
    time.sleep(60)


def test_an_error_has_rank_and_traceback():
    start = time.monotonic()
    with pytest.raises(Exception, match=r"(?s)Process 1 terminated.*fails_on_one.*KeyError: 'no such table'"):
        dist.spawn(fails_on_one, nprocs=2)
    assert time.monotonic() - start < 50  # the other process was ended


def runs(process):
    """Whether a process is still there, and not only its entry in the kernel's table."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


PROGRAM = """
import time
import sampan.distributed as dist

def waits():
    print("started", flush=True)
    time.sleep(300)

if __name__ == "__main__":
    dist.spawn(waits, nprocs=2)
"""


def test_killed_with_its_parent(tmp_path):
    path = tmp_path / "waits.py"
    path.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True) as program:
        assert [program.stdout.readline() for _ in range(2)] == ["started\n"] * 2
        children = psutil.Process(program.pid).children(recursive=True)
        assert len(children) >= 2
        program.send_signal(signal.SIGKILL)
        end = time.monotonic() + 60
        while any(runs(child) for child in children):
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_launched_program_written_for_paddle_starts_processes(tmp_path):
    """They import the program anew, so `import paddle` must work in them too, and the launcher's variables are not theirs."""
    program = tmp_path / "program.py"
    program.write_text(
        "import paddle\n"
        "import paddle.distributed as dist\n"
        "def add():\n"
        "    dist.init_parallel_env()\n"
        "    total = paddle.to_tensor(dist.get_rank() + 1.0)\n"
        "    dist.all_reduce(total)\n"
        "    return total.item()\n"
        "if __name__ == '__main__':\n"
        "    print([queue.get() for queue in dist.spawn(add, nprocs=2).return_queues])\n"
    )
    start = f"import runpy, sampan; sampan.compat.install(); runpy.run_path({str(program)!r}, run_name='__main__')"
    launcher = {
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "9",
        "RANK": "0",
    }
    command = [sys.executable, "-c", start]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **launcher}
    )
    assert done.stdout == "[3.0, 3.0]\n", done.stderr
