"""Several processes beside torch's DDP and its sparse all_reduce: Markdown tables.

    python -m benchmarks.distributed [--rounds 15] [--steps 200] [--only MLP] [--network]

Each row starts its processes, which run all programs in turn. As root they have network namespaces of their own, so that
the counters of the interface hold their bytes alone. --network: two namespaces joined by a link of 1 Gbit/s and of
200 Mbit/s (veth, tc tbf), for what overlap saves.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SPACES = ("sampan0", "sampan1")
KINDS = ("MLP of 8 x 1024", "ResNet-18", "LSTM", "Embedding")


def work(rank: int, world: int, address: str, device: str, name: str, given: list[Any]) -> None:
    """One process of a row; that of rank 0 prints the result."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", device)
    import torch

    from sampan.transport.threads import use_threads

    use_threads(1)
    host, port = address.split(":")
    store = torch.distributed.TCPStore(host, int(port), world, rank == 0)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=world)
    module, function = name.rsplit(".", 1)
    found = getattr(importlib.import_module(f"benchmarks.{module}"), function)(*given)
    if rank == 0:
        print("\n" + json.dumps(found))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@contextmanager
def namespaces(rate: str) -> Iterator[None]:
    """Two network namespaces joined by a link of this rate. Needs root."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    for space in SPACES:
        ip("netns", "add", space)
    try:
        ip(
            "link",
            "add",
            "dp0",
            "netns",
            SPACES[0],
            "type",
            "veth",
            "peer",
            "name",
            "dp1",
            "netns",
            SPACES[1],
        )
        for number, space in enumerate(SPACES):
            ip("-n", space, "link", "set", "lo", "up")
            alone = [
                "sysctl",
                "-qw",
                "net.ipv6.conf.all.disable_ipv6=1",
            ]  # gloo would take a link-local address
            subprocess.run(["ip", "netns", "exec", space, *alone], check=True)
            ip("-n", space, "addr", "add", f"10.77.0.{number + 1}/24", "dev", f"dp{number}")
            ip("-n", space, "link", "set", f"dp{number}", "up")
            limit = ["tbf", "rate", rate, "burst", "256kb", "latency", "50ms"]
            subprocess.run(
                ["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", f"dp{number}", "root", *limit],
                check=True,
            )
        yield
    finally:
        for space in SPACES:
            ip("netns", "delete", space)


def row(name: str, given: list[Any], world: int = 2, linked: bool = False) -> dict[str, Any]:
    """The result of rank 0."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "10.77.0.1:29400" if linked else f"127.0.0.1:{free.getsockname()[1]}"
    started = []
    for rank in range(world):
        own = [str(rank), str(world), address, f"dp{rank}" if linked else "lo", name, json.dumps(given)]
        command = [sys.executable, "-m", "benchmarks.distributed", "--work", *own]
        inside = ["ip", "netns", "exec", SPACES[rank], *command] if linked else command
        started.append(subprocess.Popen(inside, cwd=ROOT, stdout=subprocess.PIPE, text=True))
    answers = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{name} {given}: a process failed")
    found: dict[str, Any] = json.loads(answers[0].splitlines()[-1])
    return found


def steps(wanted: str, rounds: int) -> Iterator[str]:
    yield "| step, 2 processes | ours / DDP (goal 1.05) | ms | bytes ours / DDP | counted / counter |"
    yield "|---|---|---|---|---|"
    for kind in KINDS:
        if wanted.lower() in kind.lower():
            found = row("distributed_rows.data_parallel", [kind, rounds])
            ours, theirs = found["sampan bytes"], found["torch bytes"]
            yield (
                f"| {kind} | {found['sampan'] / found['torch']:.2f} | {found['sampan'] * 1e3:.1f} / {found['torch'] * 1e3:.1f} "
                f"| {ours / theirs:.4f} ({ours / 1e6:.2f} MB) | {2 * found['counted'] / ours:.4f} |"
            )


def losses(wanted: str, count: int) -> Iterator[str]:
    yield f"| loss after {count} steps, 2 processes | ours from DDP's, float32 | float64 (goal 1e-6) | DDP's float32 from its float64 |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        if wanted.lower() in kind.lower():
            found = row("distributed_rows.losses", [kind, count])
            yield f"| {kind} | {found['float32']:.1e} | {found['float64']:.1e} | {found['rounding']:.1e} |"


def exchanges(rounds: int) -> Iterator[str]:
    yield "| rows of 65,536 Zipf ids, 1M x 64 | time / torch sparse (goal 0.8) | processor's time | bytes (goals 1.0, 0.55) | of dense |"
    yield "|---|---|---|---|---|"
    for world in (2, 4):
        for half in (False, True):
            found = row("distributed_rows.rows", [65_536, half, rounds], world)
            dense = 2 * (world - 1) * 1_000_000 * 64 * 4
            yield (
                f"| {world} processes, {'bfloat16' if half else 'float32'} | {found['sampan'] / found['torch']:.2f} "
                f"({found['sampan'] * 1e3:.0f} ms) | {found['sampan, cpu'] / found['torch, cpu']:.2f} "
                f"({found['sampan, cpu'] * 1e3:.1f} ms) | {found['sampan bytes'] / found['torch bytes']:.3f} "
                f"({found['sampan bytes'] / 1e6:.2f} MB) | {found['sampan bytes'] / dense:.2%} |"
            )


def parts(rounds: int) -> Iterator[str]:
    yield "| MLP of 8 x 1024, AdamW, 2 processes | step / DataParallel | state (goal 0.55) | gradients | parameters |"
    yield "|---|---|---|---|---|"
    found = row("distributed_rows.sharded", [rounds])
    for level in ("os", "os_g", "p_g_os"):
        kept = ("state", "gradients", "parameters")
        sizes = " | ".join(f"{found[f'{level} {what}'] / found[f'whole {what}']:.3f}" for what in kept)
        yield f"| {level} | {found[level] / found['whole']:.2f} ({found[level] * 1e3:.0f} ms) | {sizes} |"
    found = row("distributed_rows.tensor_parallel", [rounds])
    yield ""
    yield "| perceptron of 1024 x 4096, 256 rows | cut over 2 / whole | ms | bytes a process sends |"
    yield "|---|---|---|---|"
    cut, whole = found["cut"], found["whole"]
    yield f"| forward and backward | {cut / whole:.2f} | {cut * 1e3:.1f} / {whole * 1e3:.1f} | {found['bytes'] / 1e6:.2f} MB |"


def overlap(wanted: str, rounds: int) -> Iterator[str]:
    yield "| step over a link | rate | ours / DDP | with / without overlap (goal 0.90) | DGC / DDP (goal 0.35) | LocalSGD 8 / DDP | ms |"
    yield "|---|---|---|---|---|---|---|"
    for rate in ("1gbit", "200mbit"):
        with namespaces(rate):
            for kind in KINDS[:2]:
                if wanted.lower() in kind.lower():
                    found = row("distributed_rows.data_parallel", [kind, rounds, True], linked=True)
                    late, ddp = found["sampan, after backward"], found["torch"]
                    ratios = (
                        found["sampan"] / ddp,
                        found["sampan"] / late,
                        found["DGC"] / ddp,
                        found["LocalSGD"] / ddp,
                    )
                    yield (
                        f"| {kind} | {rate} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} "
                        f"| {found['sampan'] * 1e3:.0f}, DDP {ddp * 1e3:.0f}, after backward {late * 1e3:.0f} |"
                    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--work", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        rank, world, address, device, name, given = options.work
        work(int(rank), int(world), address, device, name, json.loads(given))
        return
    if (
        os.geteuid() == 0 and "SAMPAN_OWN_NETWORK" not in os.environ
    ):  # so that the counters hold our bytes alone
        os.environ["SAMPAN_OWN_NETWORK"] = "1"
        again = [sys.executable, "-m", "benchmarks.distributed", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *again])
    from benchmarks.machine import processor  # not in each process of a row

    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, {processor()}; load before the start {load:.1f}; {options.rounds} rounds, interleaved\n"
    )
    lines = (
        overlap(options.only, options.rounds)
        if options.network
        else chain(steps(options.only, options.rounds), losses(options.only, options.steps))
    )
    for line in lines:
        print(line, flush=True)
    if not options.network and options.only.lower() in "parts":
        for line in parts(options.rounds):
            print(line, flush=True)
    if not options.network and options.only.lower() in "rows":
        for line in exchanges(options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
