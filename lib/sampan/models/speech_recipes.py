"""Training a recogniser on a folder of recordings: `train(aishell(folder), aishell(folder, "dev"), out)`.

Filter-bank features, a CTC model of `speech.nn`, AdamW with warm-up. Each epoch writes a checkpoint; a run
that was interrupted goes on after its last epoch with the same numbers. The result is a model folder that
`AudioClassifier.from_pretrained` loads. Layouts: `datasets/speech_layouts.py`.

    python -m sampan.models.speech_recipes aishell FOLDER --out MODEL --epochs 60
    python -m sampan.models.speech_recipes wenetspeech WenetSpeech.json --out MODEL
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer
from ..datasets.speech_layouts import Utterance, aishell, wenetspeech
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..random import seed as set_seed
from ..serialization import load as load_state
from ..serialization import save as save_state
from ..speech import AudioClassifier, CTCTokens, Wav2Vec2Processor
from ..speech.error_rates import edit_distance
from ..speech.inputs import FbankInput, read_sound
from ..speech.nn import Subsampling4

__all__ = ["Epoch", "SpeechRecipe", "error_rates", "make_vocabulary", "train"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SpeechRecipe:
    """Settings of `train`.

    model_type, encoder, decoder: as in a model's config.json (`speech/architectures.py`). separator: between
    the tokens of a text, "" for characters. warmup: steps until the learning rate is reached; then it falls
    with 1 / sqrt(steps). clip: of the gradient's norm.
    """

    model_type: str = "conformer"
    encoder: dict[str, Any] = field(
        default_factory=lambda: {
            "width": 144,
            "num_layers": 8,
            "kernel_size": 15,
            "causal": True,
            "norm": "layer",
            "dynamic_chunk": True,
        }
    )
    decoder: dict[str, Any] | None = None
    ctc_weight: float = 0.3
    sampling_rate: int = 16000
    num_mel_bins: int = 80
    separator: str = ""
    epochs: int = 60
    batch_size: int = 16
    learning_rate: float = 1e-3
    warmup: int = 500
    weight_decay: float = 1e-2
    clip: float = 5.0
    seed: int = 1


@dataclass(frozen=True)
class Epoch:
    """number: from 1. loss: mean over the epoch, nats per recording. error_rate: of the development set."""

    number: int
    loss: float
    error_rate: float


def _samples(one: Utterance, sampling_rate: int) -> Array:
    """float32 [samples] of an utterance."""
    return read_sound(one.path, sampling_rate, one.start, one.end)


def make_vocabulary(utterances: Sequence[Utterance], separator: str = "") -> CTCTokens:
    """The tokens of all texts in order, after the blank."""
    found = {token for one in utterances for token in (one.text.split(separator) if separator else one.text)}
    names = ["<pad>", *sorted(found)]
    return CTCTokens({name: n for n, name in enumerate(names)}, "<pad>", None, None, separator)


def _inputs(utterances: Sequence[Utterance], recipe: SpeechRecipe, most: int = 500) -> FbankInput:
    """Features with mean and deviation of up to `most` utterances, evenly chosen."""
    plain = FbankInput(recipe.sampling_rate, recipe.num_mel_bins)
    chosen = utterances[:: max(len(utterances) // most, 1)]
    frames = np.concatenate([plain.features(_samples(u, recipe.sampling_rate)) for u in chosen])
    std = np.maximum(frames.std(0), 1e-3).tolist()
    return FbankInput(recipe.sampling_rate, recipe.num_mel_bins, frames.mean(0).tolist(), std)


def _batches(lengths: Sequence[int], size: int, seed: int) -> list[list[int]]:
    """Numbers of utterances in batches of similar length, the batches in random order."""
    rng = np.random.default_rng(seed)
    noisy = np.asarray(lengths) * rng.uniform(0.9, 1.1, len(lengths))
    order = np.argsort(noisy, kind="stable")
    made = [order[at : at + size].tolist() for at in range(0, len(order), size)]
    return [made[k] for k in rng.permutation(len(made))]


def _rate(step: int, recipe: SpeechRecipe) -> float:
    """The learning rate of a step from 1 (Vaswani et al. 2017, equation 3, scaled to its maximum)."""
    return recipe.learning_rate * min(step / recipe.warmup, (recipe.warmup / step) ** 0.5)


def train(
    utterances: Sequence[Utterance],
    development: Sequence[Utterance],
    folder: str | Path,
    recipe: SpeechRecipe | None = None,
    card: str = "",
) -> Iterator[Epoch]:
    """Train epoch by epoch; each Epoch is yielded once its checkpoint and model are in `folder`.

    Where `folder` holds a checkpoint, training goes on from there. Raises InvalidArgument for a checkpoint of
    another recipe or vocabulary, and for no utterances.
    """
    recipe, path = recipe or SpeechRecipe(), Path(folder)
    if not utterances:
        raise InvalidArgument("utterances: expected at least one, got none")
    checkpoint = path / "checkpoint.pdparams"
    tokens = make_vocabulary(utterances, recipe.separator)
    set_seed(recipe.seed)
    config = {
        "model_type": recipe.model_type,
        "vocab_size": len(tokens),
        "encoder": recipe.encoder | {"input_size": recipe.num_mel_bins},
        "decoder": recipe.decoder,
        "ctc_weight": recipe.ctc_weight,
    }
    model = AudioClassifier.from_config(config)
    adam = optimizer.AdamW(
        recipe.learning_rate,
        parameters=model.parameters(),
        weight_decay=recipe.weight_decay,
        grad_clip=nn.ClipGradByGlobalNorm(recipe.clip),
    )
    identity = {"recipe": repr(recipe), "tokens": list(tokens.tokens)}
    done, step = 0, 0
    if checkpoint.exists():
        kept = load_state(str(checkpoint))
        if {name: kept[name] for name in identity} != identity:
            raise InvalidArgument(f"{checkpoint}: is of another recipe or vocabulary: choose another folder")
        model.set_state_dict(kept["model"])
        adam.set_state_dict(kept["optimizer"])
        done, step = int(kept["epoch"]), int(kept["step"])
        inputs = Wav2Vec2Processor.from_pretrained(path).inputs
        assert isinstance(inputs, FbankInput)
    else:
        inputs = _inputs(utterances, recipe)
    processor = Wav2Vec2Processor(inputs, tokens)
    features = _stored_features(path, utterances, inputs)
    labels = [tokens.encode(one.text) for one in utterances]
    fitting = [n for n, (x, ids) in enumerate(zip(features, labels, strict=True)) if _fits(len(x), ids)]
    if len(fitting) < len(labels):
        warnings.warn(
            f"train: {len(labels) - len(fitting)} of {len(labels)} utterances are too short for their texts "
            "and left out",
            stacklevel=2,
        )
    lengths = [len(features[n]) for n in fitting]
    for number in range(done + 1, recipe.epochs + 1):
        set_seed(recipe.seed + number)  # an epoch draws the same numbers, whether it follows a pause or not
        model.train()
        total = 0.0
        for places in _batches(lengths, recipe.batch_size, recipe.seed + number):
            step, batch = step + 1, [fitting[k] for k in places]
            adam.set_lr(_rate(step, recipe))
            loss = model.model.loss(*_arrays([features[n] for n in batch], [labels[n] for n in batch]))
            loss.backward()
            adam.step()
            adam.clear_grad()
            total += float(loss) * len(batch)
        model.eval()
        wrong, length = map(sum, zip(*error_rates(model, processor, development).values(), strict=True))
        model.save_pretrained(path, card)
        processor.save_pretrained(path)
        state = {"model": model.state_dict(), "optimizer": adam.state_dict(), "epoch": number, "step": step}
        save_state(state | identity, str(checkpoint))  # last: it marks the epoch as done
        yield Epoch(number, total / max(len(fitting), 1), wrong / max(length, 1))


def _stored_features(folder: Path, utterances: Sequence[Utterance], inputs: FbankInput) -> list[Array]:
    """The features of each utterance, mapped from `features.f32` in the folder, which is written if it is not
    there: a corpus of hundreds of hours does not fit into memory."""
    folder.mkdir(parents=True, exist_ok=True)
    data, index = folder / "features.f32", folder / "features.npy"
    if not index.exists():
        lengths = []
        with open(data, "wb") as file:
            for one in utterances:
                frames = inputs.features(_samples(one, inputs.sampling_rate))
                file.write(frames.astype(np.float32).tobytes())
                lengths.append(len(frames))
        np.save(index, np.array(lengths, np.int64))  # last: it marks the other file as whole
    lengths = np.load(index).tolist()
    if len(lengths) != len(utterances):
        raise InvalidArgument(
            f"{index}: holds {len(lengths)} utterances instead of {len(utterances)}: choose another folder"
        )
    if not sum(lengths):
        return [np.zeros((0, inputs.num_mel_bins), np.float32) for _ in lengths]
    whole = np.memmap(data, np.float32, "r", shape=(sum(lengths), inputs.num_mel_bins))
    ends = np.cumsum(lengths)
    return [whole[end - n : end] for n, end in zip(lengths, ends, strict=True)]


def _fits(frames: int, ids: Sequence[int]) -> bool:
    """Whether CTC can spell the labels in the frames that are left after subsampling."""
    return Subsampling4.frames(frames) >= len(ids) + sum(a == b for a, b in pairwise(ids))


def _arrays(features: Sequence[Array], labels: Sequence[Sequence[int]]) -> tuple[Tensor, Array, Array, Array]:
    """One padded batch: features, their lengths, labels, their lengths."""
    lengths, counts = (np.array([len(x) for x in rows], np.int64) for rows in (features, labels))
    x = np.zeros((len(features), lengths.max(), features[0].shape[1]), np.float32)
    y = np.zeros((len(labels), max(counts.max(), 1)), np.int64)
    for row, (frames, ids) in enumerate(zip(features, labels, strict=True)):
        x[row, : len(frames)], y[row, : len(ids)] = frames, ids
    return Tensor(torch.from_numpy(x)), lengths, y, counts


@no_grad()
def error_rates(
    model: AudioClassifier, processor: Wav2Vec2Processor, utterances: Sequence[Utterance]
) -> dict[str, tuple[int, int]]:
    """By speaker: (insertions + deletions + substitutions, tokens of the texts), with greedy decoding.

    The error rate is the first over the second: of characters (CER), or of the tokens between separators.
    """
    found: dict[str, tuple[int, int]] = {}
    for one in utterances:
        sound = _samples(one, processor.sampling_rate)
        text = processor.decode(model(**processor(sound, return_tensors="pd")).logits[0])
        separator = processor.tokens.separator
        said, heard = (t.split(separator) if separator else list(t) for t in (one.text, text))
        wrong, length = found.get(one.speaker, (0, 0))
        found[one.speaker] = (wrong + edit_distance(said, heard), length + len(said))
    return found


def main(arguments: Sequence[str]) -> None:
    """The command line: trains, and prints each epoch and the error rate of each speaker of the test set."""
    parser = argparse.ArgumentParser(description="Train a recogniser.")
    parser.add_argument("layout", choices=["aishell", "wenetspeech"])
    parser.add_argument("data", help="AISHELL-1's folder, or WenetSpeech.json")
    parser.add_argument("--out", required=True, help="the model's folder")
    parser.add_argument("--epochs", type=int, default=SpeechRecipe.epochs)
    parser.add_argument("--model", choices=["conformer", "recurrent"], default="conformer")
    given = parser.parse_args(arguments)
    if given.layout == "aishell":
        parts = [aishell(given.data, part) for part in ("train", "dev", "test")]
    else:
        parts = [wenetspeech(given.data, subset) for subset in ("S", "DEV", "TEST_NET")]
    recipe = SpeechRecipe(given.model, epochs=given.epochs)
    if given.model == "recurrent":
        recipe = replace(recipe, encoder={"kind": "gru"})
    for epoch in train(parts[0], parts[1], given.out, recipe):
        print(f"epoch {epoch.number}: loss {epoch.loss:.2f}, dev CER {epoch.error_rate:.1%}", flush=True)
    model, processor = (
        AudioClassifier.from_pretrained(given.out),
        Wav2Vec2Processor.from_pretrained(given.out),
    )
    for speaker, (wrong, length) in error_rates(model, processor, parts[2]).items():
        print(f"test, {speaker}: CER {wrong / max(length, 1):.1%} of {length} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
