"""Text in, sound out: `Synthesizer.from_pretrained("mandarin_voice").speak("你好，世界")`.

A voice is a folder (`speech/registry.py`) with `config.json`, `model.safetensors` of the acoustic model and
the vocoder, and a card, `README.md`.
"""

import inspect
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file

from ... import nn
from ...engine.backward import no_grad
from ...engine.tensor import InvalidArgument, Tensor
from ...ops import concat
from ..architectures import read_weights
from ..registry import find_model
from ..tokens import read_json
from ..waveform import positive
from .acoustic import AcousticModel, word_units
from .frontend import LONG_PAUSE, Phrase, phrases
from .sound import MelSettings
from .vocoder import Vocoder

__all__ = ["Chunk", "Synthesizer", "Voice", "write_voice"]

Array = np.ndarray[Any, Any]
MODEL_TYPE = "mandarin_synthesis"
MOST_CHARACTERS = 5000
INNER_PACE = 1.25  # words that are not the last of a phrase are said faster than words alone


class Chunk(NamedTuple):
    """samples: float32 [n], of one phrase and the pause after it. text: the phrase, in characters. words: its
    syllables, as in Phrase."""

    samples: Array
    text: str
    words: list[list[str]]


class Voice(nn.Layer):
    """An acoustic model and a vocoder. config: `mel` (MelSettings), `acoustic` and `vocoder` (arguments)."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        if config.get("model_type") != MODEL_TYPE:
            raise InvalidArgument(
                f"config: model_type: expected {MODEL_TYPE!r}, got {config.get('model_type')!r}"
            )
        self.config = dict(config)
        self.mel: MelSettings = _made("mel", MelSettings, config)
        self.acoustic: AcousticModel = _made("acoustic", AcousticModel, config, n_mels=self.mel.n_mels)
        self.vocoder: Vocoder = _made("vocoder", Vocoder, config, mel=self.mel)


def _made(name: str, kind: Any, config: Mapping[str, Any], **more: Any) -> Any:
    """An object of the settings under `name`; InvalidArgument for one that it does not have."""
    settings = config.get(name, {})
    unknown = [s for s in settings if s not in inspect.signature(kind).parameters or s in more]
    if unknown:
        raise InvalidArgument(f"config: {name}: unknown setting {unknown[0]!r}")
    return kind(**settings, **more)


def write_voice(voice: Voice, folder: str | os.PathLike[str], card: str = "") -> None:
    """Write the files of a voice, weights in half precision; the folder is made if there is none."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"model_type": MODEL_TYPE, **voice.config}, ensure_ascii=False, indent=1)
    (path / "config.json").write_text(text + "\n", encoding="utf-8")
    state = {name: value.data.to(torch.float16).contiguous() for name, value in voice.named_parameters()}
    save_file(state, path / "model.safetensors", {"format": "pt"})
    if card:
        (path / "README.md").write_text(card, encoding="utf-8")


class Synthesizer:
    """A voice that reads Chinese texts aloud.

    voice: acoustic model and vocoder. `sample_rate`: Hz of what it says.
    """

    def __init__(self, voice: Voice) -> None:
        self.voice = voice
        self.voice.eval()
        self.sample_rate = voice.mel.sample_rate

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str]) -> "Synthesizer":
        """The voice of a folder or name. Raises InvalidArgument for an unknown name, for a folder without its
        files, and for weights that do not fit."""
        folder = find_model(name)
        voice = Voice(read_json(folder / "config.json"))
        read_weights(voice, folder)
        return cls(voice)

    def speak(self, text: str, pace: float = 1.0, rise: float = 0.0) -> tuple[Array, int]:
        """(samples float32 [n] from -1 to 1, sample rate in Hz) of a text.

        pace: above 1 for faster. rise: of the pitch, in semitones. Raises InvalidArgument for a text without
        a character to say, of more than 5,000 characters (`stream` has no limit), or with a character that
        cannot be read, such as an emoji; for a pace outside 0.25 to 4 and a rise outside -12 to 12.
        """
        if isinstance(text, str) and len(text) > MOST_CHARACTERS:
            raise InvalidArgument(
                f"text: expected at most {MOST_CHARACTERS} characters, got {len(text)}: use stream, "
                "which gives phrase by phrase"
            )
        parts = [chunk.samples for chunk in self.stream(text, pace, rise)]
        return np.concatenate(parts), self.sample_rate

    def stream(self, text: str, pace: float = 1.0, rise: float = 0.0) -> Iterator[Chunk]:
        """What `speak` says, phrase by phrase, each as soon as it is made. Errors as in `speak`, all of them
        before the first chunk."""
        said = list(phrases(text))
        if not said:
            raise InvalidArgument(f"text: expected something to say, got {text!r}")
        if not 0.25 <= positive("pace", pace) <= 4:
            raise InvalidArgument(f"pace: expected 0.25 to 4, got {pace}")
        if not -12 <= rise <= 12:
            raise InvalidArgument(f"rise: expected -12 to 12 semitones, got {rise}")
        return (self._chunk(phrase, pace, rise) for phrase in said)

    def frames(self, words: list[list[str]], pace: float = 1.0, rise: float = 0.0) -> Tensor:
        """Log mel frames [frames, n_mels] of words without a pause between; each a list of syllables such as
        "ni3"."""
        units = [word_units(word) for word in words]
        with no_grad():
            spoken = self.voice.acoustic(units[:-1], pace * INNER_PACE, rise) if len(units) > 1 else []
            spoken = spoken + self.voice.acoustic(units[-1:], pace, rise)
            parts = []
            for n, (frames, durations) in enumerate(spoken):  # silence stays at both ends of the phrase
                first = int(durations[0]) if n else 0
                after = int(durations[-1]) if n < len(spoken) - 1 else 0
                parts.append(frames[first : len(frames) - after])
            return concat(parts, 0)

    def sound(self, frames: Any) -> Array:
        """Samples float32 [(frames - 1) hop] of log mel frames [frames, n_mels]."""
        with no_grad():
            made: Array = self.voice.vocoder.refined(frames.unsqueeze(0))[0].numpy()
        return np.clip(made, -1.0, 1.0)

    def _chunk(self, phrase: Phrase, pace: float, rise: float) -> Chunk:
        samples = self.sound(self.frames(phrase.words, pace, rise))
        silence = np.zeros(int(min(phrase.pause, LONG_PAUSE) / pace * self.sample_rate), np.float32)
        return Chunk(np.concatenate([samples, silence]), phrase.text, phrase.words)
