"""Runs of two processes that are killed at any moment, or whose network breaks, and the losses of one that nothing disturbed."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from sampan.distributed.elastic.kept import Copies, memory_folder
from tests.distributed import relay

pytestmark = pytest.mark.servers

PROGRAM = textwrap.dedent(
    """
    import json, os, sys
    import numpy as np
    import relay
    import sampan as paddle
    import sampan.distributed as dist
    from sampan.distributed.elastic import Run, Samples

    rank, attempt = dist.get_rank(), int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    kills = json.loads(sys.argv[1])  # one for each attempt: [rank, step, place]
    kill = kills[attempt] if attempt < len(kills) else [None, None, None]
    if rank == 1 and kill[2] == "network":
        network = relay.StoreRelay(int(os.environ["PADDLE_MASTER"].split(":")[1]))
        os.environ["PADDLE_MASTER"] = f"127.0.0.1:{network.port}"
    dist.init_parallel_env()

    def at(place, number):
        if kill == [rank, number, place]:
            os.kill(os.getpid(), 9)
        elif [rank, *kill] == [1, 1, number, "network"] and place == "all_reduce":
            for one in network.relays.values():
                one.cut()

    paddle.seed(3)
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((90, 6)).astype("float32"), rng.standard_normal((90, 1)).astype("float32")
    model = paddle.nn.Sequential(paddle.nn.Linear(6, 16), paddle.nn.Dropout(0.3), paddle.nn.Linear(16, 1))
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    run = Run(model, optimizer, Samples(90, 8), "state", every=3, job=sys.argv[2])
    log = open(f"losses.{rank}", "a", buffering=1)
    keep = run._keep
    def killed_while_keeping(step, disk):
        at("keep", step)
        keep(step, disk)
    run._keep = killed_while_keeping
    for step in run.steps(20):
        at("forward", step.number)
        loss = step.share(((model(paddle.to_tensor(xs[step.samples])) - paddle.to_tensor(ys[step.samples])) ** 2).mean())
        loss.backward()
        for parameter in model.parameters():
            at("all_reduce", step.number)
            dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
        at("step", step.number)
        optimizer.step()
        optimizer.clear_grad()
        print(json.dumps([attempt, step.number, float(loss), float(model[0].weight.sum())]), file=log)
    """
)


def run(folder, job, kills):
    """step -> (loss of rank 0, sum of its weights) as the last attempt had it, and the first step of each attempt."""
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    shutil.copy(relay.__file__, folder)
    command = [sys.executable, "-m", "sampan.distributed.launch", "--nproc_per_node=2", "--max_restart=9"]
    done = subprocess.run(
        [*command, "program.py", json.dumps(kills), job],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (folder / "losses.0").read_text().splitlines()]
    begins = {}
    for attempt, step, *_ in lines:
        begins.setdefault(attempt, step)
    print(done.stderr)  # shown where a test fails: why an attempt ended
    return {step: values for _, step, *values in lines}, begins


def test_whatever_moment_a_process_is_killed_in_the_losses_are_those_of_a_run_that_was_not(tmp_path):
    job = f"test-kills-{os.getpid()}"
    whole, _ = run(tmp_path / "whole", job + "-whole", [])
    kills = [[1, 5, "forward"], [0, 7, "all_reduce"], [1, 11, "step"], [0, 15, "keep"], [1, 17, "network"]]
    found, begins = run(tmp_path / "run", job, kills)
    assert found == whole and len(whole) == 20
    assert begins == {0: 0, 1: 3, 2: 6, 3: 9, 4: 12, 5: 15}  # at most three steps are computed again
    assert not memory_folder(job).exists() and Copies(tmp_path / "run" / "state").steps()[0] == 20
