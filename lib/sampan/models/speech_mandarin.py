"""The recogniser of Mandarin words that ships as `wenetspeech_zh`: a chunked Conformer with CTC over pinyin.

Its units are initials and finals with tone (`speech/pinyin.py`); words of Chinese characters come from a
lexicon (`speech/lexicon.py`). A step takes recordings one behind the other, as in speech with pauses. The
model that is written has the running mean of the parameters (Polyak and Juditsky, 1992). A run that was
interrupted goes on after its last checkpoint with the same numbers, and may go on for more steps.

    python -m sampan.models.speech_mandarin features FEATURES
    python -m sampan.models.speech_mandarin train FEATURES --out RUN --steps 5000
    python -m sampan.models.speech_mandarin ship FEATURES --out RUN --to wenetspeech_zh

The first needs the data set audio_cmn, espeak-ng, and the packages jieba and pypinyin.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import functional as F
from ..random import seed as set_seed
from ..serialization import load as load_state
from ..serialization import save as save_state
from ..speech import AudioClassifier, CTCTokens, Wav2Vec2Processor, spec_augment
from ..speech.inputs import FbankInput
from ..speech.lexicon import Lexicon, LexiconTokens
from ..speech.nn import Subsampling4
from ..speech.pinyin import INITIALS, pinyin_units
from .speech_mandarin_data import (
    BINS,
    RATE,
    VERSIONS,
    FeatureFile,
    development,
    dictionary,
    human_items,
    store,
    synthetic_items,
)
from .speech_mandarin_report import Run, card, measure

__all__ = ["MandarinRecipe", "Progress", "pinyin_tokens", "ship", "train"]

Array = np.ndarray[Any, Any]
# As many parameters as the Conformer of the recipe, to compare with it.
GRU = {
    "kind": "gru",
    "hidden": 293,
    "num_layers": 3,
    "bidirectional": False,
    "dropout": 0.0,
    "subsampling_channels": 32,
}
STREAM = 4  # frames of the encoder in a chunk of the stream, 160 ms


@dataclass(frozen=True)
class MandarinRecipe:
    """Settings of `train`.

    model_type, encoder: as in a model's config.json. frames: of features in one step. shares: of the
    recordings that are words, syllables and synthetic. aligned: so many first steps learn from frames that
    are labelled by dividing a recording's sound evenly; CTC alone takes long to find an alignment.
    second_speaker: the step from which on the second speaker's syllables are trained on; before it that is an
    unseen speaker. streaming: the step from which on every second step has chunks of STREAM frames, as live
    recognition has; the others have drawn chunks or none. The learning rate rises for
    `warmup` steps and then falls with 1 / sqrt(step). mean: the weight of the earlier mean of the parameters.
    """

    model_type: str = "conformer"
    encoder: dict[str, Any] = field(
        default_factory=lambda: {
            "width": 160,
            "num_layers": 4,
            "hidden": 320,
            "kernel_size": 15,
            "causal": True,
            "norm": "layer",
            "dropout": 0.0,
            "dynamic_chunk": True,
            "subsampling_channels": 32,
        }
    )
    frames: int = 1200
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)
    aligned: int = 500
    second_speaker: int = 2200
    streaming: int = 6500
    learning_rate: float = 1e-3
    warmup: int = 200
    weight_decay: float = 1e-2
    clip: float = 5.0
    mean: float = 0.997
    seed: int = 1


@dataclass(frozen=True)
class Progress:
    """step: from 1. loss: mean since the last report, nats per frame or unit. seconds: for these steps."""

    step: int
    loss: float
    seconds: float


def pinyin_tokens() -> CTCTokens:
    """The blank, number 0, and the units of pinyin."""
    names = ["<pad>", *pinyin_units()]
    return CTCTokens({name: n for n, name in enumerate(names)}, "<pad>", None, None, " ")


def _warps(least: float = 0.94, most: float = 1.06, count: int = 13) -> Array:
    """[count, BINS, BINS]: matrices that stretch the mel axis, as longer or shorter vocal tracts do."""
    made = np.zeros((count, BINS, BINS), np.float32)
    for matrix, factor in zip(made, np.linspace(least, most, count), strict=True):
        place = np.clip(np.arange(BINS) * factor, 0, BINS - 1)
        low = np.minimum(place.astype(int), BINS - 2)
        matrix[low, np.arange(BINS)] = 1 - (place - low)
        matrix[low + 1, np.arange(BINS)] = place - low
    return made


class Batches:
    """Draws the batches of steps: `batches(step)` gives features, lengths, labels and their lengths.

    A row of a batch has recordings one behind the other, each with its own loudness, tilt of the spectrum and
    length of the vocal tract.
    """

    def __init__(
        self, file: FeatureFile, inputs: FbankInput, tokens: CTCTokens, recipe: MandarinRecipe
    ) -> None:
        self.file, self.inputs, self.recipe = file, inputs, recipe
        left_out = {file.items[n].text for n in development(file)}
        self.rows = {
            kind: [
                n
                for n, item in enumerate(file.items)
                if item.part == "train"
                and item.kind == kind
                and (kind != "words" or item.text not in left_out)
            ]
            for kind in ("words", "syllables", "synthetic")
        }
        self.labels = [tokens.encode(" ".join(item.units)) for item in file.items]
        self.warps = _warps()

    def _recording(self, row: int, rng: np.random.RandomState) -> Array:
        frames = self.file[row].astype(np.float32) @ self.warps[rng.randint(len(self.warps))]
        decibel = np.log(10) / 10
        loudness, tilt = rng.normal(-6, 4) * decibel, rng.normal(0, 2) * decibel
        frames += (loudness + tilt * np.linspace(-1, 1, BINS)).astype(np.float32)
        normal: Array = (frames - self.inputs.mean) / self.inputs.std
        return normal

    def _even(self, row: int) -> Array:
        """int64 [frames]: the units spread over a recording's sound, finals twice as long, else blank."""
        loud = self.file[row].astype(np.float32).mean(1)
        above = np.flatnonzero(loud > np.quantile(loud, [0.05, 0.95]).mean())
        first, last = max(above[0] - 4, 0), above[-1] + 1
        ids = self.labels[row]
        parts = np.cumsum([0, *(1 if n <= len(INITIALS) else 2 for n in ids)])
        places = np.searchsorted(
            parts / parts[-1], (np.arange(first, last) - first) / (last - first), "right"
        )
        made = np.zeros(len(loud), np.int64)
        made[first:last] = np.array(ids)[places - 1]
        return made

    def __call__(self, step: int) -> tuple[Tensor, Array, Array, Array, Array]:
        rng = np.random.RandomState([self.recipe.seed, step])
        words, syllables, synthetic = self.recipe.shares
        shares = np.array([words, syllables * (step >= self.recipe.second_speaker), synthetic])
        most = int(rng.choice([130, 200, 300, 400]))
        batch: list[tuple[Array, list[int], Array]] = []
        while len(batch) < max(self.recipe.frames // most, 1):
            pieces: list[Array] = []
            ids: list[int] = []
            even: list[Array] = []
            while True:
                kind = rng.choice(["words", "syllables", "synthetic"], p=shares / shares.sum())
                row = self.rows[kind][rng.randint(len(self.rows[kind]))]
                if pieces and sum(map(len, pieces)) + len(self.file[row]) > most:
                    break
                pieces.append(self._recording(row, rng))
                ids += self.labels[row]
                even.append(self._even(row))
            frames = np.concatenate(pieces)
            if Subsampling4.frames(len(frames)) >= 2 * len(ids):
                batch.append((frames, ids, np.concatenate(even)))
        lengths = np.array([len(x) for x, *_ in batch])
        counts = np.array([len(ids) for _, ids, _ in batch])
        x = np.zeros((len(batch), lengths.max(), BINS), np.float32)
        y = np.zeros((len(batch), counts.max()), np.int64)
        z = np.full((len(batch), Subsampling4.frames(lengths.max())), -100)
        for n, (frames, ids, each) in enumerate(batch):
            x[n, : len(frames)], y[n, : len(ids)] = frames, ids
            middles = 4 * np.arange(Subsampling4.frames(len(frames))) + 3  # of the encoder's windows
            z[n, : len(middles)] = each[middles]
        return spec_augment(Tensor(torch.from_numpy(x)), 1, 10, 1, 6), lengths, y, counts, z


def _inputs(file: FeatureFile, most: int = 2000) -> FbankInput:
    """Features with mean and deviation of up to `most` recordings, evenly chosen, as loud as in training."""
    rows = [n for n, item in enumerate(file.items) if item.part == "train"]
    frames = np.concatenate([file[n] for n in rows[:: max(len(rows) // most, 1)]]).astype(np.float32)
    mean = frames.mean(0) - 6 * np.log(10) / 10
    return FbankInput(RATE, BINS, mean.tolist(), frames.std(0).tolist())


def train(
    file: FeatureFile,
    folder: str | Path,
    steps: int,
    recipe: MandarinRecipe | None = None,
    every: int = 100,
) -> Iterator[Progress]:
    """Train to `steps` steps; after each `every` of them, model and checkpoint are written.

    Goes on after the checkpoint in `folder`. Raises InvalidArgument for a checkpoint of another recipe.
    """
    recipe, path = recipe or MandarinRecipe(), Path(folder)
    tokens, inputs = pinyin_tokens(), _inputs(file)
    set_seed(recipe.seed)
    config = {
        "model_type": recipe.model_type,
        "vocab_size": len(tokens),
        "encoder": recipe.encoder | {"input_size": BINS},
    }
    model, smooth = AudioClassifier.from_config(config), AudioClassifier.from_config(config)
    model.train()
    adam = optimizer.AdamW(
        recipe.learning_rate,
        parameters=model.parameters(),
        weight_decay=recipe.weight_decay,
        grad_clip=nn.ClipGradByGlobalNorm(recipe.clip),
    )
    checkpoint, done = path / "checkpoint.pdparams", 0
    smooth.set_state_dict(model.state_dict())
    if checkpoint.exists():
        kept = load_state(str(checkpoint))
        if kept["recipe"] != repr(recipe):
            raise InvalidArgument(f"{checkpoint}: is of another recipe: choose another folder")
        model.set_state_dict(kept["model"])
        smooth.set_state_dict(kept["mean"])
        adam.set_state_dict(kept["optimizer"])
        done = int(kept["step"])
    batches = Batches(file, inputs, tokens, recipe)
    pairs = [(a.data, b.data) for a, b in zip(smooth.parameters(), model.parameters(), strict=True)]
    log: dict[str, Any] = {
        "steps": done,
        "frames": recipe.frames,
        "hours": 0.0,
        "unseen_step": 0,
        "unseen": None,
    }
    if done:
        log = json.loads((path / "run.json").read_text())
    total, units, began = 0.0, 0, time.perf_counter()
    for step in range(done + 1, steps + 1):
        set_seed(recipe.seed * 1_000_003 + step)  # a step draws the same numbers after a pause
        features, lengths, labels, counts, even = batches(step)
        adam.set_lr(recipe.learning_rate * min(step / recipe.warmup, (recipe.warmup / step) ** 0.5))
        if step <= recipe.aligned:
            logits = model.model(features, lengths).logits
            loss = F.cross_entropy(logits.flatten(0, 1), Tensor(even.reshape(-1)), ignore_index=-100)
        else:
            chunk = STREAM if step >= recipe.streaming and step % 2 else None
            encoded, ends = model.model.encoder(features, lengths, chunk)
            loss = model.model.head.loss(encoded, ends, labels, counts)
        loss.backward()
        adam.step()
        adam.clear_grad()
        weight = min(recipe.mean, step / (step + 10))
        for mean, value in pairs:
            mean.lerp_(value, 1 - weight)
        units += 1 if step <= recipe.aligned else int(counts.sum())
        total += float(loss) * (1 if step <= recipe.aligned else len(counts))
        if step + 1 == recipe.second_speaker:
            smooth.eval()
            spoken = [n for n, i in enumerate(file.items) if i.kind == "syllables" and not file.versions[n]]
            found = measure(smooth, Wav2Vec2Processor(inputs, tokens), file, spoken)
            log |= {"unseen_step": step, "unseen": list(found)}
        if step % every == 0 or step == steps:
            smooth.save_pretrained(path)
            Wav2Vec2Processor(inputs, tokens).save_pretrained(path)
            state = {"model": model.state_dict(), "mean": smooth.state_dict(), "optimizer": adam.state_dict()}
            save_state(state | {"step": step, "recipe": repr(recipe)}, str(checkpoint))
            now = Progress(step, total / units, time.perf_counter() - began)
            log |= {"steps": step, "hours": log["hours"] + now.seconds / 3600}
            (path / "run.json").write_text(json.dumps(log))
            yield now
            total, units, began = 0.0, 0, time.perf_counter()


LEXICON_NOTE = """Words of Chinese characters, their pinyin with tones, and how often they occur.
Words and counts: jieba 0.42.1, MIT licence. Pinyin: pypinyin 0.55.0, MIT licence."""


def ship(file: FeatureFile, folder: str | Path, target: str | Path) -> str:
    """Write the model of a run with its lexicon and card to another folder; returns the card."""
    model, processor = AudioClassifier.from_pretrained(folder), Wav2Vec2Processor.from_pretrained(folder)
    words = [word for word in dictionary() if len(word[1]) <= 4]  # longer ones delay the text of a stream
    processor.tokens = LexiconTokens(processor.tokens.vocabulary, Lexicon(words, LEXICON_NOTE))
    log = json.loads((Path(folder) / "run.json").read_text())
    text = card(model, processor, file, Run(**log))
    model.save_pretrained(target, text)
    processor.save_pretrained(target)
    return text


def main(arguments: Sequence[str]) -> None:
    """The command line: features, training and the folder that ships."""
    parser = argparse.ArgumentParser(description="Train the recogniser of Mandarin words.")
    parser.add_argument("task", choices=["features", "train", "ship"])
    parser.add_argument("features", help="the folder of the features")
    parser.add_argument("--out", help="the folder of the run")
    parser.add_argument("--to", help="the folder of the model that ships")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--model", choices=["conformer", "recurrent"], default="conformer")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    if given.task == "features":
        items = human_items() + synthetic_items(5000)
        store(given.features, items, VERSIONS, given.processes, lambda a, b: print(f"{a} of {b}", flush=True))
        return
    if given.out is None or (given.task == "ship" and given.to is None):
        parser.error("--out is needed, and --to to ship")
    file = FeatureFile(given.features)
    if given.task == "train":
        recipe = MandarinRecipe()
        if given.model == "recurrent":
            recipe = replace(recipe, model_type="recurrent", encoder=GRU)
        for now in train(file, given.out, given.steps, recipe):
            print(f"step {now.step}: loss {now.loss:.3f}, {now.seconds:.0f} s", flush=True)
    else:
        print(ship(file, given.out, given.to))


if __name__ == "__main__":
    main(sys.argv[1:])
