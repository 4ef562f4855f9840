"""A network that tells speakers apart: `train_speakers(...)`, and its equal error rate on speakers that it
never heard.

Four of fsdd's six speakers, the two of audio_cmn, and voices of espeak-ng (synthetic) where it is installed;
the two left out are tested on. Six people are few: an error rate says how these six are told apart, no more.

    python -m sampan.models.speech_speakers --out MODEL     # three models, each without two speakers
"""

import argparse
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import Layer
from ..random import seed as set_seed
from ..speech import equal_error_rate, trials
from ..speech.architectures import write_weights
from ..speech.files import load
from ..speech.inputs import FbankInput
from ..speech.nn import AngularMargin, SpeakerEncoder
from ..speech.resample import resample
from .speech_keywords import DIGITS, KeywordAugment, noise_features, raw_features
from .speech_small import padded, sounds, train_network

__all__ = ["embeddings", "error_of", "save_speakers", "synthetic_voices", "train_speakers"]

Array = np.ndarray[Any, Any]
RATE, BINS, CROP = 8000, 40, 60
PAIRS = (("george", "jackson"), ("lucas", "nicolas"), ("theo", "yweweler"))
VARIANTS = [f"en-{a}+{s}{n}" for (a, s), n in itertools.product((("us", "m"), ("gb", "f")), range(1, 6))]


def synthetic_voices(variants: Sequence[str] = VARIANTS) -> dict[str, list[Array]]:
    """Digits by voices of espeak-ng: float32 [samples] at 8 kHz by name of the voice; none if it is
    missing."""
    if shutil.which("espeak-ng") is None:
        return {}
    found: dict[str, list[Array]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/word.wav"
        for variant in variants:
            for n, word in enumerate(DIGITS * 2):
                speed, pitch = str(130 + 40 * (n % 3)), str(40 + n % 20)
                command = ["espeak-ng", "-v", variant, "-s", speed, "-p", pitch, "-w", path, word]
                subprocess.run(command, check=True)
                waveform, rate = load(path)
                found.setdefault(variant, []).append(resample(waveform.mean(0), rate, RATE).numpy())
    return found


class _Trained(Layer):
    """An encoder and its loss, whose directions are trained with it."""

    def __init__(self, encoder: SpeakerEncoder, speakers: int) -> None:
        super().__init__()
        self.encoder, self.loss = encoder, AngularMargin(encoder.width, speakers)

    def forward(self, features: Any, lengths: Any) -> Tensor:
        return self.encoder(features, lengths)


def train_speakers(
    recordings: dict[str, list[Array]],
    noises: Sequence[Array],
    epochs: int = 5,
    steps: int = 60,
    channels: int = 64,
    width: int = 64,
    seed: int = 1,
    report: Callable[[str], None] | None = None,
) -> tuple[SpeakerEncoder, FbankInput]:
    """Train on raw features by speaker. A batch has 32 recordings, of each speaker equally often, repeated to
    0.6 s and cut there, in noise of 10 to 40 dB."""
    set_seed(seed)
    frames = np.maximum(np.concatenate([x for heard in recordings.values() for x in heard]), 0)
    inputs = FbankInput(RATE, BINS, frames.mean(0).tolist(), frames.std(0).tolist())
    augment, names = KeywordAugment(inputs, noises), list(recordings)
    network = _Trained(SpeakerEncoder(BINS, channels, width), len(names))

    def version(x: Array, rng: np.random.Generator) -> Array:
        x = np.tile(x, (CROP // len(x) + 1, 1))
        start = int(rng.integers(len(x) - CROP + 1))
        x = augment.in_noise(x[start : start + CROP], rng, 10, 0)
        made: Array = ((x - inputs.mean) / inputs.std).astype(np.float32)
        return made

    def batches(rng: np.random.Generator) -> Any:
        for _ in range(steps):
            who = rng.integers(0, len(names), 32)
            heard = [recordings[names[k]] for k in who]
            x = [version(h[int(rng.integers(len(h)))], rng) for h in heard]
            yield [*padded(x)], [Tensor(who)]

    train_network(network, batches, network.loss, epochs, steps, seed=seed, report=report)
    return network.encoder, inputs


@no_grad()
def embeddings(network: SpeakerEncoder, inputs: FbankInput, recordings: Sequence[Array]) -> Array:
    """float32 [n, width] of raw features [frames, bins]."""
    made = []
    for at in range(0, len(recordings), 50):
        normal = [(x - inputs.mean) / inputs.std for x in recordings[at : at + 50]]
        made.append(network(*padded(normal)).numpy())
    return np.concatenate(made)


def error_of(
    network: SpeakerEncoder, inputs: FbankInput, recordings: dict[str, list[Array]], joined: int = 1
) -> tuple[float, float]:
    """Equal error rate and its threshold over every pair of recordings. joined: so many recordings of a
    speaker are heard as one."""
    heard, who = [], []
    for name, each in recordings.items():
        for at in range(0, len(each) - joined + 1, joined):
            heard.append(np.concatenate(each[at : at + joined]))
            who.append(name)
    return equal_error_rate(*trials(embeddings(network, inputs, heard), who))


def save_speakers(network: SpeakerEncoder, inputs: FbankInput, threshold: float, folder: Path) -> None:
    """Write a model folder that `SpeakerModel` loads."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "speaker",
        "channels": network.channels,
        "width": network.width,
        "threshold": round(threshold, 4),
    }
    (folder / "config.json").write_text(json.dumps(config) + "\n")
    (folder / "preprocessor_config.json").write_text(json.dumps(inputs.settings(), indent=1) + "\n")
    write_weights(network, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_speakers")
    parser.add_argument("--out", type=Path, help="the folder to write the first model to")
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args(arguments)
    digits, mandarin = datasets.load_recordings("fsdd"), datasets.load_recordings("audio_cmn")
    every: dict[str, list[Any]] = {}
    for recording in [*digits.train[::2], *digits.test]:
        every.setdefault(recording.speaker, []).append(recording)
    people = {name: raw_features(sounds(heard, RATE)) for name, heard in every.items()}
    words = sounds(mandarin.train[:150], RATE)
    rest = {"Yue Tan": raw_features(words), "Chen Wang": raw_features(sounds(mandarin.other[::11], RATE))}
    rest |= {name: raw_features(heard) for name, heard in synthetic_voices().items()}
    noises = noise_features(words)
    for pair in PAIRS[::-1]:
        learned = {name: heard for name, heard in people.items() if name not in pair} | rest
        network, inputs = train_speakers(learned, noises, given.epochs)
        tested = {name: people[name][-60:] for name in pair}
        (one, _), (three, threshold) = (error_of(network, inputs, tested, joined) for joined in (1, 3))
        print(
            f"{' and '.join(pair)} held out: EER {one:.3f}, of three words at a time {three:.3f}", flush=True
        )
        if given.out and pair == PAIRS[-1]:
            save_speakers(network, inputs, threshold, given.out)


if __name__ == "__main__":
    main()
