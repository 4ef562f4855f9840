"""A recogniser at a tenth of its size: a block less, fewer channels and entries, tuned again, then int8.

    python -m sampan.models.speech_compress wenetspeech_zh wenetspeech_zh_int8 --features FEATURES

FEATURES: the folder that `sampan.models.speech_mandarin features` writes. The result is a model folder that
`AudioClassifier.from_pretrained` loads; its card has the sizes, error rates and times of every step. How each
step works: `speech/pruning.py`, `speech/int8.py`, `speech/packed.py`.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from .. import nn, optimizer
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..random import seed as set_seed
from ..speech import AudioClassifier, Wav2Vec2Processor, find_model
from ..speech.inputs import FbankInput, input_of
from ..speech.nn import FeedForward
from ..speech.pruning import Sparsity, fewer_channels, without_block
from ..speech.tokens import read_json
from .speech_mandarin import Batches, MandarinRecipe, pinyin_tokens
from .speech_mandarin_data import FeatureFile
from .speech_mandarin_report import TESTS, measure

__all__ = ["Compression", "Step", "real_time_factor", "tune"]

Batch = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class Compression:
    """Settings. blocks: how many are removed, one after the other, each the one without which the training
    loss is lowest. channels: the share of the feed-forward channels that stay. zeros: the share of the
    entries of all matrices that become 0, in the first `rise` of the `steps`. The learning rate falls to 0
    with the square root of the steps that are left. clip: of the gradient's norm."""

    blocks: int = 1
    channels: float = 0.75
    zeros: float = 0.72
    steps: int = 1500
    rise: float = 0.6
    learning_rate: float = 5e-4
    clip: float = 5.0
    seed: int = 1


class Step(NamedTuple):
    """What one step of the compression gave: bytes of the file of parameters; errors by test; seconds of
    computing for a second of sound in a stream."""

    name: str
    bytes: int
    errors: dict[str, float]
    factor: float


def tune(
    model: AudioClassifier, batches: Callable[[int], Batch], settings: Compression
) -> Iterator[tuple[int, float]]:
    """Train a model while its smallest entries become 0; (step, loss) after each step.

    batches(step) gives features, lengths, labels and their lengths, as `SpeechModel.loss` takes them. Only
    matrices are pruned; the depthwise convolutions and the position biases, which are small, are not.
    """
    model.train()
    adam = optimizer.AdamW(
        settings.learning_rate,
        parameters=model.parameters(),
        weight_decay=0.0,
        grad_clip=nn.ClipGradByGlobalNorm(settings.clip),
    )
    rise = max(round(settings.rise * settings.steps), 1)
    sparsity = Sparsity(model, settings.zeros, rise, keep=("depthwise", "_bias", "conv1"))
    for step in range(1, settings.steps + 1):
        set_seed(settings.seed * 1_000_003 + step)
        adam.set_lr(settings.learning_rate * (1 - (step - 1) / settings.steps) ** 0.5)
        loss = model.model.loss(*batches(step))
        loss.backward()
        adam.step()
        adam.clear_grad()
        sparsity.step(step)
        yield step, float(loss)
    model.eval()


def real_time_factor(model: AudioClassifier, seconds: float = 8.0, chunk: int = 4, rounds: int = 5) -> float:
    """Processor seconds, of all threads, for a second of sound in a stream of chunks: the best of some
    rounds."""
    generator = torch.Generator().manual_seed(0)
    size = model.model.encoder.input_size
    features = torch.randn(round(100 * seconds), size, generator=generator)
    times = []
    for _ in range(rounds + 1):  # the first one compiles
        stream, began = model.model.stream(chunk, 16), time.process_time()
        for piece in features.split(stream.steps):
            frames = stream.feed(Tensor(piece))
            if frames.shape[0]:
                model.model.head.log_probs(frames)
        times.append(time.process_time() - began)
    return min(times[1:]) / seconds


@no_grad()
def fewer_blocks(model: AudioClassifier, batches: Callable[[int], Batch], tried: int = 4) -> AudioClassifier:
    """A Conformer without the block that its loss on some batches misses least."""
    found = []
    for removed in range(model.config["encoder"]["num_layers"]):
        one = without_block(model, removed)
        one.eval()
        found.append(
            (sum(float(one.model.loss(*batches(step))) for step in range(1, tried + 1)), removed, one)
        )
    return min(found)[2]


def _file_bytes(model: AudioClassifier) -> int:
    """Bytes of the parameters as float32."""
    return sum(4 * value.data.numel() for value in model.parameters())


def table(steps: Sequence[Step]) -> str:
    """The steps, Markdown."""
    tests = list(steps[0].errors)
    lines = [
        " | ".join(["| step", "bytes", "size", *tests, "real-time factor |"]),
        "|---" * (len(tests) + 4) + "|",
    ]
    for one in steps:
        errors = [f"{100 * one.errors[test]:.1f} %" for test in tests]
        cells = [f"{one.bytes:,}", f"1/{steps[0].bytes / one.bytes:.1f}", *errors, f"{one.factor:.4f} |"]
        lines.append(" | ".join([f"| {one.name}", *cells]))
    return "\n".join(lines)


CARD = """
## Compression

Made from the float32 model by

    python -m sampan.models.speech_compress {name} {out} --features FEATURES --steps {steps}

Blocks removed: {blocks}. {channels:.0%} of the feed-forward channels stay, and {zeros:.0%} of the entries of
the other matrices are 0. The parameters are int8 with a scale for each output channel; linear layers
compute in int8. Errors are of syllables with their tone, greedy decoding in chunks of 160 ms{most}. The
real-time factor is of a stream of such chunks without features and search, in processor time on one
thread: the median of five rounds, all models in turn.

{table}
"""


def compress(
    name: str, out: str, features: str, settings: Compression, most: int | None, report: Callable[[str], None]
) -> list[Step]:
    """Compress a model by the data of its recipe; returns what each step gave, in order.

    most: recordings of each test to measure on, evenly chosen; None: all. Raises InvalidArgument for a model
    that `fewer_channels` does not take, where channels are to be removed.
    """
    model, folder = AudioClassifier.from_pretrained(name), find_model(name)
    if "compute" in model.config:
        raise InvalidArgument(f"name: expected a model in float32, {name} is compressed")
    file, inputs = FeatureFile(features), input_of(read_json(folder / "preprocessor_config.json"))
    assert isinstance(inputs, FbankInput)
    plain = Wav2Vec2Processor(inputs, pinyin_tokens())  # without the lexicon, whose search takes long
    steps: list[Step] = []
    models: list[AudioClassifier] = []

    def add(title: str, one: AudioClassifier, size: int) -> None:
        errors: dict[str, float] = {}
        for kind in TESTS:
            rows = [n for n, i in enumerate(file.items) if i.kind == kind and i.part == "test"]
            rows = rows[:: max(len(rows) // most, 1)] if most else rows
            errors[kind] = measure(one, plain, file, rows, 4).with_tone
        models.append(one)
        steps.append(Step(title, size, errors, 0.0))
        report(f"{title}: {size:,} bytes, errors {errors}")

    def batches(step: int) -> Batch:
        found: Batch = made(step + made.recipe.second_speaker)[:4]
        return found

    add("float32", model, _file_bytes(model))
    made = Batches(file, inputs, plain.tokens, MandarinRecipe())
    for removed in range(settings.blocks):
        model = fewer_blocks(model, batches)
        add(f"{removed + 1} block less, not tuned", model, _file_bytes(model))
    feeds: list[Any] = [part for part in model.sublayers() if isinstance(part, FeedForward)]
    if feeds and settings.channels < 1:
        there = feeds[0].linear1.weight.shape[1]
        model = fewer_channels(model, max(round(settings.channels * there / 16), 1) * 16)
        model.eval()
        add("fewer channels, not tuned", model, _file_bytes(model))
    for step, loss in tune(model, batches, settings):
        if step % 100 == 0:
            report(f"step {step}: loss {loss:.3f}")
    add("tuned, with zeros, float32", model, _file_bytes(model))
    size = model.save_compressed(out)
    for path in folder.iterdir():  # vocabulary, lexicon and settings of the features
        if path.suffix in (".json", ".txt") and path.name != "config.json":
            shutil.copy(path, out)
    add("int8", AudioClassifier.from_pretrained(out), size)
    # In turn, because the machine may be busier at one time than at another.
    factors = [[real_time_factor(one) for one in models] for _ in range(5)]
    steps = [s._replace(factor=median(f)) for s, *f in zip(steps, *factors, strict=True)]
    limit = f", of {most} recordings of each test at least" if most else ""
    text = CARD.format(
        name=name,
        out=Path(out).name,
        blocks=settings.blocks,
        channels=settings.channels,
        zeros=settings.zeros,
        most=limit,
        table=table(steps),
        steps=settings.steps,
    )
    card = folder / "README.md"
    written = (card.read_text(encoding="utf-8") if card.exists() else "") + text
    (Path(out) / "README.md").write_text(written, encoding="utf-8")
    return steps


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compress the recogniser of Mandarin words.")
    parser.add_argument("model", help="the folder or name of the float32 model")
    parser.add_argument("out", help="the folder of the compressed model")
    parser.add_argument("--features", required=True, help="the folder of the features")
    parser.add_argument("--steps", type=int, default=Compression.steps)
    parser.add_argument("--blocks", type=int, default=Compression.blocks, help="how many are removed")
    parser.add_argument("--channels", type=float, default=Compression.channels)
    parser.add_argument("--zeros", type=float, default=Compression.zeros)
    parser.add_argument("--most", type=int, help="recordings of each test to measure on")
    parser.add_argument("--threads", type=int, default=1, help="of torch; small chunks gain nothing by more")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    settings = Compression(given.blocks, given.channels, given.zeros, given.steps)
    steps = compress(
        given.model, given.out, given.features, settings, given.most, lambda line: print(line, flush=True)
    )
    print(table(steps))


if __name__ == "__main__":
    main(sys.argv[1:])
