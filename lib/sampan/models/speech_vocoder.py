"""Training the vocoder on recordings: `train_vocoder(corpus, held_out, folder)`.

python -m sampan.models.speech_synthesis vocoder --out FOLDER
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import nn, optimizer
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..random import seed as set_seed
from ..serialization import load as load_state
from ..serialization import save as save_state
from ..speech.synthesis.sound import MelSettings, log_mel_array
from ..speech.synthesis.vocoder import Vocoder, spectral_loss
from .speech_corpus import Corpus

__all__ = ["Progress", "VocoderRecipe", "train_vocoder"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class VocoderRecipe:
    """Settings of `train_vocoder`. network: arguments of Vocoder. frames: of a training segment. amplitude:
    weight of the amplitudes' distance, beside `spectral_loss`.
    learning_rate: reached after `warmup` steps, then a half cosine down to a twentieth."""

    network: dict[str, Any] = field(default_factory=dict)
    steps: int = 5000
    batch_size: int = 16
    frames: int = 40
    learning_rate: float = 1.5e-3
    warmup: int = 200
    amplitude: float = 1.0
    clip: float = 10.0
    seed: int = 1
    report: int = 100  # steps between two reports


class Progress(NamedTuple):
    """step: done so far. loss: mean `spectral_loss` since the last report. held_out: on held-out
    recordings."""

    step: int
    loss: float
    held_out: float


def rate_at(step: int, steps: int, warmup: int, top: float) -> float:
    """The learning rate of a step from 1: linear warm-up, then a half cosine from `top` to top / 20."""
    if step <= warmup:
        return top * step / warmup
    part = (step - warmup) / max(steps - warmup, 1)
    return top * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(part, 1.0))))


def _segments(corpus: Corpus, mels: list[Array], hop: int, frames: int, rng: Any, count: int) -> Any:
    """Random segments: log mel [count, frames, n_mels] and their samples [count, (frames - 1) hop]."""
    x: list[Array] = []
    y: list[Array] = []
    while len(x) < count:
        number = int(rng.integers(len(mels)))
        room = len(mels[number]) - frames
        if room < 0:
            continue
        first = int(rng.integers(room + 1))
        sound = corpus.sound(number)[first * hop : (first + frames - 1) * hop]
        x.append(mels[number][first : first + frames])
        y.append(np.pad(sound, (0, (frames - 1) * hop - len(sound))))
    return Tensor(np.stack(x)), Tensor(np.stack(y))


def train_vocoder(
    corpus: Corpus, held_out: Corpus, folder: str | Path, recipe: VocoderRecipe | None = None
) -> Iterator[Progress]:
    """Train step by step; a Progress is yielded at each report, once the checkpoint is in `folder`.

    Where `folder` holds a checkpoint `vocoder.pdparams`, training goes on from its step. Raises
    InvalidArgument where no recording is as long as a segment.
    """
    recipe, path = recipe or VocoderRecipe(), Path(folder) / "vocoder.pdparams"
    mel = MelSettings(corpus.sample_rate)
    mels = [log_mel_array(mel, corpus.sound(n)) for n in range(len(corpus))]
    test = [log_mel_array(mel, held_out.sound(n)) for n in range(min(len(held_out), 200))]
    for name, rows in (("corpus", mels), ("held_out", test)):
        if all(len(frames) < recipe.frames for frames in rows):
            raise InvalidArgument(f"{name}: expected a recording of {recipe.frames} frames, found none")
    set_seed(recipe.seed)
    model = Vocoder(mel, **recipe.network)
    adam = optimizer.AdamW(
        recipe.learning_rate,
        beta2=0.99,
        parameters=model.parameters(),
        weight_decay=1e-3,
        grad_clip=nn.ClipGradByGlobalNorm(recipe.clip),
    )
    done = 0
    if path.exists():
        kept = load_state(str(path))
        model.set_state_dict(kept["model"])
        adam.set_state_dict(kept["optimizer"])
        done = int(kept["step"])
    fixed = _segments(held_out, test, mel.hop, recipe.frames, np.random.default_rng(0), 64)
    total = 0.0
    for step in range(done + 1, recipe.steps + 1):
        rng = np.random.default_rng([recipe.seed, step])
        x, y = _segments(corpus, mels, mel.hop, recipe.frames, rng, recipe.batch_size)
        adam.set_lr(rate_at(step, recipe.steps, recipe.warmup, recipe.learning_rate))
        loss, amplitude = model.loss(x, y)
        (loss + recipe.amplitude * amplitude).backward()
        adam.step()
        adam.clear_grad()
        total += float(loss)
        if step % recipe.report == 0 or step == recipe.steps:
            with no_grad():
                held = float(spectral_loss(model(fixed[0]), fixed[1], mel))
            path.parent.mkdir(parents=True, exist_ok=True)
            state = {"model": model.state_dict(), "optimizer": adam.state_dict(), "step": step}
            save_state(state | {"network": recipe.network}, str(path))
            yield Progress(step, total / ((step - 1) % recipe.report + 1), held)
            total = 0.0
