"""Sparse networks on point clouds compared with dense ones: `python -m benchmarks.point_cloud [--seconds 8] [--quick]`.

Three tasks on real shapes (SAMPAN_DATA; generated shapes if it is not set): each trains the sparse network and its dense
counterpart for the same time, with interleaved steps and separate clocks. The counterpart has the same widths, depth,
kernels, parameters, recipe and batches. It uses sampan.nn.Conv3D and Conv3DTranspose, which call oneDNN's convolution as
torch's layers do, in the same time. Dense logits of parts are used only at the occupied voxels. Finally, the sparse
network in bfloat16 and in float32, for the same number of steps. About five minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import sampan
from sampan import amp, nn
from sampan.datasets import available
from sampan.datasets.point_clouds import (
    PARTS,
    Shapes,
    load_meshes,
    load_shapes,
    made_shapes,
    mesh_views,
    to_sparse,
    voxelised,
)
from sampan.engine.tape import Node, kept_by
from sampan.models import point_cloud
from sampan.nn import functional as F
from sampan.transport.threads import use_threads

BATCH = 8
FLAT = ("alligator", "woody")  # meshes without thickness


# --- the dense twins ------------------------------------------------------------------------------------------


def _block(inside: int, outside: int) -> nn.Layer:
    return nn.Sequential(
        nn.Conv3D(inside, outside, 3, padding=1, bias_attr=False), nn.BatchNorm3D(outside), nn.ReLU()
    )


def _down(inside: int, outside: int) -> nn.Layer:
    return nn.Sequential(
        nn.Conv3D(inside, outside, 2, stride=2, bias_attr=False), nn.BatchNorm3D(outside), nn.ReLU()
    )


def _up(inside: int, outside: int) -> nn.Layer:
    return nn.Sequential(
        nn.Conv3DTranspose(inside, outside, 2, stride=2, bias_attr=False), nn.BatchNorm3D(outside), nn.ReLU()
    )


class DenseClassifier(nn.Layer):
    """PointClassifier over all voxels: [batch, 4, D, H, W] to [batch, num_classes]."""

    def __init__(self, num_classes: int, width: int) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 4 * width]
        steps = [layer for a, b in pairwise(sizes) for layer in (_down(a, b), _block(b, b))]
        self.body = nn.Sequential(_block(4, width), *steps)
        self.head = nn.Linear(sizes[-1], num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x).mean([2, 3, 4]))


class DenseUNet(nn.Layer):
    """PointUNet over all voxels: [batch, 4, D, H, W] to [batch, num_parts, D, H, W]."""

    def __init__(self, num_parts: int, width: int, depth: int = 3) -> None:
        super().__init__()
        sizes = [width * 2**i for i in range(depth + 1)]
        self.stem = _block(4, width)
        self.down = nn.LayerList([_down(a, b) for a, b in pairwise(sizes)])
        self.encode = nn.LayerList([_block(b, b) for b in sizes[1:]])
        self.up = nn.LayerList([_up(b, a) for a, b in pairwise(sizes)])
        self.decode = nn.LayerList([_block(2 * a, a) for a in sizes[:-1]])
        self.head = nn.Conv3D(width, num_parts, 1)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        skips = []
        for down, encode in zip(self.down, self.encode, strict=True):
            skips.append(x)
            x = encode(down(x))
        for up, decode in reversed(list(zip(self.up, self.decode, strict=True))):
            x = decode(sampan.concat([skips.pop(), up(x)], 1))
        return self.head(x)


def dense_input(grids: np.ndarray) -> Any:
    """The channels of to_sparse at every voxel, 0 at empty ones: [batch, 4, D, H, W]."""
    places = np.nonzero(grids)
    values = np.zeros((*grids.shape, 4), np.float32)
    values[places] = to_sparse(grids).entries.numpy()
    return sampan.to_tensor(np.ascontiguousarray(np.moveaxis(values, -1, 1)))


def _at_entries(logits: Any, grids: np.ndarray) -> Any:
    """[batch, parts, D, H, W] at the occupied voxels: [entries, parts]."""
    rows = logits.transpose([0, 2, 3, 4, 1]).reshape([-1, logits.shape[1]])
    return sampan.gather(rows, sampan.to_tensor(np.flatnonzero(grids)))


def dense_logits(network: nn.Layer, grids: np.ndarray) -> Any:
    out = network(dense_input(grids))
    return out if out.ndim == 2 else _at_entries(out, grids)


def dense_loss(network: nn.Layer, shapes: Shapes) -> Any:
    logits = dense_logits(network, shapes.grids)
    labels = np.concatenate(shapes.parts) if isinstance(network, DenseUNet) else shapes.labels
    return F.cross_entropy(logits, sampan.to_tensor(labels))


def dense_found(network: nn.Layer, grids: np.ndarray) -> np.ndarray:
    network.eval()
    with sampan.no_grad():
        batches = [grids[i : i + BATCH] for i in range(0, len(grids), BATCH)]
        return np.concatenate([dense_logits(network, b).data.argmax(-1).numpy() for b in batches])


# --- tasks ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A task: segmentation of parts (mean IoU), or classification (accuracy). turn: augment by rotation about z."""

    name: str
    about: str
    train: Shapes
    test: Shapes
    outputs: int
    parts: bool
    turn: bool = True

    def network(self, kind: str, width: int) -> nn.Layer:
        if kind == "dense":
            return (DenseUNet if self.parts else DenseClassifier)(self.outputs, width)
        return (point_cloud.PointUNet if self.parts else point_cloud.PointClassifier)(self.outputs, width, 4)

    def loss(self, kind: str) -> point_cloud.Loss:
        if kind == "dense":
            return dense_loss
        return point_cloud.parts_loss if self.parts else point_cloud.class_loss

    def score(self, kind: str, network: nn.Layer) -> float:
        find = dense_found if kind == "dense" else point_cloud.predict
        found = find(network, self.test.grids)
        if not self.parts:
            return float((found == self.test.labels).mean())
        return float(np.mean(list(point_cloud.part_iou(found, np.concatenate(self.test.parts)).values())))


def cropped(shapes: Shapes, seed: int) -> Shapes:
    """Each shape rotated at random and cut by a plane through its centre; one half is kept and scaled up."""
    grids = np.zeros_like(shapes.grids)
    for i, grid in enumerate(shapes.grids):
        rng = np.random.default_rng([seed, i])
        points = np.stack(np.nonzero(grid), 1) - np.array(grid.shape) / 2
        points = np.repeat(points, 4, 0) + rng.random(
            (4 * len(points), 3)
        )  # fills the gaps that a rotation would leave
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        points = points @ turn
        along = points @ rng.standard_normal(3)
        grids[i] = voxelised(points[along <= np.median(along)], grid.shape[0])
    return Shapes(grids, shapes.labels, [np.full(int(g.sum()), -1) for g in grids])


def tasks(quick: bool, made_alone: bool = False) -> list[Callable[[], Task]]:
    few = 64 if quick else 10_000

    def views() -> Task:
        meshes = {name: mesh for name, mesh in load_meshes().items() if name not in FLAT}
        train, test = mesh_views(meshes, min(few, 880), seed=0), mesh_views(meshes, min(few, 88), seed=1)
        about = f"which of {len(meshes)} real meshes a partial view shows, turned at random, 64^3"
        return Task("views of meshes", about, train, test, len(meshes), False)

    def halves() -> Task:
        both = [load_shapes(split=s) for s in ("train", "test")]
        train, test = (cropped(s.pick(range(len(s.labels))[:few]), k) for k, s in enumerate(both))
        return Task("chair or monitor", "half of a real shape, turned at random, 32^3", train, test, 2, False)

    def parts() -> Task:
        both = [load_shapes(split=s) for s in ("train", "test")]
        train, test = (s.pick(np.flatnonzero(s.labels == 0)[:few]) for s in both)
        about = "seat, back, arm, leg of real chairs (labels made from geometry), turned about z, 32^3"
        return Task("parts of chairs", about, train, test, 4, True)

    def made() -> Task:
        train, test = made_shapes(min(few, 400), seed=0), made_shapes(min(few, 100), seed=1)
        return Task("parts of made shapes", "nine parts of four kinds, 32^3", train, test, len(PARTS), True)

    if made_alone:
        return [made]
    real = {"meshes": [views], "modelnet10_voxels": [halves, parts]}
    here = available()
    for name in real.keys() - set(here):
        print(f"skipped: {name} is not here (set SAMPAN_DATA)")
    return [task for name in real if name in here for task in real[name]] or [made]


# --- measuring ------------------------------------------------------------------------------------------------


def race(
    task: Task, kinds: list[str], width: int, seconds: float, seed: int
) -> dict[str, tuple[float, float, float]]:
    """For each kind of network: (score, epochs, seconds of training)."""
    used = dict.fromkeys(kinds, 0.0)
    networks, runs, last = {}, {}, {}
    for kind in kinds:
        sampan.seed(seed)
        networks[kind] = task.network(kind, width)
        warm = task.loss(kind)(
            networks[kind], task.train.pick(range(BATCH))
        )  # compiles, and allocates memory
        warm.backward()
        networks[kind].clear_gradients()
        runs[kind] = point_cloud.steps(
            networks[kind], task.train, task.loss(kind), 1000, BATCH, seed=seed, turn=task.turn,
            share=lambda kind=kind: used[kind] / seconds,
        )  # fmt: skip
    going = set(kinds)
    while going:
        kind = min(going, key=used.__getitem__)
        began = time.perf_counter()
        step = next(runs[kind], None)
        if step is None:
            going.remove(kind)
        else:
            used[kind] += time.perf_counter() - began
            last[kind] = step
    per_epoch = -(-len(task.train.labels) // BATCH)
    return {k: (task.score(k, networks[k]), last[k].step / per_epoch, used[k]) for k in kinds}


def kept_bytes(loss: Any, network: nn.Layer) -> tuple[int, int]:
    """Bytes that the tape saves for backward: (of activations, of the weights' copies in half precision).

    Each buffer counts once; parameters do not count.
    """
    seen = {p.data.untyped_storage().data_ptr() for p in network.parameters()}
    passed, open_nodes = set(), [loss.node]
    activations = weights = 0
    while open_nodes:
        node = open_nodes.pop()
        if type(node) is not Node or id(node) in passed:
            continue
        passed.add(id(node))
        open_nodes += node.edges
        for name, kept in kept_by(node):
            storage = kept.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                if name == "weight":
                    weights += storage.nbytes()
                else:
                    activations += storage.nbytes()
    return activations, weights


def _memory(field: str) -> int:
    """Kilobytes of a field of this process's status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _peak(job: tuple[Task, str, int, str]) -> tuple[float, float, float]:
    """The peak increase of a process's memory by a training step on one batch, and kept_bytes, in MB."""
    task, kind, width, precision = job
    use_threads(2)
    network = task.network(kind, width)
    for batch in (task.train.pick([0]), task.train):  # the first compiles
        before = _memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # resets the recorded peak
        with amp.auto_cast(precision != "float32", dtype="bfloat16"):
            loss = task.loss(kind)(network, batch)
        kept = kept_bytes(loss, network)
        loss.backward()
        network.clear_gradients()
        peak = _memory("VmHWM")
    return (peak - before) / 1024, kept[0] / 2**20, kept[1] / 2**20


def memory(task: Task, kind: str, width: int, precision: str = "float32") -> tuple[float, float, float]:
    """As _peak, in a separate process, for the first batch of the training set."""
    small = Task(task.name, "", task.train.pick(range(BATCH)), task.test.pick([0]), task.outputs, task.parts)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, ((small, kind, width, precision),))


def _spread(values: list[float]) -> str:
    return f"{100 * statistics.mean(values):.1f} ({100 * min(values):.1f} to {100 * max(values):.1f})"


def compare(task: Task, width: int, seconds: float, seeds: int) -> None:
    measure = "mean IoU %" if task.parts else "accuracy %"
    print(f"\n{task.name}: {task.about}")
    sizes = f"{len(task.train.labels)} to train on, {len(task.test.labels)} to test"
    answers = np.concatenate(task.test.parts) if task.parts else task.test.labels
    most = np.bincount(answers).max() / len(answers)
    print(
        f"{sizes}; {task.train.grids.mean():.1%} of voxels filled; {most:.0%} of the answers are the same one"
    )
    print(f"| network | {measure} | epochs | training s | parameters | step peak MB | activations kept MB |")
    print("|---|---|---|---|---|---|---|")
    kinds = ["sparse", "dense"]
    races = [race(task, kinds, width, seconds, seed) for seed in range(seeds)]
    for kind in kinds:
        scores, epochs, used = zip(*(r[kind] for r in races), strict=True)
        size = sum(p.size for p in task.network(kind, width).parameters() if not p.stop_gradient)
        peak, kept, _ = memory(task, kind, width)
        print(f"| {kind} | {_spread(list(scores))} | {statistics.mean(epochs):.1f} | {statistics.mean(used):.1f} | {size:,} | {peak:.0f} | {kept:.0f} |", flush=True)  # fmt: skip


def compare_precisions(task: Task, width: int, epochs: int, seeds: int) -> None:
    print(f"\n{task.name}, sparse, {epochs} epochs in each precision")
    print(
        "| precision | mean IoU % | training s | activations kept MB | copies of weights MB | step peak MB |"
    )
    print("|---|---|---|---|---|---|")
    means, bytes_kept = {}, {}
    for precision in ("float32", "bfloat16"):
        scores, seconds = [], []
        for seed in range(seeds):
            sampan.seed(seed)
            network = task.network("sparse", width)
            with amp.auto_cast(precision != "float32", dtype="bfloat16"):  # compiles
                task.loss("sparse")(network, task.train.pick(range(BATCH))).backward()
            network.clear_gradients()
            began = time.perf_counter()
            for _ in point_cloud.steps(network, task.train, task.loss("sparse"), epochs, BATCH, seed=seed, turn=task.turn, precision=precision):  # fmt: skip
                pass
            seconds.append(time.perf_counter() - began)
            scores.append(task.score("sparse", network))
        peak, bytes_kept[precision], copies = memory(task, "sparse", width, precision)
        means[precision] = statistics.mean(scores)
        print(f"| {precision} | {_spread(scores)} | {statistics.mean(seconds):.1f} | {bytes_kept[precision]:.1f} | {copies:.1f} | {peak:.0f} |", flush=True)  # fmt: skip
    difference = 100 * (means["bfloat16"] - means["float32"])
    less = 1 - bytes_kept["bfloat16"] / bytes_kept["float32"]
    print(f"bfloat16 {difference:+.2f} points, {less:.0%} less of activations kept for the way back")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="training time of each network, task and seed"
    )
    parser.add_argument("--made", action="store_true", help="made shapes instead of real ones")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--epochs", type=int, default=3, help="of the comparison of precisions; 0 leaves it out"
    )
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument(
        "--quick", action="store_true", help="few shapes, one seed, 2 seconds: only that it runs"
    )
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.seeds, options.epochs = min(options.seconds, 2.0), 1, min(options.epochs, 1)
    use_threads(options.threads)
    print(
        f"{options.threads} threads, width {options.width}, batches of {BATCH}, {options.seeds} seeds, mean (lowest to highest)"
    )
    for make in tasks(options.quick, options.made):
        task = make()
        if options.only not in task.name:
            continue
        compare(task, options.width, options.seconds, options.seeds)
        if options.epochs and task.parts:
            compare_precisions(task, options.width, options.epochs, options.seeds)


if __name__ == "__main__":
    main()
