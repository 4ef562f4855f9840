"""Training a voice on one speaker's words: alignment, acoustic model, vocoder, and the folder with both.

    python -m sampan.models.speech_synthesis vocoder --out FOLDER
    python -m sampan.models.speech_synthesis acoustic --out FOLDER
    python -m sampan.models.speech_synthesis voice --out FOLDER

The words are those of `load_recordings("audio_cmn")`, searched in `SAMPAN_DATA`. Each command goes on after
its last checkpoint in FOLDER. The last one writes FOLDER/voice, which `Synthesizer.from_pretrained` loads.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import nn, optimizer
from ..datasets.recordings import load_recordings
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument
from ..random import seed as set_seed
from ..serialization import load as load_state
from ..serialization import save as save_state
from ..speech.synthesis.acoustic import AcousticModel, Sequences, WordUnits, word_units
from ..speech.synthesis.frontend import word_syllables
from ..speech.synthesis.sound import MelSettings, log_mel_array
from ..speech.synthesis.synthesizer import MODEL_TYPE, Voice, write_voice
from ..speech.synthesis.units import UNITS
from ..speech.synthesis.yin import energy_of, fill_unvoiced, yin
from .speech_aligner import UnitAligner, cepstra
from .speech_corpus import Corpus, prepare
from .speech_vocoder import VocoderRecipe, rate_at, train_vocoder

__all__ = ["AcousticRecipe", "Epoch", "Example", "assemble", "examples", "train_acoustic"]

Array = np.ndarray[Any, Any]


class Example(NamedTuple):
    """A recording as the acoustic model learns from it. durations: int64 [units]. mel: float32 [frames,
    n_mels]. log_pitch, energy: float64 [frames]; voiced: bool [frames]."""

    word: WordUnits
    durations: Array
    mel: Array
    log_pitch: Array
    energy: Array
    voiced: Array


@dataclass(frozen=True)
class AcousticRecipe:
    """Settings of `train_acoustic`. network: arguments of AcousticModel. batch_size: words. weights: of the
    four parts of the loss. learning_rate: as in VocoderRecipe."""

    network: dict[str, Any] = field(default_factory=dict)
    epochs: int = 6
    batch_size: int = 16
    weights: tuple[float, ...] = (1.0, 0.2, 0.1, 0.1)
    learning_rate: float = 1.5e-3
    warmup: int = 200
    clip: float = 1.0
    seed: int = 1


class Epoch(NamedTuple):
    """number: from 1. losses, held_out: the four parts of the loss, means over the epoch and held-out
    words."""

    number: int
    losses: list[float]
    held_out: list[float]


def fit_aligner(mels: Sequence[Array], words: Sequence[WordUnits], rounds: int = 8) -> UnitAligner:
    """An aligner of these recordings: two states for an initial, three for a final."""
    made = UnitAligner([1] + [3 if unit.startswith("=") else 2 for unit in UNITS[1:]])
    pairs = [(cepstra(m), w.units[1:-1].tolist()) for m, w in zip(mels, words, strict=True)]
    fitting = [(x, u) for x, u in pairs if made.fits(len(x), u)]
    made.fit([x for x, _ in fitting], [u for _, u in fitting], rounds)
    return made


def examples(corpus: Corpus, aligner: UnitAligner | None = None) -> tuple[list[Example], UnitAligner]:
    """What the acoustic model learns from, and the aligner, which is fitted to the corpus when None.
    Recordings that are too short for their text are left out."""
    mel = MelSettings(corpus.sample_rate)
    words = [word_units(word_syllables(text)) for text in corpus.texts]
    mels = [log_mel_array(mel, corpus.sound(n)) for n in range(len(corpus))]
    aligner = aligner or fit_aligner(mels, words)
    made = []
    for n, (word, frames) in enumerate(zip(words, mels, strict=True)):
        units = word.units[1:-1].tolist()
        if aligner.fits(len(frames), units):
            frequency, voiced = yin(corpus.sound(n), mel.sample_rate, mel.hop)
            log_pitch = fill_unvoiced(frequency, voiced)
            durations = aligner.durations(cepstra(frames), units)
            made.append(Example(word, durations, frames, log_pitch, energy_of(frames), voiced))
    return made, aligner


def statistics(rows: Sequence[Example]) -> list[float]:
    """Mean and deviation of ln pitch where there is a voice, and of energy."""
    log_pitch = np.concatenate([row.log_pitch[row.voiced] for row in rows])
    energy = np.concatenate([row.energy for row in rows])
    return [float(v) for v in (log_pitch.mean(), log_pitch.std(), energy.mean(), energy.std())]


def batch_of(model: AcousticModel, rows: Sequence[Example]) -> tuple[Any, ...]:
    """The arguments of `AcousticModel.loss`."""
    batch = Sequences.of([row.word for row in rows])
    frames = max(len(row.mel) for row in rows)
    durations = np.zeros(batch.places.shape[1:], np.int64)
    mel = np.zeros((len(rows), frames, model.n_mels), np.float32)
    contour = np.zeros((len(rows), frames, 2), np.float32)
    voiced = np.zeros((len(rows), frames, 1), np.float32)
    for n, row in enumerate(rows):
        durations[n, : len(row.durations)] = row.durations
        mel[n, : len(row.mel)] = row.mel
        contour[n, : len(row.mel)] = model.scaled(row.log_pitch, row.energy)
        voiced[n, : len(row.mel), 0] = row.voiced
    return batch, durations, mel, contour, voiced


def _order(rows: Sequence[Example], size: int, rng: Any) -> list[list[int]]:
    """Numbers of examples in batches of similar length, the batches in random order."""
    noisy = np.array([len(row.mel) for row in rows]) * rng.uniform(0.85, 1.15, len(rows))
    order = np.argsort(noisy, kind="stable")
    made = [order[at : at + size].tolist() for at in range(0, len(order), size)]
    return [made[k] for k in rng.permutation(len(made))]


def _held_out(model: AcousticModel, rows: Sequence[Example], size: int) -> list[float]:
    model.eval()
    with no_grad():
        parts = [
            [float(v) for v in model.loss(*batch_of(model, rows[at : at + size]))]
            for at in range(0, len(rows), size)
        ]
    model.train()
    return np.mean(parts, 0).tolist()


def train_acoustic(
    rows: Sequence[Example],
    held_out: Sequence[Example],
    folder: str | Path,
    recipe: AcousticRecipe | None = None,
) -> Iterator[Epoch]:
    """Train epoch by epoch; each Epoch is yielded once its checkpoint `acoustic.pdparams` is in `folder`.

    Where there is a checkpoint, training goes on from it. Raises InvalidArgument for no examples.
    """
    recipe, path = recipe or AcousticRecipe(), Path(folder) / "acoustic.pdparams"
    if not rows or not held_out:
        raise InvalidArgument("rows, held_out: expected at least one example each, got none")
    set_seed(recipe.seed)
    model = AcousticModel(**{"statistics": statistics(rows), **recipe.network})
    adam = optimizer.AdamW(
        recipe.learning_rate,
        beta2=0.98,
        parameters=model.parameters(),
        weight_decay=1e-2,
        grad_clip=nn.ClipGradByGlobalNorm(recipe.clip),
    )
    done = 0
    if path.exists():
        kept = load_state(str(path))
        model.set_state_dict(kept["model"])
        adam.set_state_dict(kept["optimizer"])
        done = int(kept["epoch"])
    each = -(-len(rows) // recipe.batch_size)
    for number in range(done + 1, recipe.epochs + 1):
        set_seed(recipe.seed + number)
        rng = np.random.default_rng([recipe.seed, number])
        sums = np.zeros(4)
        for n, places in enumerate(_order(rows, recipe.batch_size, rng)):
            step = (number - 1) * each + n + 1
            adam.set_lr(rate_at(step, recipe.epochs * each, recipe.warmup, recipe.learning_rate))
            losses = model.loss(*batch_of(model, [rows[k] for k in places]))
            total: Any = sum(w * part for w, part in zip(recipe.weights, losses, strict=True))
            total.backward()
            adam.step()
            adam.clear_grad()
            sums += [float(part) for part in losses]
        held = _held_out(model, held_out, recipe.batch_size)
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {"model": model.state_dict(), "optimizer": adam.state_dict(), "epoch": number}
        save_state(state | {"statistics": model.statistics, "network": recipe.network}, str(path))
        yield Epoch(number, (sums / each).tolist(), held)


def assemble(folder: str | Path, sample_rate: int, card: str = "") -> Voice:
    """The voice of the two checkpoints in `folder`, also written to its folder `voice`."""
    path = Path(folder)
    acoustic, vocoder = (load_state(str(path / f"{name}.pdparams")) for name in ("acoustic", "vocoder"))
    voice = Voice(
        {
            "model_type": MODEL_TYPE,
            "mel": MelSettings(sample_rate).settings(),
            "acoustic": acoustic["network"] | {"statistics": acoustic["statistics"]},
            "vocoder": vocoder["network"],
        }
    )
    voice.acoustic.set_state_dict(acoustic["model"])
    voice.vocoder.set_state_dict(vocoder["model"])
    write_voice(voice, path / "voice", card)
    return voice


def main(arguments: list[str] | None = None) -> None:
    """The commands of this module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_synthesis")
    parser.add_argument("part", choices=["vocoder", "acoustic", "voice"])
    parser.add_argument("--out", type=Path, required=True, help="the folder of checkpoints")
    parser.add_argument("--steps", type=int, default=VocoderRecipe.steps, help="of the vocoder")
    parser.add_argument("--epochs", type=int, default=AcousticRecipe.epochs, help="of the acoustic model")
    given = parser.parse_args(arguments)
    if given.part == "voice":
        assemble(given.out, MelSettings.sample_rate)
        return
    words = load_recordings("audio_cmn")
    corpus, held_out = (
        prepare(rows, given.out / f"{name}.npz", MelSettings.sample_rate)
        for rows, name in ((words.train, "corpus"), (words.test, "held_out"))
    )
    if given.part == "vocoder":
        for progress in train_vocoder(corpus, held_out, given.out, VocoderRecipe(steps=given.steps)):
            print(progress, flush=True)
        return
    rows, aligner = examples(corpus)
    for epoch in train_acoustic(
        rows, examples(held_out, aligner)[0], given.out, AcousticRecipe(epochs=given.epochs)
    ):
        print(epoch, flush=True)


if __name__ == "__main__":
    main()
