"""The networks of the page "Deploy" and how they are trained. Independent of widgets; the library is imported by the calls.

Some are trained on the spot (`RECIPES`), those that the page Train kept are read, and two larger ones have random weights:
their speed, memory and Program are real, but they have nothing to be right about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from studio import kept_runs

from ..train import keep
from ..train.runs import RunList, images_and_labels
from . import texts
from .subject import SEED, Subject, Task

DIGITS, REVIEWS, HOTEL, RESNET, ENCODER, KEPT = "digits", "reviews", "hotel", "resnet", "encoder", "kept"
BATCH, RATE = 64, 2e-3
Steps = Iterator[float]


class Recipe(NamedTuple):
    """How a network is trained on the page: its data, the network before its training, and the epochs."""

    task: Callable[[], Task]
    network: Callable[[Task], Any]
    epochs: int


@cache
def digits(name: str = DIGITS) -> Task:
    """A data set of digits of the library: `digits` (8 x 8) is bundled."""
    import sampan

    bundle = sampan.datasets.load(name)
    train, test = images_and_labels(bundle.train), images_and_labels(bundle.test)
    origin = bundle.card.origin
    return Task(DIGITS, origin, train[0][:, None], train[1], test[0][:, None], test[1])


def digit_network(_: Task | None = None) -> Any:
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


RECIPES = {
    DIGITS: Recipe(digits, digit_network, 6),
    REVIEWS: Recipe(texts.made, texts.network, 6),
    HOTEL: Recipe(texts.hotel, texts.network, 2),
}


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


def train(network: Any, data: Task, epochs: int, rate: float = RATE) -> Steps:
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
