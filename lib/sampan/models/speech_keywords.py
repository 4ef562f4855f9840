"""A network that names spoken digits, and is silent on other speech: `train_keywords(...)`.

Ten digits (fsdd) and a class for everything else: Mandarin words (audio_cmn), cut digits, noise. Each epoch
hears other versions of a recording: faster or slower, with the spectrum stretched (another length of vocal
tract) and sloped, with noise and pauses around, with masks.

    python -m sampan.models.speech_keywords --out MODEL     # the official split
    python -m sampan.models.speech_keywords --held-out      # and six models, each without one speaker

Source: T. Ko et al., Audio augmentation for speech recognition, 2015; N. Jaitly and G. Hinton, Vocal tract
length perturbation, 2013; Park et al., SpecAugment, 2019.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..random import seed as set_seed
from ..speech import AudioClassifier, CTCTokens, KeywordSpotter, Wav2Vec2Processor
from ..speech.inputs import FbankInput
from ..speech.noise import KINDS, make_noise
from .speech_small import padded, sounds, train_network

__all__ = [
    "DIGITS",
    "KeywordAugment",
    "accuracy",
    "false_alarms",
    "keyword_processor",
    "noise_features",
    "raw_features",
    "train_keywords",
]

Array = np.ndarray[Any, Any]
RATE, BINS = 8000, 40
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
CONFIG = {"model_type": "keyword", "encoder": {"input_size": BINS}}


class KeywordAugment:
    """Random versions of raw log filter-bank features [frames, bins], as normalized features.

    noises: raw features of noises, of which a stretch is mixed in.
    """

    def __init__(self, inputs: FbankInput, noises: Sequence[Array]) -> None:
        self.inputs, self.noises = inputs, noises

    def in_noise(self, x: Array, rng: np.random.Generator, least: float = 0.0, around: int = 30) -> Array:
        """With up to `around` frames of noise alone before and after, and noise at `least` to 40 dB: the
        powers of two sounds add up in each bin, as they do on average."""
        before, after = rng.integers(0, around + 1, 2)
        noise = self.noises[int(rng.integers(len(self.noises)))]
        size = len(x) + before + after
        start = int(rng.integers(len(noise) - size))
        noise = noise[start : start + size]
        gain = _level(x) - _level(noise) - rng.uniform(least, 40) * np.log(10) / 10
        x = np.pad(x, ((before, after), (0, 0)), constant_values=-20.0)
        return np.logaddexp(x, noise + np.float32(gain))

    def __call__(self, x: Array, rng: np.random.Generator) -> Array:
        """float32 [frames, bins]: at 0.8 to 1.25 times the speed, stretched along the bins by up to 12 %, in
        noise, with a random slope of the spectrum, one mask over bins and one over frames."""
        frames, bins = x.shape
        factor = rng.uniform(0.8, 1.25)
        x = x[np.minimum((np.arange(int(frames / factor) + 1) * factor).astype(np.int64), frames - 1)]
        places = np.clip(np.arange(bins) * rng.uniform(0.88, 1.12), 0, bins - 1)
        low = places.astype(np.int64)
        high, part = np.minimum(low + 1, bins - 1), (places - low).astype(np.float32)
        x = self.in_noise(x[:, low] * (1 - part) + x[:, high] * part, rng)
        x = (x - self.inputs.mean) / self.inputs.std
        x = x + np.float32(rng.uniform(-0.5, 0.5)) * np.linspace(-1, 1, bins, dtype=np.float32)
        for axis, most in ((1, 6), (0, 8)):
            width = int(rng.integers(0, most))
            start = int(rng.integers(0, max(x.shape[axis] - width, 0) + 1))
            np.moveaxis(x, axis, 0)[start : start + width] = 0
        return x.astype(np.float32)


def _level(x: Array) -> Any:
    """The logarithm of the mean power of raw features."""
    return np.log(np.exp(np.asarray(x, np.float64)).mean() + 1e-9)


def keyword_processor(features: Sequence[Array], labels: Sequence[str]) -> Wav2Vec2Processor:
    """Mean and deviation of raw features, and tokens: "<pad>" for none of the labels, then the labels."""
    frames = np.maximum(np.concatenate(features), 0)
    inputs = FbankInput(RATE, BINS, frames.mean(0).tolist(), frames.std(0).tolist())
    tokens = ["<pad>", *labels]
    vocabulary = CTCTokens({t: n for n, t in enumerate(tokens)}, "<pad>", None, None, " ")
    return Wav2Vec2Processor(inputs, vocabulary)


def noise_features(voices: Sequence[Array]) -> list[Array]:
    """Raw features of 20 s of each kind of noise; voices: recordings [samples] at 8 kHz for the babble."""
    return raw_features(
        [make_noise(k, 20 * RATE, RATE, voices, n) * np.float32(0.1) for n, k in enumerate(KINDS)]
    )


def raw_features(recordings: Sequence[Array]) -> list[Array]:
    """Log filter-bank features [frames, 40] of recordings [samples] at 8 kHz."""
    plain = FbankInput(RATE, BINS)
    return [plain.features(x) for x in recordings]


def train_keywords(
    words: Sequence[Array],
    labels: Sequence[int],
    others: Sequence[Array],
    noises: Sequence[Array],
    names: Sequence[str] = DIGITS,
    epochs: int = 8,
    batch_size: int = 32,
    seed: int = 1,
    report: Callable[[str], None] | None = None,
) -> tuple[AudioClassifier, Wav2Vec2Processor]:
    """Train on raw features of words with labels (places in `names`), of other speech and of noises.

    An epoch has every word once, and a quarter as many others: most of them cut from `others`, the rest the
    first or last third of a word, and noise.
    """
    set_seed(seed)
    processor = keyword_processor(words, names)
    assert isinstance(processor.inputs, FbankInput)
    model = AudioClassifier.from_config(CONFIG | {"vocab_size": len(names) + 1})
    augment = KeywordAugment(processor.inputs, noises)

    def other(rng: np.random.Generator) -> Array:
        draw, size = rng.random(), int(rng.integers(20, 80))
        if 0.6 <= draw < 0.8:
            x = words[int(rng.integers(len(words)))]
            third = max(len(x) // 3, 5)
            return x[:third] if rng.random() < 0.5 else x[-third:]
        source = others if draw < 0.6 else noises
        x = source[int(rng.integers(len(source)))]
        start = int(rng.integers(max(len(x) - size, 0) + 1))
        return x[start : start + size]

    def batches(rng: np.random.Generator) -> Any:
        count = len(words)
        order = rng.permutation(count + count // 4)
        for at in range(0, len(order), batch_size):
            places = order[at : at + batch_size].tolist()
            x = [augment(words[k] if k < count else other(rng), rng) for k in places]
            y = np.array([labels[k] + 1 if k < count else 0 for k in places], np.int64)
            yield [*padded(x)], [Tensor(y)]

    def loss(logits: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits.squeeze(1), target, label_smoothing=0.1)

    steps = -(-(len(words) + len(words) // 4) // batch_size)
    train_network(model.model, batches, loss, epochs, steps, seed=seed, report=report)
    model.eval()
    return model, processor


@no_grad()
def accuracy(
    model: AudioClassifier, processor: Wav2Vec2Processor, words: Sequence[Array], labels: Sequence[int]
) -> float:
    """The part of words, raw features, that get their label; "none of the labels" is wrong."""
    inputs, right = processor.inputs, 0
    assert isinstance(inputs, FbankInput)
    for at in range(0, len(words), 50):
        x, lengths = padded([(w - inputs.mean) / inputs.std for w in words[at : at + 50]])
        found = model.model(x, lengths).logits[:, 0].numpy().argmax(1)
        right += int((found == np.asarray(labels[at : at + 50]) + 1).sum())
    return right / len(words)


def false_alarms(
    spotter: KeywordSpotter, recordings: Sequence[Array], pause: float = 0.3
) -> tuple[int, float]:
    """Reports in recordings [samples] at 8 kHz without a keyword, `pause` seconds apart, and their hours."""
    quiet, heard, samples = np.zeros(int(pause * RATE), np.float32), 0, 0
    for sound in recordings:
        noise = make_noise("white", len(sound) + len(quiet), RATE) * np.float32(1e-4)
        heard += len(spotter.feed(np.concatenate([sound, quiet]) + noise))
        samples += len(noise)
    return heard, samples / RATE / 3600


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_keywords")
    parser.add_argument("--held-out", action="store_true", help="also hold out one speaker after the other")
    parser.add_argument("--out", type=Path, help="the folder to write the model of the official split to")
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args(arguments)
    digits, mandarin = datasets.load_recordings("fsdd"), datasets.load_recordings("audio_cmn")
    every = [*digits.train, *digits.test]
    words, labels = raw_features(sounds(every, RATE)), [int(r.label) for r in every]
    spoken = sounds(mandarin.train[:600], RATE)
    others, noises = raw_features(spoken), noise_features(spoken)
    speakers = sorted({r.speaker for r in every}) if given.held_out else []
    for speaker in ("", *speakers):
        tested = [
            k for k, r in enumerate(every) if (r.speaker == speaker if speaker else k >= len(digits.train))
        ]
        learned = sorted({*range(len(every))} - {*tested})
        model, processor = train_keywords(
            [words[k] for k in learned], [labels[k] for k in learned], others, noises, epochs=given.epochs
        )
        score = accuracy(model, processor, [words[k] for k in tested], [labels[k] for k in tested])
        print(f"{speaker or 'official split'}: {len(tested)} recordings, accuracy {score:.4f}", flush=True)
        if given.out and not speaker:
            model.save_pretrained(given.out)
            processor.save_pretrained(given.out)
            spoken = sounds([*mandarin.other[::4], *mandarin.test[::4]], RATE)
            for threshold in (0.5, 0.7, 0.8, 0.9):
                spotter = KeywordSpotter(given.out, threshold=threshold)
                alarms, hours = false_alarms(spotter, spoken)
                print(
                    f"threshold {threshold}: {alarms} false alarms in {hours:.2f} h of Mandarin", flush=True
                )


if __name__ == "__main__":
    main()
