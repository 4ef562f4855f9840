"""The networks of the page "Deploy", and the digits that they are measured with. Independent of widgets; the library is
imported by the calls.

One is trained on the spot on real handwriting, those that the page Train kept are read, and two larger ones have random
weights: their speed, memory and Program are real, but they have nothing to be right about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio import kept_runs

from ..train import keep
from ..train.runs import RunList, images_and_labels

DIGITS, RESNET, ENCODER, KEPT = "digits", "resnet", "encoder", "kept"
TRAINED_FOR = 6  # epochs
BATCH, RATE, SEED = 64, 2e-3, 0
CHUNK = 256  # pictures that are answered at once
Steps = Iterator[float]


@dataclass(frozen=True)
class Digits:
    """Pictures float32 [n, 1, size, size] from 0 to 1 and labels int64 [n], to train on and to test."""

    train: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test: NDArray[np.float32]
    test_labels: NDArray[np.int64]


@dataclass
class Subject:
    """A network in evaluation mode. shape: of one input, without the batch. digits: what it was trained on, None for random
    weights. number: of the kept run."""

    kind: str
    network: Any
    shape: tuple[int, ...]
    digits: Digits | None = None
    number: int = 0

    def inputs(self, batch: int) -> Any:
        """A batch of inputs: test pictures, or normal numbers."""
        import sampan

        if self.digits is not None:
            test = self.digits.test
            return sampan.to_tensor(test[np.arange(batch) % len(test)])
        drawn = np.random.default_rng(SEED).standard_normal((batch, *self.shape))
        return sampan.to_tensor(drawn.astype(np.float32))

    def specs(self) -> list[Any]:
        """The input of any batch size, for a file."""
        from sampan.jit import InputSpec

        return [InputSpec([None, *self.shape], "float32", "input")]


@cache
def digits(name: str = DIGITS) -> Digits:
    """A data set of digits of the library: `digits` (8 x 8) is bundled."""
    import sampan

    bundle = sampan.datasets.load(name)
    train, test = images_and_labels(bundle.train), images_and_labels(bundle.test)
    return Digits(train[0][:, None], train[1], test[0][:, None], test[1])


def digit_network() -> Any:
    """Three convolutions with batch norm, dropout and a linear layer, for digits of 8 x 8 pixels."""
    import sampan

    nn = sampan.nn
    sampan.seed(SEED)
    return nn.Sequential(
        *(nn.Conv2D(1, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU()),
        *(nn.Conv2D(16, 32, 3, padding=1), nn.BatchNorm2D(32), nn.ReLU(), nn.MaxPool2D(2, 2)),
        *(nn.Conv2D(32, 32, 3, padding=1), nn.BatchNorm2D(32), nn.ReLU()),
        *(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 4 * 4, 10)),
    )


def random_network(kind: str) -> Subject:
    """ResNet-18 for 10 classes of pictures of 32 x 32, or a Transformer encoder of two layers."""
    import sampan

    sampan.seed(SEED)
    shape: tuple[int, ...] = (16, 64)
    if kind == RESNET:
        network, shape = sampan.vision.models.resnet18(num_classes=10), (3, 32, 32)
    else:
        layer = sampan.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, activation="gelu")
        network = sampan.nn.TransformerEncoder(layer, 2)
    network.eval()
    return Subject(kind, network, shape)


def kept(workspace: Path) -> list[Subject]:
    """The networks that the page Train kept."""
    runs, bundles = RunList(), _Bundles()
    keep.load(kept_runs.folder(workspace), bundles, runs)
    found = []
    for run in runs.runs:
        if run.can_predict:
            network = run.network
            network.eval()
            data = digits(run.settings.dataset)
            found.append(Subject(KEPT, network, data.test.shape[1:], data, run.number))
    return found


class _Bundles(dict[str, Any]):
    """Data sets that are read when they are asked for."""

    def __missing__(self, name: str) -> Any:
        import sampan

        self[name] = sampan.datasets.load(name)
        return self[name]


def train(network: Any, data: Digits, epochs: int, rate: float = RATE) -> Steps:
    """Trains with AdamW and yields the share that is done. The network evaluates between two steps."""
    import sampan

    optimizer = sampan.optimizer.AdamW(rate, parameters=network.parameters())
    rng = np.random.default_rng(SEED)
    starts = range(0, len(data.train), BATCH)
    for epoch in range(epochs):
        order = rng.permutation(len(data.train))
        for number, first in enumerate(starts):
            chosen = order[first : first + BATCH]
            network.train()
            answer = network(sampan.to_tensor(data.train[chosen]))
            loss = sampan.nn.functional.cross_entropy(answer, sampan.to_tensor(data.train_labels[chosen]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            network.eval()
            yield (epoch + (number + 1) / len(starts)) / epochs


def probabilities(network: Any, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, classes] of pictures [n, 1, size, size]."""
    import sampan

    parts = []
    with sampan.no_grad():
        for first in range(0, len(pictures), CHUNK):
            logits = network(sampan.to_tensor(pictures[first : first + CHUNK]))
            parts.append(sampan.nn.functional.softmax(logits, axis=-1).numpy())
    return np.concatenate(parts)


def accuracy(network: Any, data: Digits) -> float:
    """The share of the test digits that are read correctly."""
    return float((probabilities(network, data.test).argmax(1) == data.test_labels).mean())
