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
def log_probs_at(
    trained: tuple[AudioVisualNet, FbankInput],
    faces: Sequence[TalkingFace],
    noises: Sequence[Array],
    snr: float,
) -> Array:
    """Log probabilities [faces, classes] of a network with its features, each face in one of the noises
    [samples] at `snr` dB."""
    (network, inputs), made = trained, []
    for at in range(0, len(faces), 50):
        held = faces[at : at + 50]
        heard = [
            mixed(face.samples, np.roll(noises[n % len(noises)], 997 * n), snr)
            for n, face in enumerate(held, at)
        ]
        sound = [inputs.features(x).astype(np.float32) for x in heard]
        logits = network(*_batch(sound, [face.mouths for face in held]))
        made.append(F.log_softmax(logits, -1).numpy())
    return np.concatenate(made)


def accuracy(log_probs: Array, faces: Sequence[TalkingFace]) -> float:
    """The part of faces whose most probable word is right."""
    return float((log_probs.argmax(1) == [face.label for face in faces]).mean())


def mouth_weight(sound: Sequence[Array], mouth: Array, faces: Sequence[TalkingFace]) -> float:
    """The factor of the mouth's log probabilities, 0 to 1, with which their sum with the sound's is right
    most often over all levels of noise. sound: log probabilities at each level; mouth: they hear no noise.

    A network that has seen few mouths is too sure of another one: with a factor of 1 it outvotes the sound.
    The factor is chosen on a speaker of whom neither network has learned (weighted streams: Potamianos et
    al., 2003).
    """
    weights = np.linspace(0, 1, 21)
    return float(max(weights, key=lambda w: np.mean([accuracy(x + w * mouth, faces) for x in sound])))


def compare_modes(
    learned: Sequence[TalkingFace],
    chosen_on: Sequence[TalkingFace],
    tested: Sequence[TalkingFace],
    voices: Sequence[Array],
    levels: Sequence[float] = (-10, -5, 0, 5, 10),
    epochs: int = 10,
) -> dict[str, list[float]]:
    """Accuracy on `tested` of each mode at each level of noise, in dB, and of "decisions": the sum of the log
    probabilities by sound and by mouth, weighted as is best on `chosen_on`.

    voices: recordings at 8 kHz for the babble; those of the test are others than those of the training.
    """
    half = len(voices) // 2
    noises = noise_features(voices[:half])
    others = [make_noise(kind, 10 * RATE, RATE, voices[half:], 100 + n) for n, kind in enumerate(KINDS)]
    trained: dict[str, tuple[AudioVisualNet, FbankInput]] = {}
    by: dict[str, list[Array]] = {}

    def at_levels(mode: str, faces: Sequence[TalkingFace]) -> list[Array]:
        return [log_probs_at(trained[mode], faces, others, snr) for snr in levels]

    def told(name: str) -> list[float]:
        found = [accuracy(x, tested) for x in by[name]]
        print(f"| {name} | {' | '.join(f'{v:.3f}' for v in found)} |", flush=True)
        return found

    accuracies = {}
    for mode in MODES:
        trained[mode] = train_mode(mode, learned, noises, epochs=epochs)
        by[mode] = at_levels(mode, tested)
        accuracies[mode] = told(mode)
    mouth = log_probs_at(trained["mouth"], chosen_on, others, 0)
    weight = mouth_weight(at_levels("sound", chosen_on), mouth, chosen_on)
    print(f"the factor of the mouth: {weight:.2f}", flush=True)
    by["decisions"] = [x + weight * y for x, y in zip(by["sound"], by["mouth"], strict=True)]
    return accuracies | {"decisions": told("decisions")}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_visual")
    parser.add_argument("--held-out", nargs="+", default=["theo", "yweweler"], help="speakers of fsdd")
    parser.add_argument(
        "--chosen-on", default="lucas", help="the speaker on whom the mouth's weight is chosen"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--every", type=int, default=1, help="take one in so many recordings to train on")
    given = parser.parse_args(arguments)
    digits, mandarin = datasets.load_recordings("fsdd"), datasets.load_recordings("audio_cmn")
    known = [r for r in digits.train if r.speaker not in (given.chosen_on, *given.held_out)][:: given.every]
    chosen = [r for r in digits.train if r.speaker == given.chosen_on]
    tested = [r for r in digits.train if r.speaker in given.held_out][::2]
    tested += [r for r in digits.test if r.speaker in given.held_out]
    learned, chosen_on, others = (
        talking_faces(sounds(part, RATE), [int(r.label) for r in part], seed)
        for seed, part in enumerate((known, chosen, tested))
    )
    print(f"rendered faces: {len(known)} to learn, {len(tested)} of {given.held_out} to test", flush=True)
    print("| by | -10 dB | -5 dB | 0 dB | 5 dB | 10 dB |\n|---|---|---|---|---|---|", flush=True)
    voices = sounds(mandarin.test[:100], RATE)
    compare_modes(learned, chosen_on, others, voices, epochs=given.epochs)


if __name__ == "__main__":
    main()
