"""Networks trained on real data, made smaller in each way the library has: what that costs and what it gives.

    SAMPAN_DATA=... python -m benchmarks.small_networks [--only digits|pictures|reviews|bert] [--seeds 3] [--epochs-of 1.0]

LeNet on MNIST, ResNet-8 on CIFAR-10 (8,000 pictures to train on, 2,000 to test), an encoder of characters on Chinese hotel
reviews, and a student of 2 layers of a BERT of 12. Every row is a network that was trained here: half its filters removed and
trained on, quantised after training (PTQ), trained on with quantisation (QAT), or distilled. Accuracy is of the test part;
bytes are those of its saved file beside the file of the float32 network; the time is that of a predictor for one input
beside that of the float32 predictor, as medians of calls in turn on one thread. Percentages with ± are means over seeds.
About 25 minutes on one idle core with three seeds.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sampan as paddle
from benchmarks.deploy_rows import in_integers
from sampan import nn, slim
from sampan.inference import Config, create_predictor
from sampan.jit import InputSpec
from sampan.nn import functional as F
from sampan.quantization import QAT, QuantConfig, quanters

CHARACTERS, LONGEST = 2000, 64  # of the vocabulary of reviews; of a review
ROUNDS = 41
Labelled = tuple[np.ndarray, np.ndarray]


class Task(NamedTuple):
    """A network and its data. make: of a seed. spec: of one input; epochs: of the first training, `again` of a later one."""

    make: Callable[[], nn.Layer]
    train: Labelled
    test: Labelled
    spec: InputSpec
    epochs: int
    again: int
    rate: float


# --- networks -------------------------------------------------------------------------------------------------


class Block(nn.Layer):
    """Two convolutions beside a way around them (He et al. 2016)."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(given, made, 3, stride, 1, bias_attr=False)
        self.conv2 = nn.Conv2D(made, made, 3, 1, 1, bias_attr=False)
        self.bn1, self.bn2 = nn.BatchNorm2D(made), nn.BatchNorm2D(made)
        shorter = nn.Sequential(nn.Conv2D(given, made, 1, stride, bias_attr=False), nn.BatchNorm2D(made))
        self.around = shorter if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.around(x))


def resnet8() -> nn.Layer:
    first = [nn.Conv2D(3, 16, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(16), nn.ReLU()]
    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, 10))


class Reader(nn.Layer):
    """An encoder of characters: embeddings with their places, layers of a Transformer, the mean, two classes."""

    def __init__(self, layers: int, width: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(CHARACTERS, width)
        self.places = nn.Embedding(LONGEST, width)
        self.layers = nn.LayerList(
            [
                nn.TransformerEncoderLayer(width, 4, 4 * width, 0.1, "gelu", normalize_before=True)
                for _ in range(layers)
            ]
        )
        self.norm, self.answer = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, ids: Any) -> Any:
        x = self.words(ids) + self.places(paddle.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.answer(self.norm(x).mean(1))


# --- data -----------------------------------------------------------------------------------------------------


def pictures(name: str) -> tuple[Labelled, Labelled]:
    bundle = paddle.datasets.load(name)
    found = []
    for part in (bundle.train, bundle.test):
        images, labels = zip(*(part[i] for i in range(len(part))), strict=True)
        array = np.stack([np.asarray(image, np.float32) for image in images])
        found.append((array, np.array([int(np.asarray(label).reshape(-1)[0]) for label in labels])))
    return found[0], found[1]


def reviews() -> tuple[Labelled, Labelled]:
    """Ids [review, 64] of the most frequent characters: 0 is behind the end, 1 any other character."""
    texts = paddle.datasets.load_texts("hotel_reviews")
    counts: dict[str, int] = {}
    for text in texts.train.texts:
        for letter in text:
            counts[letter] = counts.get(letter, 0) + 1
    kept = sorted(counts, key=lambda letter: -counts[letter])[: CHARACTERS - 2]
    number = {letter: i for i, letter in enumerate(kept, 2)}

    def ids(part: Any) -> Labelled:
        array = np.zeros((len(part.texts), LONGEST), np.int64)
        for row, text in zip(array, part.texts, strict=True):
            found = [number.get(letter, 1) for letter in text[:LONGEST]]
            row[: len(found)] = found
        return array, np.asarray(part.labels, np.int64)

    return ids(texts.train), ids(texts.test)


def tasks() -> dict[str, Callable[[], Task]]:
    def of_pictures(name: str, make: Any, shape: list[Any], epochs: int, again: int) -> Task:
        return Task(make, *pictures(name), InputSpec(shape, "float32", "x"), epochs, again, 2e-3)

    return {
        "digits": lambda: of_pictures("mnist", paddle.vision.models.LeNet, [None, 1, 28, 28], 10, 3),
        "pictures": lambda: of_pictures("cifar10", resnet8, [None, 3, 32, 32], 15, 5),
        "reviews": lambda: Task(
            lambda: Reader(2), *reviews(), InputSpec([None, LONGEST], "int64", "ids"), 6, 2, 1e-3
        ),
    }


# --- training and measuring -----------------------------------------------------------------------------------


def learn(network: Any, data: Labelled, epochs: int, rate: float, seed: int, loss: Any = None) -> Any:
    """Trains with AdamW, a falling rate, batches of 64. loss: of (input, label), by default the cross entropy."""
    inputs, labels = data
    loss = loss or (lambda x, y: F.cross_entropy(network(x), y))
    rng = np.random.default_rng(seed)
    steps = epochs * (len(labels) // 64)
    falling = paddle.optimizer.lr.CosineAnnealingDecay(rate, steps)
    optimizer = paddle.optimizer.AdamW(falling, parameters=network.parameters())
    network.train()
    for _ in range(epochs):
        order = rng.permutation(len(labels))
        for first in range(0, len(labels) - 63, 64):
            chosen = order[first : first + 64]
            loss(paddle.to_tensor(inputs[chosen]), paddle.to_tensor(labels[chosen])).backward()
            optimizer.step()
            optimizer.clear_grad()
            falling.step()
    network.eval()
    return network


def accuracy(network: Any, data: Labelled) -> float:
    """In percent."""
    inputs, labels = data
    network.eval()
    with paddle.no_grad():
        found = [network(paddle.to_tensor(inputs[i : i + 250])).numpy() for i in range(0, len(labels), 250)]
    return 100 * float((np.concatenate(found).argmax(1) == labels).mean())


def saved(network: Any, spec: InputSpec, base: Path) -> tuple[int, Callable[[Any], Any]]:
    """The bytes of its two files, and the predictor that reads them."""
    paddle.jit.save(network, str(base), [spec])
    files = [base.with_suffix(end) for end in (".json", ".safetensors")]
    config = Config(*map(str, files))
    config.set_cpu_math_library_num_threads(1)
    predictor = create_predictor(config)
    return sum(file.stat().st_size for file in files), lambda x: predictor.run([x])


def in_turn(calls: list[Callable[[Any], Any]], given: Any) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            began = time.perf_counter()
            call(given)
            found.append(time.perf_counter() - began)
    return [median(found[1:]) for found in times]


def qat_config() -> QuantConfig:
    config = QuantConfig(activation=None, weight=None)
    moving = quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
    weight = quanters.FakeQuanterChannelWiseAbsMaxObserver()
    config.add_type_config([nn.Linear, nn.Conv2D], activation=moving, weight=weight)
    return config


# --- the rows -------------------------------------------------------------------------------------------------


def smaller(task: Task, seed: int, scale: float) -> list[tuple[str, Any]]:
    """(what was done, the network)."""
    paddle.seed(seed)
    epochs, again = max(1, round(task.epochs * scale)), max(1, round(task.again * scale))
    first = learn(task.make(), task.train, epochs, task.rate, seed)
    found = [("float32", first)]
    example = paddle.to_tensor(task.train[0][:256])
    if any(isinstance(layer, nn.Conv2D) for layer in first.sublayers()):
        half = copy.deepcopy(first)
        pruner = slim.L1NormFilterPruner(half, example[:2])
        pruner.prune_vars(dict.fromkeys(pruner.prunable, 0.5))
        learn(half, task.train, epochs, task.rate, seed)
        found.append(("half the filters, trained on", half))
    found.append(("int8 (PTQ)", in_integers(first, example)))
    longer = learn(copy.deepcopy(first), task.train, again, task.rate / 20, seed)
    found.append(("float32, trained on as long as the next", longer))
    qat = QAT(qat_config())
    network = copy.deepcopy(first)
    network.train()
    trained = learn(qat.quantize(network), task.train, again, task.rate / 20, seed)
    found.append(("int8 (QAT)", qat.convert(trained)))
    return found


def report(name: str, make: Callable[[], Task], seeds: int, scale: float) -> None:
    task = make()
    runs = [smaller(task, seed, scale) for seed in range(seeds)]
    scores = [[accuracy(network, task.test) for _, network in run] for run in runs]
    with tempfile.TemporaryDirectory() as folder:
        made = [
            saved(network, task.spec, Path(folder) / f"{name}-{i}") for i, (_, network) in enumerate(runs[0])
        ]
        times = in_turn([call for _, call in made], paddle.to_tensor(task.test[0][:1]))
    print(
        f"\n**{name}** ({len(task.train[1])} to train on, {len(task.test[1])} to test, {seeds} seeds)\n",
        flush=True,
    )
    print("| network | accuracy % | lost, points | file | bytes of float32 | time of float32 |")
    print("|---|---|---|---|---|---|")
    for i, (what, _) in enumerate(runs[0]):
        lost = [run[0] - run[i] for run in scores]
        told = f"{mean(run[i] for run in scores):.2f} | {spread(lost)}"
        size, time_ = made[i][0], times[i]
        print(
            f"| {what} | {told} | {size:,} | {size / made[0][0]:.3f} | {time_ / times[0]:.2f} |", flush=True
        )


def spread(values: list[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


def taught(seeds: int, scale: float) -> None:
    """A student with 2 of 12 layers: alone, and with its teacher's probabilities and last hidden values."""
    train, test = reviews()
    rows: dict[str, list[float]] = {"teacher, 12 layers": [], "student alone": [], "student, distilled": []}
    for seed in range(seeds):
        paddle.seed(seed)
        epochs = max(1, round(6 * scale))
        teacher = learn(Reader(12), train, epochs, 5e-4, seed)
        rows["teacher, 12 layers"].append(accuracy(teacher, test))
        alone = copy.deepcopy(start := Reader(2))
        rows["student alone"].append(accuracy(learn(alone, train, epochs, 1e-3, seed), test))
        teaching = slim.distil(start, teacher, T=4.0, weight=0.9, features={"norm": "norm"})
        learn(start, train, epochs, 1e-3, seed, teaching)
        rows["student, distilled"].append(accuracy(start, test))
    print(f"\n**bert** (hotel reviews, {seeds} seeds)\n\n| network | accuracy % |\n|---|---|")
    for what, values in rows.items():
        print(f"| {what} | {spread(values)} |")
    best, low, high = (mean(rows[key]) for key in rows)
    print(
        f"\nOf the gap of {best - low:.2f} points the teacher closes {100 * (high - low) / (best - low):.0f} %.",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=[*tasks(), "bert"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs-of", type=float, default=1.0, help="a share of the epochs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, make in tasks().items():
        if options.only in (None, name):
            report(name, make, options.seeds, options.epochs_of)
    if options.only in (None, "bert"):
        taught(options.seeds, options.epochs_of)


if __name__ == "__main__":
    main()
