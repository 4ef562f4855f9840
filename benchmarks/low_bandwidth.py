"""Two processes train a small network with fewer bytes: accuracy and bytes beside dense gradients, a Markdown table.

    python -m benchmarks.low_bandwidth [--seeds 3] [--epochs 24] [--only DGC] [--data mnist] [--fresh]

A finished run is kept in build/low_bandwidth/, one JSON file each, so that an interrupted call goes on. The bytes are those
of `sampan.distributed.traffic`, of one process; the network is as small as two shared cores allow.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distributed import row

FOLDER = Path(__file__).resolve().parent.parent / "build" / "low_bandwidth"
BATCH = 16  # images of each process
WARM_UP_EPOCHS = 4
SETTINGS: dict[str, dict[str, float]] = {
    "mnist": {"rate": 0.03, "decay": 1e-4},
    "cifar10": {"rate": 0.02, "decay": 5e-4},
}
METHODS = (
    "dense",
    "bfloat16",
    "LocalSGD 8",
    "LocalSGD 8 after warm-up",
    "DiLoCo 8",
    "DGC 99.9 %",
    "PowerSGD 2",
)


def network(paddle: Any, data: str) -> Any:
    """Convolutions with a stride and two linear layers: 106,000 parameters for MNIST, 157,000 for CIFAR-10."""
    nn = paddle.nn
    widths, side = ((1, 16, 32), 7) if data == "mnist" else ((3, 16, 32, 64), 4)
    layers: list[Any] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2D(before, after, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(widths[-1] * side * side, 128 if side == 4 else 64), nn.ReLU(),
        nn.Linear(128 if side == 4 else 64, 10),
    )  # fmt: skip  # one row of fields to a line


def pictures(data: str, count: int) -> list[np.ndarray]:
    """Images [n, c, h, w] with mean 0 and deviation 1, at most `count`, their labels, and those to test with."""
    from sampan import datasets

    found = datasets.load(data)
    arrays: list[np.ndarray] = []
    for part in (found.train, found.test):
        images, labels = part.__getitems__(range(len(part)))
        arrays += [images, labels.ravel()]
    mean, deviation = arrays[0].mean(), arrays[0].std()
    arrays[0], arrays[2] = (arrays[0] - mean) / deviation, (arrays[2] - mean) / deviation
    return [arrays[0][:count], arrays[1][:count], *arrays[2:]]


def prepared(
    paddle: Any, model: Any, method: str, data: str, per_epoch: int, epochs: int
) -> tuple[Any, Any, Any]:
    """What is called, its optimizer, and the schedule of its learning rate. per_epoch: steps."""
    from sampan.distributed import compression

    settings = SETTINGS[data]
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(settings["rate"], per_epoch * epochs)
    decay, trained = settings["decay"], model.parameters()
    if method.startswith(
        "DGC"
    ):  # the momentum is in the exchange, and the decay is not: it acts 1 / (1 - 0.9) times
        optimizer = paddle.optimizer.SGD(schedule, parameters=trained, weight_decay=10 * decay)
    else:
        optimizer = paddle.optimizer.Momentum(schedule, 0.9, parameters=trained, weight_decay=decay)
    if method.startswith("LocalSGD"):
        begin = WARM_UP_EPOCHS * per_epoch if method.endswith("warm-up") else 1
        return model, compression.LocalSGD(optimizer, k_steps=8, begin_step=begin), schedule
    if method.startswith("DiLoCo"):
        return model, compression.DiLoCo(optimizer, k_steps=8, outer_rate=0.7, momentum=0.5), schedule
    parallel = paddle.DataParallel(model, last_comm_buffer_size=25)  # one message: the network is small
    if method == "bfloat16":
        parallel.compress_with(compression.HalfPrecision())
    elif method.startswith("DGC"):
        parallel.compress_with(compression.TopK(0.9, rampup_step=WARM_UP_EPOCHS * per_epoch))
    elif method.startswith("PowerSGD"):
        parallel.compress_with(compression.LowRank(2))
    return parallel, optimizer, schedule


def train(data: str, method: str, seeds: list[int], epochs: int, count: int) -> None:
    """In each of several processes: a run for each seed; that of rank 0 writes the file."""
    import torch.distributed as c10d

    import sampan as paddle
    from sampan.distributed import traffic

    rank, world = c10d.get_rank(), c10d.get_world_size()
    x, y, test_x, test_y = pictures(data, count)
    per_epoch = len(x) // (BATCH * world)
    for seed in seeds:
        paddle.seed(seed)
        model = network(paddle, data)
        called, optimizer, schedule = prepared(paddle, model, method, data, per_epoch, epochs)
        order = np.random.RandomState(seed)
        traffic.reset()
        began, wire, losses = time.time(), [], []
        for _ in range(epochs):
            places = order.permutation(len(x))
            flips = order.rand(len(x)) < (0.5 if data == "cifar10" else 0)
            for step in range(per_epoch):
                mine = places[(step * world + rank) * BATCH :][:BATCH]
                batch = np.where(flips[mine][:, None, None, None], x[mine][..., ::-1], x[mine])
                loss = paddle.nn.functional.cross_entropy(
                    called(paddle.to_tensor(batch)), paddle.to_tensor(y[mine])
                )
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                schedule.step()
                losses.append(loss.item())
            wire.append(sum(entry.wire for entry in traffic.totals().values()))
            if rank == 0:
                print(
                    f"{data} {method} seed {seed}: epoch {len(wire)}, loss {np.mean(losses[-per_epoch:]):.4f}",
                    file=sys.stderr,
                    flush=True,
                )
        with paddle.no_grad():
            guesses = [model(paddle.to_tensor(part)).numpy().argmax(1) for part in np.array_split(test_x, 10)]
        found = {
            "accuracy": float((np.concatenate(guesses) == test_y).mean()), "loss": float(np.mean(losses[-per_epoch:])),
            "wire": wire, "seconds": time.time() - began, "parameters": sum(p.size for p in model.parameters()),
        }  # fmt: skip  # one row of fields to a line
        if rank == 0:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path(data, method, seed, epochs, count).write_text(json.dumps(found))
        c10d.barrier()


def path(data: str, method: str, seed: int, epochs: int, count: int) -> Path:
    plain = "".join(c if c.isalnum() else "_" for c in method)
    return FOLDER / f"{data}-{plain}-{seed}-{epochs}-{count}.json"


def runs(data: str, method: str, seeds: int, epochs: int, count: int, fresh: bool) -> list[dict[str, Any]]:
    """The results of each seed; those that no file holds are computed."""
    if fresh:
        for seed in range(seeds):
            path(data, method, seed, epochs, count).unlink(missing_ok=True)
    if missing := [seed for seed in range(seeds) if not path(data, method, seed, epochs, count).exists()]:
        row("low_bandwidth.train", [data, method, missing, epochs, count])
    return [json.loads(path(data, method, seed, epochs, count).read_text()) for seed in range(seeds)]


def lines(data: str, wanted: str, seeds: int, epochs: int, count: int, fresh: bool) -> Iterator[str]:
    """A row for each method. Points lost: the mean over seeds of the difference from dense, and its standard error."""
    dense = runs(data, "dense", seeds, epochs, count, fresh)
    for method in METHODS:
        if wanted.lower() not in method.lower():
            continue
        found = dense if method == "dense" else runs(data, method, seeds, epochs, count, fresh)
        lost = [100 * (d["accuracy"] - f["accuracy"]) for d, f in zip(dense, found, strict=True)]
        error = statistics.stdev(lost) / seeds**0.5 if seeds > 1 else float("nan")
        whole = dense[0]["wire"][-1] / found[0]["wire"][-1]
        later = [each["wire"][-1] - each["wire"][WARM_UP_EPOCHS - 1] for each in (dense[0], found[0])]
        accuracies = ", ".join(f"{100 * f['accuracy']:.2f}" for f in found)
        yield (
            f"| {data}, {found[0]['parameters']:,} parameters | {method} | {accuracies} | {statistics.mean(lost):.2f} ± {error:.2f} "
            f"| {statistics.mean(f['loss'] for f in found):.4f} | {whole:.1f} | {later[0] / later[1]:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--images", type=int, default=8000, help="to train with, at most")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--data", choices=SETTINGS, nargs="+", default=[*SETTINGS])
    parser.add_argument("--fresh", action="store_true", help="compute again what a file holds")
    options = parser.parse_args()
    if options.epochs <= WARM_UP_EPOCHS:
        parser.error(f"--epochs: expected more than the {WARM_UP_EPOCHS} of the warm-up")
    print(
        "| data, 2 processes | method | accuracy of each seed, % | points lost | last loss | bytes, dense / this | after warm-up |"
    )
    print("|---|---|---|---|---|---|---|")
    for data in options.data:
        for line in lines(data, options.only, options.seeds, options.epochs, options.images, options.fresh):
            print(line, flush=True)


if __name__ == "__main__":
    main()
