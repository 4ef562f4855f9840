"""What saved models answer. Independent of widgets; the library is imported by the call, in the visitor's kernel.

A learner's weights are read by `sampan.load`, which admits arrays and plain values only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from studio.models import WEIGHTS, Model

from ..speech.chunks import RATE, Samples
from ..train import drawing

Shares = list[tuple[str, float]]  # labels with a share from 0 to 1, the largest first
MOST = 5


class NoModel(ValueError):
    """A folder from which no network can be made; the message says what is missing."""


# --- sound ----------------------------------------------------------------------------------------------------

# (samples at 16 kHz, those of another recording) -> ("text" | "shares" | "segments" | "same", what it found)
Listener = Callable[[Samples, Samples], tuple[str, Any]]


def listener(model: Model) -> Listener:
    """A model of sound as a function. Raises what loading it raises, and NoModel for another kind."""
    from sampan import speech

    if model.kind == "activity":
        return lambda samples, _: ("segments", _segments(speech.detect_speech(samples, RATE, model.path)))
    if model.kind == "speaker":
        speaker = speech.SpeakerModel(model.path)
        return lambda samples, other: ("same", speaker.same(samples, other, RATE))
    if model.input != "sound":
        raise NoModel(f"{model.name}: expected a model of sound, got the kind {model.kind!r}")
    processor = speech.Wav2Vec2Processor.from_pretrained(model.path)
    classifier = speech.AudioClassifier.from_pretrained(model.path)

    def logits(samples: Samples) -> Any:
        import sampan

        given = samples
        if processor.sampling_rate != RATE:
            given = speech.resample(samples, RATE, processor.sampling_rate).numpy()
        with sampan.no_grad():
            return classifier(**processor(given, return_tensors="pd")).logits[0]

    if model.kind == "keyword":
        tokens = list(processor.tokens.tokens)
        return lambda samples, _: ("shares", shares(logits(samples)[0].numpy(), tokens))
    return lambda samples, _: ("text", processor.decode(logits(samples)))


def _segments(found: Any) -> list[tuple[float, float]]:
    return [(float(one.start), float(one.end)) for one in found]


def shares(logits: Any, labels: list[str]) -> Shares:
    """The `MOST` most probable labels of logits [labels]."""
    odds = np.exp(np.asarray(logits, np.float64) - np.max(logits))
    odds /= odds.sum()
    return [(labels[i], float(odds[i])) for i in np.argsort(-odds, kind="stable")[:MOST]]


# --- digits ---------------------------------------------------------------------------------------------------


def digit_reader(model: Model) -> Callable[[Samples], Shares]:
    """A network of digits as a function of ink [height, width], 0 to 1. config.json: {"model_type": "mlp" or "lenet",
    "image_size": 28 or 8, "hidden": [widths of an MLP]}."""
    import sampan

    config, size = model.config, model.config.get("image_size", 28)
    if model.kind == "mlp":
        network = sampan.models.MLP(size * size, hidden=tuple(config.get("hidden", (256,))), num_classes=10)
    elif model.kind == "lenet":
        network = sampan.models.LeNet(image_size=size)
    else:
        raise NoModel(f"{model.name}: expected the kind mlp or lenet, got {model.kind!r}")
    weights = [path for path in model.files if path.suffix in WEIGHTS]
    if not weights:
        raise NoModel(f"{model.name}: no file of weights in its folder")
    missing, unexpected = network.set_state_dict(sampan.load(str(weights[0])))
    if missing or unexpected:
        raise NoModel(f"{weights[0].name}: missing {missing}, not expected {unexpected}")
    network.eval()

    def read(ink: Samples) -> Shares:
        picture = drawing.as_input(ink, size)
        with sampan.no_grad():
            return shares(
                network(sampan.to_tensor(picture[None, None]))[0].numpy(), [str(n) for n in range(10)]
            )

    return read


# --- words ----------------------------------------------------------------------------------------------------


def neighbours(model: Model) -> Callable[[str], Shares]:
    """Saved `WordVectors` as a function of a word; it raises KeyError for one without a vector."""
    from sampan.text.word_vectors import WordVectors

    vectors = WordVectors.load(next(path for path in model.files if path.suffix in WEIGHTS))
    return lambda word: [(near, max(cosine, 0.0)) for near, cosine in vectors.similar(word, most=2 * MOST)]
