"""Two launchers, as on two machines: one joins a run, and is killed."""

import subprocess
import sys
import time

import pytest

from sampan.distributed.spawn import free_ports

pytestmark = pytest.mark.servers

PROGRAM = """
import sys, time
import sampan as paddle
import sampan.distributed as dist
dist.init_parallel_env()
for step in range(int(sys.argv[1])):
    total = paddle.to_tensor(1.0)
    dist.all_reduce(total)
    print(int(total.item()), flush=True)
    time.sleep(0.05)
"""


def test_a_machine_joins_and_is_killed(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    master = f"127.0.0.1:{free_ports(1)[0]}"
    command = [sys.executable, "-m", "sampan.distributed.launch", "--nnodes=1:2", f"--master={master}"]

    def start(rank):
        own = [*command, f"--rank={rank}", f"--log_dir=log{rank}", "program.py", "100000"]
        return subprocess.Popen(own, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def sizes():
        """How many processes took part in the last steps of the first machine."""
        log = tmp_path / "log0" / "workerlog.0"
        lines = log.read_text().split() if log.exists() else []
        return [line for line in lines if line in ("1", "2")][-3:]

    def wait_for(expected):
        end = time.monotonic() + 60
        while sizes() != [expected] * 3:
            assert time.monotonic() < end, sizes()
            time.sleep(0.05)

    with start(0) as first:
        wait_for("1")
        with start(1) as second:
            wait_for("2")
            second.kill()
        wait_for("1")
        first.terminate()
        assert first.wait(timeout=30) == 128 + 15
