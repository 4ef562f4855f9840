"""Networks over sparse voxels: which shape a cloud is, and which part of it each point belongs to.

Submanifold convolutions keep the pattern of entries (Graham, Engelcke and van der Maaten 2018, "3D Semantic
Segmentation with Submanifold Sparse Convolutional Networks"); strided ones halve the grid and remember their
rulebook under a key, along which inverse convolutions lead back (Yan, Mao and Li 2018, "SECOND"; the U-Net
over them is Choy, Gwak and Savarese 2019, "4D Spatio-Temporal ConvNets: Minkowski Convolutional Neural
Networks"). Used in notebook 05 and on the Studio's page "Sparse".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from .. import amp, nn, ops, optimizer, sparse
from ..datasets.point_clouds import Shapes, to_sparse, turned
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import functional as F

__all__ = [
    "PointClassifier",
    "PointUNet",
    "Step",
    "accuracy",
    "mean_iou",
    "predict",
    "train_classes",
    "train_parts",
]


class Block(nn.Layer):
    """Submanifold convolution, batch norm, relu: `inside` to `outside` channels at the same entries."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.conv = sparse.nn.SubmConv3D(inside, outside, 3, bias_attr=False)
        self.norm = sparse.nn.BatchNorm(outside)

    def forward(self, x: Any) -> Any:
        return sparse.nn.functional.relu(self.norm(self.conv(x)))


class Down(nn.Layer):
    """Strided convolution to half the grid (kernel 2, stride 2), its rulebook kept under `key`; batch norm,
    relu."""

    def __init__(self, inside: int, outside: int, key: str) -> None:
        super().__init__()
        self.conv = sparse.nn.Conv3D(inside, outside, 2, stride=2, bias_attr=False, key=key)
        self.norm = sparse.nn.BatchNorm(outside)

    def forward(self, x: Any) -> Any:
        return sparse.nn.functional.relu(self.norm(self.conv(x)))


class Up(nn.Layer):
    """Inverse convolution back to the entries that the Down of this `key` started from; batch norm, relu."""

    def __init__(self, inside: int, outside: int, key: str) -> None:
        super().__init__()
        self.conv = sparse.nn.InverseConv3D(inside, outside, 2, key, bias_attr=False)
        self.norm = sparse.nn.BatchNorm(outside)

    def forward(self, x: Any) -> Any:
        return sparse.nn.functional.relu(self.norm(self.conv(x)))


def _halved(x: Any, times: int) -> Any:
    """x, whose grid can be halved so often: of an odd length the last plane would be lost without a word."""
    if any(n % 2**times for n in x.shape[1:-1]):
        raise ValueError(f"x: expected D, H, W that are multiples of {2**times}, got shape {list(x.shape)}")
    return x


class PointClassifier(nn.Layer):
    """Blocks at four resolutions, the mean over each cloud's entries, a linear layer.

    forward: a sparse COO tensor [batch, D, H, W, in_channels] (channels dense; D, H, W multiples of 8) to
    logits [batch, num_classes]. width: channels of the first block; deeper ones have 2, 4 and 4 times as
    many.
    in_channels: 4 as to_sparse gives them. Raises ValueError for other sizes.
    """

    def __init__(self, num_classes: int, width: int = 16, in_channels: int = 4) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 4 * width]
        self.stem = Block(in_channels, width)
        steps = [
            nn.Sequential(Down(a, b, f"down{i}"), Block(b, b)) for i, (a, b) in enumerate(pairwise(sizes))
        ]
        self.steps = nn.LayerList(steps)
        self.head = nn.Linear(sizes[-1], num_classes)

    def forward(self, x: Any) -> Any:
        x = self.stem(_halved(x, len(self.steps)))
        for step in self.steps:
            x = step(x)
        return self.head(sparse.nn.functional.global_avg_pool(x))


class PointUNet(nn.Layer):
    """An encoder of strided convolutions, a decoder of inverse ones, and skips between them.

    forward: a sparse COO tensor [batch, D, H, W, in_channels] (channels dense; D, H, W multiples of 2^depth)
    to a sparse tensor with the same entries and num_parts channels, the logits. width: channels at full
    resolution, doubled at each of `depth` halvings. Raises ValueError for other sizes.
    """

    def __init__(self, num_parts: int, width: int = 16, in_channels: int = 4, depth: int = 3) -> None:
        super().__init__()
        sizes = [width * 2**i for i in range(depth + 1)]
        self.stem = Block(in_channels, width)
        self.down, self.encode, self.up, self.decode = (nn.LayerList() for _ in range(4))
        for i in range(depth):
            a, b = sizes[i], sizes[i + 1]
            self.down.append(Down(a, b, f"down{i}"))
            self.encode.append(Block(b, b))
            self.up.append(Up(b, a, f"down{i}"))
            self.decode.append(Block(2 * a, a))
        self.head = sparse.nn.Linear(width, num_parts)

    def forward(self, x: Any) -> Any:
        x = self.stem(_halved(x, len(self.down)))
        skips = []
        for down, encode in zip(self.down, self.encode, strict=True):
            skips.append(x)
            x = encode(down(x))
        for up, decode in reversed(list(zip(self.up, self.decode, strict=True))):
            back, skip = up(x), skips.pop()
            x = decode(
                skip.like(ops.concat([skip.entries, back.entries], 1))
            )  # one pattern: same entries, same order
        return self.head(x)


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """How far a training is: `step` of `steps` done, in which epoch (from 0), and this batch's loss."""

    step: int
    steps: int
    epoch: int
    loss: float


Loss = Callable[[Any, Shapes], Tensor]
OnStep = Callable[[Step], Any]


def class_loss(network: nn.Layer, shapes: Shapes) -> Tensor:
    """Mean cross-entropy of a PointClassifier over a batch's labels."""
    return F.cross_entropy(network(to_sparse(shapes.grids)), Tensor(torch.from_numpy(shapes.labels)))


def parts_loss(network: nn.Layer, shapes: Shapes) -> Tensor:
    """Mean cross-entropy of a PointUNet over the entries of a batch that have a part: -1 does not count."""
    parts = np.concatenate(shapes.parts)
    known = torch.from_numpy(np.flatnonzero(parts >= 0))
    logits = ops.gather(network(to_sparse(shapes.grids)).entries, Tensor(known))
    return F.cross_entropy(logits, Tensor(torch.from_numpy(parts)[known]))


def steps(
    network: nn.Layer,
    data: Shapes,
    loss: Loss,
    epochs: int,
    batch_size: int = 16,
    learning_rate: float = 1e-2,
    seed: int = 0,
    turn: bool = True,
    precision: str = "float32",
    share: Callable[[], float] | None = None,
) -> Iterator[Step]:
    """Trains by AdamW, a step at a time: what is looped over can be watched, stopped, or taken in turn with
    another.

    The rate rises over the first tenth and then falls by a cosine. turn: each shape is seen turned and
    mirrored at random, see `turned`. precision: "float32", or "bfloat16" for amp.auto_cast. share: how much
    of the training is over, from 0 to 1, where that is not the number of steps but, say, a time; it ends at
    1, at the latest after `epochs`. Raises ValueError for no shapes, and a precision of another name.
    """
    if not len(data.labels):
        raise ValueError("data: expected shapes to train on, got none")
    if precision not in ("float32", "bfloat16", "float16"):
        raise ValueError(f"precision: expected 'float32', 'bfloat16' or 'float16', got {precision!r}")
    rng = np.random.default_rng(seed)
    adam = optimizer.AdamW(learning_rate, parameters=network.parameters(), weight_decay=0.01)
    total, done = -(-len(data.labels) // batch_size) * epochs, 0
    for epoch in range(epochs):
        order = rng.permutation(len(data.labels))
        for start in range(0, len(order), batch_size):
            over = share() if share else done / total
            if over >= 1:
                return
            adam.set_lr(learning_rate * min(1.0, 10 * over + 0.05) * (1 + np.cos(np.pi * over)) / 2)
            batch = data.pick(order[start : start + batch_size])
            network.train()
            with amp.auto_cast(
                precision != "float32", dtype=precision if precision != "float32" else "bfloat16"
            ):
                value = loss(network, turned(batch, rng) if turn else batch)
            value.backward()
            adam.step()
            adam.clear_grad()
            done += 1
            yield Step(done, total, epoch, float(value))


def _train(
    network: nn.Layer, data: Shapes, loss: Loss, epochs: int, on_step: OnStep | None, **how: Any
) -> list[float]:
    losses = []
    for step in steps(network, data, loss, epochs, **how):
        losses.append(step.loss)
        if on_step is not None and on_step(step) is False:
            break
    network.eval()
    return losses


def train_classes(
    network: nn.Layer, data: Shapes, epochs: int = 10, on_step: OnStep | None = None, **how: Any
) -> list[float]:
    """Trains a PointClassifier on the labels of `data`; see train_parts."""
    return _train(network, data, class_loss, epochs, on_step, **how)


def train_parts(
    network: nn.Layer, data: Shapes, epochs: int = 10, on_step: OnStep | None = None, **how: Any
) -> list[float]:
    """Trains a PointUNet on the parts of `data`; returns the loss of each step, and leaves the network in
    eval mode.

    on_step(Step) is called after each step; where it returns False the training ends there. how: as of
    `steps`.
    """
    return _train(network, data, parts_loss, epochs, on_step, **how)


@no_grad()
def predict(network: nn.Layer, grids: np.ndarray[Any, Any], batch_size: int = 32) -> np.ndarray[Any, Any]:
    """The likeliest class of each shape [count], or part of each entry [entries of all], by a network in eval
    mode."""
    network.eval()
    found = []
    for start in range(0, len(grids), batch_size):
        out = network(to_sparse(grids[start : start + batch_size]))
        logits = out.entries if isinstance(out, sparse.SparseTensor) else out
        found.append(logits.data.argmax(-1).numpy())
    return np.concatenate(found) if found else np.empty(0, np.int64)


def accuracy(network: nn.Layer, data: Shapes) -> float:
    """Share of the shapes whose label a PointClassifier finds."""
    return float((predict(network, data.grids) == data.labels).mean())


def part_iou(found: np.ndarray[Any, Any], parts: np.ndarray[Any, Any]) -> dict[int, float]:
    """Of each part that occurs: entries rightly found over entries that are it, or are said to be; -1 does
    not count."""
    found, parts = found[parts >= 0], parts[parts >= 0]
    return {
        int(p): float(((found == p) & (parts == p)).sum() / ((found == p) | (parts == p)).sum())
        for p in np.unique(parts)
    }


def mean_iou(network: nn.Layer, data: Shapes) -> float:
    """Mean over the parts of `part_iou`, over the entries of all shapes together, by a PointUNet."""
    return float(np.mean(list(part_iou(predict(network, data.grids), np.concatenate(data.parts)).values())))
