"""Networks on sparse voxels: classification of point clouds, and segmentation of their parts.

Submanifold convolutions keep the pattern of entries (Graham, Engelcke and van der Maaten 2018, "3D Semantic
Segmentation with Submanifold Sparse Convolutional Networks"); strided convolutions halve the grid and store
their rulebook under a key, which inverse convolutions use to restore the pattern (Yan, Mao and Li 2018,
"SECOND"). The U-Net is that of Choy, Gwak and Savarese 2019, "4D Spatio-Temporal ConvNets: Minkowski
Convolutional Neural Networks". Used in notebook 05b and on the Studio's page "Sparse".
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
from ..engine.tensor import InvalidArgument, Tensor
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


class _ConvNormRelu(nn.Layer):
    conv: nn.Layer
    norm: nn.Layer

    def forward(self, x: Any) -> Any:
        return sparse.nn.functional.relu(self.norm(self.conv(x)))


class Block(_ConvNormRelu):
    """Submanifold convolution, batch norm and ReLU, from `in_channels` to `out_channels`, with the same
    pattern."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = sparse.nn.SubmConv3D(in_channels, out_channels, 3, bias_attr=False)
        self.norm = sparse.nn.BatchNorm(out_channels)


class Down(_ConvNormRelu):
    """Strided convolution to half the grid (kernel 2, stride 2) with its rulebook stored under `key`; batch
    norm, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, key: str) -> None:
        super().__init__()
        self.conv = sparse.nn.Conv3D(in_channels, out_channels, 2, stride=2, bias_attr=False, key=key)
        self.norm = sparse.nn.BatchNorm(out_channels)


class Up(_ConvNormRelu):
    """Inverse convolution to the pattern that the Down with this `key` had as input; batch norm, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, key: str) -> None:
        super().__init__()
        self.conv = sparse.nn.InverseConv3D(in_channels, out_channels, 2, key, bias_attr=False)
        self.norm = sparse.nn.BatchNorm(out_channels)


def _check_grid(x: Any, times: int) -> Any:
    """Check that the grid of x can be halved `times` times: of an odd length the last plane would be lost."""
    if any(n % 2**times for n in x.shape[1:-1]):
        raise InvalidArgument(
            f"x: expected D, H, W that are multiples of {2**times}, got shape {list(x.shape)}"
        )
    return x


class PointClassifier(nn.Layer):
    """Blocks at four resolutions, global average pooling over each cloud's entries, a linear layer.

    forward: a sparse COO tensor [batch, D, H, W, in_channels] (channels dense; D, H, W multiples of 8) to
    logits [batch, num_classes]. width: channels of the first block; deeper blocks have 2, 4 and 4 times as
    many. in_channels: 4 for the result of `to_sparse`. Raises ValueError for other sizes.
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
        x = self.stem(_check_grid(x, len(self.steps)))
        for step in self.steps:
            x = step(x)
        return self.head(sparse.nn.functional.global_avg_pool(x))


class PointUNet(nn.Layer):
    """U-Net: an encoder of strided convolutions, a decoder of inverse convolutions, and skip connections.

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
        x = self.stem(_check_grid(x, len(self.down)))
        skips = []
        for down, encode in zip(self.down, self.encode, strict=True):
            skips.append(x)
            x = encode(down(x))
        for up, decode in reversed(list(zip(self.up, self.decode, strict=True))):
            restored, skip = up(x), skips.pop()
            x = decode(
                skip.like(ops.concat([skip.entries, restored.entries], 1))
            )  # both have one pattern, in the same order
        return self.head(x)


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """Progress of training: `step` of `steps` steps done, the epoch (from 0), and the loss of this batch."""

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
    """Mean cross-entropy of a PointUNet over the entries of a batch with a part; the label -1 is ignored."""
    parts = np.concatenate(shapes.parts)
    labelled = torch.from_numpy(np.flatnonzero(parts >= 0))
    logits = ops.gather(network(to_sparse(shapes.grids)).entries, Tensor(labelled))
    return F.cross_entropy(logits, Tensor(torch.from_numpy(parts)[labelled]))


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
    """Iterator of training steps by AdamW. The caller may stop the iteration, or interleave several.

    The learning rate has linear warm-up over the first tenth of the steps, then cosine decay. turn: augment
    with random rotations and mirror images, see `turned`. precision: "float32", or "bfloat16" or "float16"
    for amp.auto_cast. share: function that returns the fraction of the training that is done, from 0 to 1,
    in place of the fraction of the steps; training ends at 1, at the latest after `epochs`. Raises ValueError
    for empty data, and for another precision.
    """
    if not len(data.labels):
        raise InvalidArgument("data: expected at least one shape, got none")
    if precision not in ("float32", "bfloat16", "float16"):
        raise InvalidArgument(f"precision: expected 'float32', 'bfloat16' or 'float16', got {precision!r}")
    rng = np.random.default_rng(seed)
    adam = optimizer.AdamW(learning_rate, parameters=network.parameters(), weight_decay=0.01)
    total, done = -(-len(data.labels) // batch_size) * epochs, 0
    for epoch in range(epochs):
        order = rng.permutation(len(data.labels))
        for start in range(0, len(order), batch_size):
            fraction = share() if share else done / total
            if fraction >= 1:
                return
            adam.set_lr(learning_rate * min(1.0, 10 * fraction + 0.05) * (1 + np.cos(np.pi * fraction)) / 2)
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
    network: nn.Layer, data: Shapes, loss: Loss, epochs: int, on_step: OnStep | None, **settings: Any
) -> list[float]:
    losses = []
    for step in steps(network, data, loss, epochs, **settings):
        losses.append(step.loss)
        if on_step is not None and on_step(step) is False:
            break
    network.eval()
    return losses


def train_classes(
    network: nn.Layer, data: Shapes, epochs: int = 10, on_step: OnStep | None = None, **settings: Any
) -> list[float]:
    """Train a PointClassifier on the labels of `data`; see train_parts."""
    return _train(network, data, class_loss, epochs, on_step, **settings)


def train_parts(
    network: nn.Layer, data: Shapes, epochs: int = 10, on_step: OnStep | None = None, **settings: Any
) -> list[float]:
    """Train a PointUNet on the parts of `data`; returns the loss of each step. The network is left in eval
    mode.

    on_step(Step) is called after each step; False ends the training. settings: keyword arguments of `steps`.
    """
    return _train(network, data, parts_loss, epochs, on_step, **settings)


@no_grad()
def predict(network: nn.Layer, grids: np.ndarray[Any, Any], batch_size: int = 32) -> np.ndarray[Any, Any]:
    """The predicted class of each shape [count], or part of each entry [all entries], in eval mode."""
    network.eval()
    predicted = []
    for start in range(0, len(grids), batch_size):
        out = network(to_sparse(grids[start : start + batch_size]))
        logits = out.entries if isinstance(out, sparse.SparseTensor) else out
        predicted.append(logits.data.argmax(-1).cpu().numpy())
    return np.concatenate(predicted) if predicted else np.empty(0, np.int64)


def accuracy(network: nn.Layer, data: Shapes) -> float:
    """Fraction of the shapes that a PointClassifier classifies correctly."""
    return float((predict(network, data.grids) == data.labels).mean())


def part_iou(predicted: np.ndarray[Any, Any], parts: np.ndarray[Any, Any]) -> dict[int, float]:
    """Intersection over union of each part that occurs in `parts`; the label -1 is ignored."""
    predicted, parts = predicted[parts >= 0], parts[parts >= 0]
    return {
        int(p): float(((predicted == p) & (parts == p)).sum() / ((predicted == p) | (parts == p)).sum())
        for p in np.unique(parts)
    }


def mean_iou(network: nn.Layer, data: Shapes) -> float:
    """Mean intersection over union of a PointUNet: the mean of `part_iou` over all entries of `data`."""
    return float(np.mean(list(part_iou(predict(network, data.grids), np.concatenate(data.parts)).values())))
