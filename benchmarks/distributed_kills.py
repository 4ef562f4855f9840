"""Kills a random process of a training run with SIGKILL, again and again: one of two workers, or one of two shards to
which they push. How long until the next step; whether the losses are those of a run that nothing disturbed, bit for bit;
whether each push that was answered is in the tables once, and no other more than once.

    python -m benchmarks.distributed_kills --kills 500 [--what workers shards] [--round 25] [--seed 0] [--counts kills.json]

The kills are divided into rounds, each a run of its own. With --counts each finished round is written to a file, and the
same command goes on behind those that are there. The exit status is 1 where something was not as it should be.
"""

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
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distributed_kills_program import SHARED, TABLE, own_ids
from benchmarks.parameter_server_parts import Home, kept
from sampan.distributed.parameter_server import Client
from sampan.kernels.cpu_embedding_shards import divided
from sampan.serialization import replacing

ROOT = Path(__file__).resolve().parent.parent
EVERY = 10  # steps between two copies of the state
STEPS = 3 * EVERY  # for each kill
WHAT = "workers", "shards"


class Stuck(RuntimeError):
    """A run that does not go on after a kill."""


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--kills", type=int, default=50)
    given.add_argument("--what", nargs="+", choices=WHAT, default=list(WHAT))
    given.add_argument("--round", type=int, default=25)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--counts", type=Path)
    arguments = given.parse_args()
    rounds = finished(
        arguments.counts, {"what": arguments.what, "seed": arguments.seed, "round": arguments.round}
    )
    whole: dict[int, float] = {}
    while (done := sum(len(one["kills"]) for one in rounds["rounds"])) < arguments.kills:
        count = min(arguments.round, arguments.kills - done)
        rng = random.Random(f"{arguments.seed} {len(rounds['rounds'])}")
        with tempfile.TemporaryDirectory() as folder:
            if len(whole) < count * STEPS:
                whole = run(Path(folder, "whole"), 0, (), rng, count * STEPS)["losses"]
            try:
                found = run(Path(folder, "killed"), count, arguments.what, rng, count * STEPS)
                losses = found.pop("losses")
                found["equal"] = all(losses.get(step) == whole[step] for step in range(count * STEPS))
            except Stuck as error:
                print(error, flush=True)
                text = f"the run of seed {arguments.seed}, round {len(rounds['rounds'])}, did not go on"
                found = {"kills": [], "pushes": {"answered": 0, "other": 0, "wrong": [text]}, "equal": True}
        rounds["rounds"].append(found)
        if arguments.counts is not None:
            with replacing(arguments.counts) as file:
                file.write(json.dumps(rounds).encode())
        print(
            f"round {len(rounds['rounds'])}: {len(found['kills'])} kills, wrong: {wrong(found) or 'nothing'}",
            flush=True,
        )
        if not found["kills"]:
            break
    sys.exit(told(rounds["rounds"]))


def finished(path: Path | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The rounds that are in the file. Raises SystemExit where they had other settings."""
    if path is None or not path.exists():
        return {**settings, "rounds": []}
    found: dict[str, Any] = json.loads(path.read_text())
    if {name: found[name] for name in settings} != settings:
        raise SystemExit(
            f"{path} has rounds of another command: { ({name: found[name] for name in settings}) }"
        )
    return found


def wrong(one: dict[str, Any]) -> list[str]:
    """What was not as it should be in a round."""
    return [
        *one["pushes"]["wrong"],
        *([] if one["equal"] else ["losses differ from those of the undisturbed run"]),
    ]


def told(rounds: Sequence[dict[str, Any]]) -> int:
    """Print what all rounds gave; the exit status."""
    kills = [one for found in rounds for one in found["kills"]]
    for what in WHAT:
        if times := [one["seconds"] for one in kills if one["what"] == what]:
            print(
                f"{len(times)} kills of {what}: the next step after {statistics.median(times):.2f} s (median), "
                f"{max(times):.2f} s (most)"
            )
    if again := [one["again"] for one in kills if one["what"] == "workers"]:
        print(
            f"steps computed again after a kill: {statistics.mean(again):.1f} (mean), {max(again)} (most), "
            f"copies every {EVERY}"
        )
    answered, other = (sum(one["pushes"][name] for one in rounds) for name in ("answered", "other"))
    if answered:
        print(f"{answered} pushes were answered; {other} others were cut off by a worker's end")
    bad = [text for one in rounds for text in wrong(one)]
    print(f"wrong: {'; '.join(bad) or 'nothing'}, in {len(rounds)} rounds with {len(kills)} kills")
    return 1 if bad else 0


def run(folder: Path, kills: int, what: Sequence[str], rng: random.Random, steps: int) -> dict[str, Any]:
    """Run to the end with so many kills: losses by step, each kill, and what became of the pushes."""
    folder.mkdir()
    none: Any = nullcontext()
    with kept("sockets", 2, str(folder / "shards")) if "shards" in what else none as home:
        addresses = ",".join(home.transport.endpoints) if home else ""
        launcher = launched(folder, kills, steps, addresses)
        found = [killed(rng.choice(what), launcher, folder, home, rng) for _ in range(kills)]
        if launcher.wait(timeout=600) != 0:
            raise Stuck(f"the run ended with exit status {launcher.returncode}")
        pushes = checked(folder, home) if home else {"answered": 0, "other": 0, "wrong": []}
    losses = {line[0]: line[1] for line in lines_of(folder, 0)}
    return {"kills": found, "pushes": pushes, "losses": losses}


def launched(folder: Path, kills: int, steps: int, addresses: str) -> subprocess.Popen[bytes]:
    program = str(Path(__file__).with_name("distributed_kills_program.py"))
    options = ["--nproc_per_node=2", f"--max_restart={kills + 1}"]
    job = f"bench-{os.getpid()}-{folder.name}"
    command = [sys.executable, "-m", "sampan.distributed.launch", *options, program]
    variables = os.environ | {
        "PYTHONPATH": f"{ROOT / 'lib'}",
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [*command, str(steps), str(EVERY), job, addresses],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def killed(
    what: str, launcher: subprocess.Popen[bytes], folder: Path, home: Home | None, rng: random.Random
) -> dict[str, Any]:
    """Kill one process at some moment: what it was, the seconds until a step that began afterwards has ended, and for a
    worker how many steps were computed again."""
    wait_for(launcher, folder, lambda lines: len(lines) > 0)
    time.sleep(rng.uniform(0.1, 0.6))
    number = rng.randrange(2)
    if what == "shards":
        assert home is not None
        begun = time.time()
        while not kill(home.pids()[number]):
            time.sleep(0.02)  # it is being started again
            begun = time.time()
        after = wait_for(launcher, folder, lambda lines: lines[-1][3] > begun)
        first = next(line for line in after if line[3] > begun)
        return {"what": what, "seconds": first[4] - begun, "again": 0}
    while not ((lines := lines_of(folder, number)) and kill(lines[-1][2])):
        time.sleep(0.02)  # it has run no step since the last restart
    begun, before = time.time(), lines_of(folder, 0)
    after = wait_for(launcher, folder, lambda lines: lines[-1][2] != before[-1][2])
    first = next(line for line in after if line[4] > begun and line[2] == after[-1][2])
    again = max(line[0] for line in after if line[2] != first[2]) + 1 - first[0]
    return {"what": what, "seconds": first[4] - begun, "again": again}


def checked(folder: Path, home: Home) -> dict[str, Any]:
    """How often each push is in the tables: its own rows say it for each shard, as it alone raises them by 1; and the rows
    that all share are the sums."""
    client, bad = Client(home.transport), []
    client.table("t", TABLE)
    counts, sums = {"answered": 0, "other": 0}, np.zeros(2)
    for worker in range(2):
        lines = [line.split() for line in (folder / f"pushes.{worker}").read_text().splitlines()]
        answered = {int(line[0]) for line in lines if line[1:]}
        for push in sorted({int(line[0]) for line in lines}):
            ids = own_ids(worker, push)
            rows = client.pull("t", ids, train=False)
            order, bounds = divided(ids, 2)
            found = [np.unique(rows[order[bounds[shard] : bounds[shard + 1]]]) for shard in range(2)]
            counts["answered" if push in answered else "other"] += 1
            right = [1.0] if push in answered else [0.0, 1.0]
            if any(len(one) != 1 or one[0] not in right for one in found):
                bad.append(f"push {push} of worker {worker} counts {found}, answered: {push in answered}")
            else:
                sums += [one[0] for one in found]
    shared = client.pull("t", SHARED, train=False)
    order, bounds = divided(SHARED, 2)
    for shard in range(2):
        rows = shared[order[bounds[shard] : bounds[shard + 1]]]
        if not (rows == sums[shard]).all():
            bad.append(f"rows of shard {shard} have {np.unique(rows)} in place of {sums[shard]}")
    return {**counts, "wrong": bad}


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
            raise Stuck(
                f"no further step; the launcher's exit status is {launcher.returncode}\n" + "\n".join(ends)
            )
        time.sleep(0.01)
    return lines


if __name__ == "__main__":
    main()
