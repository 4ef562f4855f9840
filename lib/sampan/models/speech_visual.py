"""Digits by sound, by the mouth and by both, in noise: `compare_modes(...)`.

The faces are rendered from the recordings (`datasets/speech_faces.py`), with sizes, noise and hands over the
mouth. Three networks of one design are trained, which differ in what they are given.

    python -m sampan.models.speech_visual --held-out theo yweweler

Source: Petridis et al., End-to-end audiovisual speech recognition, 2018.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import datasets
from ..datasets.speech_faces import Face, mouth_shapes, render_face
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..random import seed as set_seed
from ..speech.inputs import FbankInput
from ..speech.nn import AudioVisualNet
from ..speech.noise import KINDS, make_noise
from ..speech.visual import mouth_region
from .speech_keywords import KeywordAugment, noise_features, raw_features
from .speech_small import mixed, padded, sounds, train_network

__all__ = ["MODES", "TalkingFace", "compare_modes", "talking_faces", "train_mode"]

Array = np.ndarray[Any, Any]
RATE, BINS, PAUSE = 8000, 40, 1200  # samples of silence before and after a word
MODES = {"sound": ("sound",), "mouth": ("mouth",), "both": ("sound", "mouth")}


class TalkingFace(NamedTuple):
    """samples: float32 at 8 kHz, without noise. mouths: float32 [time, 16, 16], 25 in a second, from a
    rendered face."""

    samples: Array
    mouths: Array
    label: int


def talking_faces(recordings: Sequence[Array], labels: Sequence[int], seed: int = 0) -> list[TalkingFace]:
    """A rendered face for each recording [samples] at 8 kHz, found again in its picture by `mouth_region`."""
    made = []
    for n, (sound, label) in enumerate(zip(recordings, labels, strict=True)):
        rng = np.random.default_rng([seed, n])
        sound = np.pad(sound, PAUSE)
        frames = render_face(mouth_shapes(sound, RATE), Face.random(rng), seed=rng)
        made.append(TalkingFace(sound, mouth_region(frames, part=0.35), label))
    return made


def _batch(features: Sequence[Array], mouths: Sequence[Array]) -> list[Any]:
    """Sound, mouths and the lengths in video frames; features are cut to four for each frame."""
    x, _ = padded([f[: 4 * len(m)] for f, m in zip(features, mouths, strict=True)])
    y, lengths = padded(mouths)
    return [x, y, lengths]


def train_mode(
    mode: str,
    faces: Sequence[TalkingFace],
    noises: Sequence[Array],
    classes: int = 10,
    epochs: int = 10,
    batch_size: int = 32,
    seed: int = 1,
) -> tuple[AudioVisualNet, FbankInput]:
    """A network that uses what `mode` names in MODES, trained at -10 to 40 dB; noises: raw features."""
    set_seed(seed)
    raw = raw_features([face.samples for face in faces])
    frames = np.maximum(np.concatenate(raw), 0)
    inputs = FbankInput(RATE, BINS, frames.mean(0).tolist(), frames.std(0).tolist())
    augment, network = KeywordAugment(inputs, noises), AudioVisualNet(classes, MODES[mode])

    def heard(x: Array, rng: np.random.Generator) -> Array:
        made: Array = ((augment.in_noise(x, rng, -10, 0) - inputs.mean) / inputs.std).astype(np.float32)
        return made

    def seen(mouths: Array, rng: np.random.Generator) -> Array:
        moved = np.roll(mouths, rng.integers(-1, 2, 2), (1, 2))
        if rng.random() < 0.5:
            moved = moved[:, :, ::-1]
        made: Array = moved + 0.1 * rng.standard_normal(moved.shape, np.float32)
        return made

    def batches(rng: np.random.Generator) -> Any:
        order = rng.permutation(len(faces))
        for at in range(0, len(order), batch_size):
            places = order[at : at + batch_size].tolist()
            sound = [heard(raw[k], rng) for k in places]
            mouths = [seen(faces[k].mouths, rng) for k in places]
            yield _batch(sound, mouths), [Tensor(np.array([faces[k].label for k in places]))]

    def loss(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits, target, label_smoothing=0.1)

    train_network(network, batches, loss, epochs, -(-len(faces) // batch_size), seed=seed)
    return network, inputs


@no_grad()
def accuracy_at(
    networks: Sequence[tuple[AudioVisualNet, FbankInput]],
    faces: Sequence[TalkingFace],
    noises: Sequence[Array],
    snr: float,
) -> float:
    """The part of faces whose word is right, each in one of the noises [samples] at `snr` dB.

    networks: with their features; the log probabilities of several are added up, as if their errors were
    independent (decision fusion: Potamianos et al., 2003).
    """
    right = 0
    for at in range(0, len(faces), 50):
        held = faces[at : at + 50]
        heard = [
            mixed(face.samples, np.roll(noises[n % len(noises)], 997 * n), snr)
            for n, face in enumerate(held, at)
        ]
        total = np.zeros(1)
        for network, inputs in networks:
            sound = [inputs.features(x).astype(np.float32) for x in heard]
            logits = network(*_batch(sound, [face.mouths for face in held]))
            total = total + F.log_softmax(logits, -1).numpy()
        right += int((total.argmax(1) == [face.label for face in held]).sum())
    return right / len(faces)


def compare_modes(
    learned: Sequence[TalkingFace],
    tested: Sequence[TalkingFace],
    voices: Sequence[Array],
    levels: Sequence[float] = (-10, -5, 0, 5, 10),
    epochs: int = 10,
) -> dict[str, list[float]]:
    """Accuracy of each mode at each level of noise, in dB, and of "decisions": the sum of the log
    probabilities by sound and by mouth.

    voices: recordings at 8 kHz for the babble; those of the test are others than those of the training.
    """
    half = len(voices) // 2
    noises = noise_features(voices[:half])
    others = [make_noise(kind, 10 * RATE, RATE, voices[half:], 100 + n) for n, kind in enumerate(KINDS)]
    trained: dict[str, tuple[AudioVisualNet, FbankInput]] = {}
    found: dict[str, list[float]] = {}

    def measure(name: str, modes: Sequence[str]) -> None:
        found[name] = [accuracy_at([trained[m] for m in modes], tested, others, snr) for snr in levels]
        print(f"| {name} | {' | '.join(f'{v:.3f}' for v in found[name])} |", flush=True)

    for mode in MODES:
        trained[mode] = train_mode(mode, learned, noises, epochs=epochs)
        measure(mode, [mode])
    measure("decisions", ["sound", "mouth"])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_visual")
    parser.add_argument("--held-out", nargs="+", default=["theo", "yweweler"], help="speakers of fsdd")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--every", type=int, default=1, help="take one in so many recordings to train on")
    given = parser.parse_args(arguments)
    digits, mandarin = datasets.load_recordings("fsdd"), datasets.load_recordings("audio_cmn")
    learned = [r for r in digits.train if r.speaker not in given.held_out][:: given.every]
    tested = [r for r in digits.train if r.speaker in given.held_out][::2]
    tested += [r for r in digits.test if r.speaker in given.held_out]
    faces, others = (
        talking_faces(sounds(part, RATE), [int(r.label) for r in part], seed)
        for seed, part in enumerate((learned, tested))
    )
    print(f"rendered faces: {len(learned)} to learn, {len(tested)} of {given.held_out} to test", flush=True)
    print("| by | -10 dB | -5 dB | 0 dB | 5 dB | 10 dB |\n|---|---|---|---|---|---|", flush=True)
    compare_modes(faces, others, sounds(mandarin.test[:100], RATE), epochs=given.epochs)


if __name__ == "__main__":
    main()
