"""A network that finds speech in noise: `train_activity(...)`, and how it compares with energy.

Sessions of 4 s: recordings with pauses between them, in white or pink noise, the hum of the mains or the
babble of other voices, at -5 to 20 dB. What is speech is known from the recordings before noise is added.

    python -m sampan.models.speech_activity --out MODEL

Trained on four speakers of fsdd and one of audio_cmn, measured on the two others and the other.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import datasets
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..random import seed as set_seed
from ..speech import StreamingVad, area_under_curve
from ..speech.architectures import write_weights
from ..speech.inputs import FbankInput
from ..speech.nn import ActivityNet
from ..speech.noise import KINDS, make_noise
from .speech_small import sounds, train_network

__all__ = ["Compared", "Session", "clean_speech", "compare", "make_sessions", "train_activity"]

Array = np.ndarray[Any, Any]
RATE, BINS, SHIFT, SECONDS = 8000, 40, 80, 4
HELD_OUT = ("theo", "nicolas")


class Session(NamedTuple):
    """samples: float32 at 8 kHz. speech: bool, for each 10 ms. snr: dB of speech over noise while it is
    spoken. kind: of the noise."""

    samples: Array
    speech: Array
    snr: float
    kind: str


def clean_speech(sound: Array, decibels: float = 30.0) -> Array:
    """bool [samples / 80]: frames of a recording without noise within so many dB of its loudest one, gaps of
    up to 0.1 s included."""
    count = len(sound) // SHIFT
    frames = sound[: count * SHIFT].reshape(count, SHIFT).astype(np.float64)
    power = (frames * frames).mean(1)
    loud = np.flatnonzero(power > power.max() / 10 ** (decibels / 10)) if count else np.empty(0, np.int64)
    found = np.zeros(count, bool)
    for here, after in zip(loud, np.append(loud, count + 100)[1:], strict=True):
        found[here : after if after - here <= 10 else here + 1] = True
    return found


def make_sessions(
    recordings: Sequence[Array],
    voices: Sequence[Array],
    count: int,
    seed: int,
    snr: tuple[float, float] = (-5.0, 20.0),
    kinds: Sequence[str] = KINDS,
) -> list[Session]:
    """Sessions of recordings [samples] at 8 kHz with pauses of 0.1 to 1.5 s. voices: of the babble."""
    rng, made = np.random.default_rng(seed), []
    for n in range(count):
        clean, size = [np.zeros(int(rng.uniform(0, 1) * RATE), np.float32)], 0
        while size < SECONDS * RATE:
            sound = recordings[int(rng.integers(len(recordings)))] * np.float32(rng.uniform(0.5, 1))
            clean += [sound, np.zeros(int(rng.uniform(0.1, 1.5) * RATE), np.float32)]
            size = sum(map(len, clean))
        speech = np.concatenate(clean)[: SECONDS * RATE]
        flags = clean_speech(speech)
        active = speech[: len(flags) * SHIFT].reshape(-1, SHIFT)[flags]
        level, kind = rng.uniform(*snr), kinds[n % len(kinds)]
        noise = make_noise(kind, len(speech), RATE, voices, rng)
        scale = np.sqrt((active.astype(np.float64) ** 2).mean() / 10 ** (level / 10))
        samples = (speech + noise * np.float32(scale)) * np.float32(10 ** rng.uniform(-1, 0))
        made.append(Session(np.clip(samples, -1, 1), flags, level, kind))
    return made


def train_activity(
    sessions: Sequence[Session],
    epochs: int = 8,
    batch_size: int = 16,
    hidden: int = 32,
    seed: int = 1,
    report: Callable[[str], None] | None = None,
) -> tuple[ActivityNet, FbankInput]:
    """The network and its features, trained on sessions of equal length."""
    set_seed(seed)
    plain = FbankInput(RATE, BINS)
    raw = [plain.features(s.samples) for s in sessions]
    frames = np.concatenate(raw)
    inputs = FbankInput(RATE, BINS, frames.mean(0).tolist(), frames.std(0).tolist())
    x = np.stack([(each - inputs.mean) / inputs.std for each in raw]).astype(np.float32)
    y = np.stack([s.speech[: x.shape[1]] for s in sessions]).astype(np.float32)
    network = ActivityNet(BINS, hidden)

    def batches(rng: np.random.Generator) -> Any:
        order = rng.permutation(len(x))
        for at in range(0, len(order), batch_size):
            rows = order[at : at + batch_size]
            gain = rng.uniform(-0.5, 0.5, (len(rows), 1, 1)).astype(np.float32)
            given = Tensor(torch.from_numpy(x[rows] + gain))
            yield [given], [Tensor(torch.from_numpy(y[rows]))]

    def loss(logits: Tensor, states: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(logits, target)

    train_network(network, batches, loss, epochs, -(-len(x) // batch_size), 5e-3, seed=seed, report=report)
    return network, inputs


def save_activity(network: ActivityNet, inputs: FbankInput, folder: Path, hidden: int = 32) -> None:
    """Write a model folder that `NeuralVad` loads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "activity", "hidden": hidden}) + "\n")
    (folder / "preprocessor_config.json").write_text(json.dumps(inputs.settings(), indent=1) + "\n")
    write_weights(network, folder)


class Compared(NamedTuple):
    """Of one level of noise: the part of frames that is wrong, and the area under the ROC curve, by the
    network and by energy. energy_error: at the margin that is best on these very frames."""

    error: float
    area: float
    energy_error: float
    energy_area: float


@no_grad()
def compare(network: ActivityNet, inputs: FbankInput, sessions: Sequence[Session]) -> Compared:
    """The network and `StreamingVad` (no hangover, margins of 0 to 30 dB) on the same frames."""
    x = np.stack([inputs.features(s.samples) for s in sessions]).astype(np.float32)
    truth = np.concatenate([s.speech[: x.shape[1]] for s in sessions])
    likely = network(Tensor(x))[0].numpy().ravel()
    margins = [*np.arange(0.0, 12.0, 1.0), 14.0, 17.0, 20.0, 25.0, 30.0]

    def by_energy(margin: float) -> Array:
        vads = [StreamingVad(RATE, margin=max(margin, 1e-6), least=-90.0, hangover=0.0) for _ in sessions]
        pairs = zip(vads, sessions, strict=True)
        return np.concatenate([vad.feed(s.samples)[: x.shape[1]] for vad, s in pairs])

    flags = np.array([by_energy(m) for m in margins])
    return Compared(
        float(((likely > 0) != truth).mean()),
        area_under_curve(likely, truth),
        float((flags != truth).mean(1).min()),
        area_under_curve(flags.sum(0), truth),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_activity")
    parser.add_argument("--out", type=Path, help="the folder to write the model to")
    parser.add_argument("--sessions", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args(arguments)
    digits, mandarin = datasets.load_recordings("fsdd"), datasets.load_recordings("audio_cmn")
    learned = sounds([*(r for r in digits.train if r.speaker not in HELD_OUT), *mandarin.train[:1000]], RATE)
    tested = sounds([*(r for r in digits.test if r.speaker in HELD_OUT), *mandarin.other[::17]], RATE)
    voices = sounds([*(r for r in digits.test if r.speaker not in HELD_OUT), *mandarin.test[:100]], RATE)
    sessions = make_sessions(learned, learned, given.sessions, 1)
    network, inputs = train_activity(sessions, given.epochs, report=lambda line: print(line, flush=True))
    print("| SNR (dB) | noise | error | AUC | error by energy | AUC by energy |\n|---|---|---|---|---|---|")
    for snr in (-5.0, 0.0, 5.0, 10.0, 20.0):
        for kinds in (KINDS, *([k] for k in KINDS if snr in (0.0, 5.0))):
            found = compare(network, inputs, make_sessions(tested, voices, 24, 2, (snr, snr), kinds))
            print(f"| {snr:g} | {', '.join(kinds)} | {' | '.join(f'{v:.3f}' for v in found)} |", flush=True)
    if given.out:
        save_activity(network, inputs, given.out)


if __name__ == "__main__":
    main()
