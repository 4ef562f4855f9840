"""Kills a random process of a training run with SIGKILL, again and again: how long until the next step, and whether
the losses are those of a run that nothing disturbed. `python -m benchmarks.distributed_kills --kills 50`; at night
`--kills 500`, with another `--seed` each time."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EVERY = 10  # steps between two copies of the state
PROGRAM = textwrap.dedent(
    """
    import json, os, sys, time
    import numpy as np
    import sampan as paddle
    import sampan.distributed as dist
    from sampan.distributed.elastic import Run, Samples

    dist.init_parallel_env()
    paddle.seed(3)
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((4000, 64)).astype("float32"), rng.integers(0, 10, 4000)
    model = paddle.nn.Sequential(
        paddle.nn.Linear(64, 256), paddle.nn.ReLU(), paddle.nn.Dropout(0.2), paddle.nn.Linear(256, 10)
    )
    optimizer = paddle.optimizer.Adam(0.001, parameters=model.parameters())
    steps, every, job = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    run = Run(model, optimizer, Samples(4000, 64), "state", every=every, job=job)
    log = open(f"steps.{dist.get_rank()}", "a", buffering=1)
    for step in run.steps(steps):
        x, y = paddle.to_tensor(xs[step.samples]), paddle.to_tensor(ys[step.samples])
        loss = step.share(paddle.nn.functional.cross_entropy(model(x), y))
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
        optimizer.step()
        optimizer.clear_grad()
        time.sleep(0.02)  # a step of a larger network
        print(json.dumps([step.number, float(loss), os.getpid(), time.time()]), file=log)
    """
)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--kills", type=int, default=50)
    given.add_argument("--seed", type=int, default=0)
    arguments = given.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole = run(Path(folder, "whole"), 0, rng, arguments.kills * 3 * EVERY)
        found = run(Path(folder, "killed"), arguments.kills, rng, arguments.kills * 3 * EVERY)
    times = found["times"]
    print(
        f"{len(times)} of {arguments.kills} kills: the next step after {statistics.median(times):.2f} s (median), {max(times):.2f} s (most)"
    )
    print(
        f"steps computed again after a kill: {statistics.mean(found['again']):.1f} (mean), {max(found['again'])} (most), copies every {EVERY}"
    )
    same = found["losses"] == whole["losses"]
    print(f"losses of {len(whole['losses'])} steps equal to the undisturbed run, bit for bit: {same}")
    if len(times) < arguments.kills or not same:
        sys.exit(1)


def run(folder: Path, kills: int, rng: random.Random, steps: int) -> dict[str, Any]:
    """Run to the end with so many kills: losses by step, seconds and repeated steps of each kill."""
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "sampan.distributed.launch",
        "--nproc_per_node=2",
        f"--max_restart={kills + 1}",
    ]
    command += ["program.py", str(steps), str(EVERY), f"bench-{os.getpid()}-{folder.name}"]
    variables = os.environ | {
        "PYTHONPATH": f"{ROOT / 'lib'}",
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }
    launcher = subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    times, again = [], []
    for _ in range(kills):
        wait_for(launcher, folder, lambda lines: len(lines) > 0)
        time.sleep(rng.uniform(0.1, 0.6))
        rank = rng.randrange(2)
        while not ((lines := lines_of(folder, rank)) and kill(lines[-1][2])):
            time.sleep(0.02)  # it has run no step since the last restart
        begun, before = time.time(), lines_of(folder, 0)
        after = wait_for(launcher, folder, lambda lines, old=before[-1][2]: lines[-1][2] != old)
        first = next(line for line in after if line[3] > begun and line[2] == after[-1][2])
        times.append(first[3] - begun)
        again.append(max(line[0] for line in after if line[2] != first[2]) + 1 - first[0])
    if launcher.wait(timeout=600) != 0:
        raise SystemExit(f"the run ended with exit status {launcher.returncode}")
    return {"times": times, "again": again, "losses": {line[0]: line[1] for line in lines_of(folder, 0)}}


def kill(pid: int) -> bool:
    """SIGKILL; whether there was such a process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def lines_of(folder: Path, rank: int) -> list[list[Any]]:
    path = folder / f"steps.{rank}"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(
    launcher: subprocess.Popen[bytes], folder: Path, condition: Any, seconds: float = 60.0
) -> list[list[Any]]:
    end = time.monotonic() + seconds
    while not ((lines := lines_of(folder, 0)) and condition(lines)):
        if launcher.poll() is not None or time.monotonic() > end:
            ends = [f"{path.name}:\n{path.read_text()[-2000:]}" for path in folder.glob("log/workerlog.*")]
            launcher.kill()
            raise SystemExit(
                f"no further step; the launcher's exit status is {launcher.returncode}\n" + "\n".join(ends)
            )
        time.sleep(0.01)
    return lines


if __name__ == "__main__":
    main()
