"""Trained recognisers in three lines: a processor that reads sound and writes text, and a model between::

    processor = Wav2Vec2Processor.from_pretrained("wenetspeech_zh")
    model = AudioClassifier.from_pretrained("wenetspeech_zh")
    inputs = processor(path_or_array, return_tensors="pd", sampling_rate=16000)
    with paddle.no_grad():
        logits = model(**inputs).logits
    print(processor.decode(logits[0]))

A model is a folder (`registry.py`) with `config.json`, `model.safetensors`, `preprocessor_config.json`,
`vocab.json`, `tokenizer_config.json` and a card, `README.md`. Folders of published wav2vec 2.0 models load as
they are.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import nn
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .architectures import build, read_weights, write_packed, write_weights
from .inputs import FbankInput, WaveformInput, input_of, read_sound
from .int8 import int8_layers
from .lexicon import load_tokens
from .registry import find_model
from .tokens import CTCTokens, read_json
from .wav2vec2 import Wav2Vec2ForCTC

__all__ = ["AudioClassifier", "AudioOutput", "Inputs", "Wav2Vec2Processor"]

Array = np.ndarray[Any, Any]


class Inputs(dict[str, Any]):
    """What a processor gives and a model takes by name; entries are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"these inputs have {', '.join(self)}, and no {name!r}")


class Wav2Vec2Processor:
    """From sound to a model's inputs, and from its logits to text.

    processor(sound, return_tensors, sampling_rate): sound is a path, an array or Tensor [samples] or
    [channels, samples], or a list of these (a batch, padded at the end). sampling_rate: of arrays, in Hz; it
    must be the model's. Files are resampled to it, and channels averaged. return_tensors: "pd" for Tensors,
    "np" or None for arrays. Returns Inputs with `input_values` or `input_features`, and `attention_mask` if
    the model uses it.
    """

    def __init__(self, inputs: WaveformInput | FbankInput, tokens: CTCTokens) -> None:
        self.inputs, self.tokens = inputs, tokens

    @property
    def sampling_rate(self) -> int:
        """Samples in a second of what the model reads."""
        return self.inputs.sampling_rate

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str]) -> "Wav2Vec2Processor":
        """The processor of a model, by folder or name. Raises InvalidArgument for an unknown one."""
        folder = find_model(name)
        settings = read_json(folder / "preprocessor_config.json")
        return cls(input_of(settings), load_tokens(folder))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the processor's files into a folder, which is made if there is none."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / "preprocessor_config.json").write_text(json.dumps(self.inputs.settings(), indent=1) + "\n")
        self.tokens.save(path)

    def __call__(
        self, sound: Any, return_tensors: str | None = None, sampling_rate: int | None = None
    ) -> Inputs:
        if return_tensors not in ("pd", "np", None):
            raise InvalidArgument(f"return_tensors: expected 'pd', 'np' or None, got {return_tensors!r}")
        if sampling_rate is not None and sampling_rate != self.sampling_rate:
            raise InvalidArgument(
                f"sampling_rate: this model reads {self.sampling_rate} Hz, got {sampling_rate}: "
                "resample the sound"
            )
        numbers = isinstance(sound, list | tuple) and sound and isinstance(sound[0], int | float)
        several = isinstance(sound, list | tuple) and not numbers
        recordings = [self._samples(one) for one in (sound if several else [sound])]
        if not recordings:
            raise InvalidArgument("sound: expected at least one recording, got an empty list")
        found = self.inputs(recordings)
        if return_tensors == "pd":
            return Inputs({name: Tensor(array) for name, array in found.items()})
        return Inputs(found)

    def _samples(self, sound: Any) -> Array:
        """float32 [samples] at the model's rate."""
        if isinstance(sound, str | os.PathLike):
            sound = read_sound(sound, self.sampling_rate)
        array = np.asarray(sound.numpy() if isinstance(sound, Tensor) else sound)
        if array.dtype == np.int16:
            array = array / np.float32(32768)
        if array.dtype.kind != "f":
            raise InvalidType(f"sound: expected floating samples or int16, got {array.dtype}")
        if array.ndim == 2:
            array = array.mean(0)
        if array.ndim != 1 or array.size == 0:
            raise InvalidArgument(
                f"sound: expected [samples] or [channels, samples], got {list(array.shape)}"
            )
        if not np.isfinite(array).all():
            raise InvalidArgument("sound: expected finite samples, got NaN or infinity")
        return array.astype(np.float32)

    def decode(self, given: Any) -> str:
        """The text of one recording: of logits [frames, vocabulary] (greedy), or of frames' token numbers."""
        return self.tokens.decode(given)

    def batch_decode(self, given: Any, lengths: Sequence[int] | None = None) -> list[str]:
        """The texts of a batch [batch, frames, vocabulary] or [batch, frames]. lengths: frames of each."""
        ends: list[Any] = [None] * len(given) if lengths is None else [int(n) for n in lengths]
        return [self.decode(row[:end]) for row, end in zip(given, ends, strict=True)]


class AudioOutput(NamedTuple):
    """logits: float [batch, frames, vocabulary]; lengths: int64 [batch], the frames of each recording."""

    logits: Tensor
    lengths: Tensor


class AudioClassifier(nn.Layer):
    """A network that gives a distribution over tokens for each frame of sound.

    model: a Wav2Vec2ForCTC or SpeechModel. config: the entries of its `config.json`. forward takes what the
    model's processor returns and gives an AudioOutput.
    """

    def __init__(self, model: Any, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.model, self.config = model, dict(config)

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str]) -> "AudioClassifier":
        """The model of a folder or name, in eval mode.

        With the entry `"compute": "int8"` in its configuration, linear layers compute in int8, and the model
        has no gradients.
        Raises InvalidArgument for an unknown name, for a folder without its files, and for weights that do
        not fit.
        """
        folder = find_model(name)
        config = read_json(folder / "config.json")
        model = build(config)
        read_weights(model, folder)
        if config.get("compute") == "int8":
            int8_layers(model)
        made = cls(model, config)
        made.eval()
        return made

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "AudioClassifier":
        """A model with random parameters, in training mode."""
        return cls(build(config), config)

    def save_pretrained(self, folder: str | os.PathLike[str], card: str = "") -> None:
        """Write `config.json`, `model.safetensors` and, unless it is empty, the card into a folder."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        write_weights(self.model, path)
        self._describe(path, self.config, card)

    def save_compressed(self, folder: str | os.PathLike[str], card: str = "") -> int:
        """Write `config.json`, `model.int8` and the card into a folder; returns the bytes of `model.int8`.

        For networks of `speech.nn` that were pruned (`pruning.py`). The saved model computes in int8.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        size = write_packed(self.model, path)
        self._describe(path, {**self.config, "compute": "int8"}, card)
        return size

    @staticmethod
    def _describe(path: Path, config: Mapping[str, Any], card: str) -> None:
        text = json.dumps(config, ensure_ascii=False, indent=1)
        (path / "config.json").write_text(text + "\n", encoding="utf-8")
        if card:
            (path / "README.md").write_text(card, encoding="utf-8")

    def forward(
        self, input_values: Any = None, input_features: Any = None, attention_mask: Any = None
    ) -> AudioOutput:
        waveform = isinstance(self.model, Wav2Vec2ForCTC)
        given = input_values if waveform else input_features
        if given is None or (input_features if waveform else input_values) is not None:
            name = "input_values" if waveform else "input_features"
            raise InvalidArgument(f"this model takes {name}: give it what its own processor returns")
        lengths = None if attention_mask is None else attention_mask.sum(-1)
        return AudioOutput(*self.model(given, lengths))
