"""Two launchers, as on two machines without a common disk: one is lost with its memory, and another takes its place."""

import json
import os
import runpy
import shutil
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

import sampan.distributed as dist
from sampan.distributed.spawn import free_ports

pytestmark = pytest.mark.servers

PROGRAM = textwrap.dedent(
    """
    import json, os, sys, time
    import numpy as np
    import sampan as paddle
    import sampan.distributed as dist
    from sampan.distributed.elastic import Run, Samples

    dist.init_parallel_env()
    rank, steps, pause = dist.get_rank(), int(sys.argv[1]), float(sys.argv[2])
    paddle.seed(3)
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((90, 6)).astype("float32"), rng.standard_normal((90, 1)).astype("float32")
    model = paddle.nn.Sequential(paddle.nn.Linear(6, 16), paddle.nn.Dropout(0.3), paddle.nn.Linear(16, 1))
    parameters = model.parameters()
    # Each process has the optimizer's state of its own half of the parameters.
    optimizer = paddle.optimizer.Adam(0.01, parameters=parameters[rank::2])
    run = Run(model, optimizer, Samples(90, 8), "state", every=3, job="machines", own=["optimizer"])
    log = open(f"losses.{rank}", "a", buffering=1)
    for step in run.steps(steps):
        x, y = paddle.to_tensor(xs[step.samples]), paddle.to_tensor(ys[step.samples])
        loss = step.share(((model(x) - y) ** 2).mean())
        loss.backward()
        for parameter in parameters:
            dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
        optimizer.step()
        model.clear_gradients()
        for number, parameter in enumerate(parameters):
            dist.broadcast(parameter, number % 2)
        print(json.dumps([run.restored, step.number, float(loss), float(model[0].weight.sum())]), file=log)
        time.sleep(pause)
    """
)


class Machine:
    """A launcher with a process, a folder and a memory of its own."""

    def __init__(self, folder, master, rank, steps, pause):
        self.folder = folder
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        command = [sys.executable, "-m", "sampan.distributed.launch", "--nnodes=2:2", f"--master={master}"]
        self.launcher = subprocess.Popen(
            [*command, f"--rank={rank}", "program.py", str(steps), str(pause)],
            cwd=folder,
            env=os.environ | {"SAMPAN_ELASTIC_MEMORY": str(folder / "memory")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def losses(self):
        """rank -> [restored, step, loss, sum of weights] of each step that this machine ran."""
        return {
            path.name: [json.loads(line) for line in path.read_text().splitlines()]
            for path in self.folder.glob("losses.*")
        }

    def reached(self, step):
        end = time.monotonic() + 100
        while not any(line[1] >= step for lines in self.losses().values() for line in lines):
            assert self.launcher.poll() is None
            assert time.monotonic() < end, (self.folder / "log/workerlog.0").read_text()
            time.sleep(0.02)

    def lost(self):
        """Killed, and nothing of it is left."""
        family = psutil.Process(self.launcher.pid).children(recursive=True)
        self.launcher.kill()
        self.launcher.wait()
        assert psutil.wait_procs(family, timeout=60)[1] == []  # they are killed by the kernel
        shutil.rmtree(self.folder)

    def ended(self):
        assert self.launcher.wait(timeout=100) == 0, (self.folder / "log/workerlog.0").read_text()


@pytest.fixture
def pair(tmp_path):
    """Starts two machines for a run; all are ended."""
    started = []

    def start(name, rank, master, steps, pause=0.0):
        started.append(Machine(tmp_path / name, master, rank, steps, pause))
        return started[-1]

    yield start
    for machine in started:
        machine.launcher.kill()
        machine.launcher.wait()


def undisturbed(folder, steps):
    """The program in a process of the pool."""
    before = os.getcwd()
    os.environ["SAMPAN_ELASTIC_MEMORY"] = f"{folder}/memory{dist.get_rank()}"
    sys.argv = ["program.py", str(steps), "0"]
    os.chdir(folder)
    try:
        runpy.run_path("program.py")
    finally:
        os.chdir(before)
        del os.environ["SAMPAN_ELASTIC_MEMORY"]


def test_what_a_lost_machine_had_is_in_the_memory_of_the_next_one(pair, workers, tmp_path):
    steps, master = 16, f"127.0.0.1:{free_ports(1)[0]}"
    first, second = pair("a", 0, master, steps, 0.1), pair("b", 1, master, steps, 0.1)
    first.reached(7)
    second.lost()
    third = pair("c", 1, master, steps, 0.0)
    first.ended()
    third.ended()
    (lines,) = [lines for name, lines in first.losses().items() if name == "losses.0"]
    restored = sorted({line[0] for line in lines})
    assert restored[0] == 0
    assert restored[-1] >= 6
    ((_, joined),) = third.losses().items()
    assert joined[0][0] >= 6  # it went on from there, with the lost state
    assert joined[-1][0] == restored[-1]
    (tmp_path / "d").mkdir()
    (tmp_path / "d/program.py").write_text(PROGRAM)
    workers(2)(undisturbed, str(tmp_path / "d"), steps)
    expected = [json.loads(line) for line in (tmp_path / "d/losses.0").read_text().splitlines()]
    assert {line[1]: line[2:] for line in lines} == {line[1]: line[2:] for line in expected}
    assert len(expected) == steps
