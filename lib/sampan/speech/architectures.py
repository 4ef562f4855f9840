"""From a model's `config.json` to its network, and from its file of weights into it.

`model_type` names the network: "wav2vec2", whose file is in the published layout (`wav2vec2.py`), or
"conformer", "recurrent" and "keyword" of `speech.nn`, whose files hold the parameters by name.
"""

import inspect
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from .. import nn
from ..engine.tensor import InvalidArgument, Tensor
from .nn import AttentionDecoder, ConformerEncoder, KeywordEncoder, RecurrentEncoder, SpeechModel
from .packed import PACKED, pack, unpack
from .wav2vec2 import Wav2Vec2Config, Wav2Vec2ForCTC, load_published, published_state

__all__ = ["build", "read_weights", "write_packed", "write_weights"]

ENCODERS = {"conformer": ConformerEncoder, "keyword": KeywordEncoder, "recurrent": RecurrentEncoder}


def _accepted(kind: type, settings: Any, name: str) -> dict[str, Any]:
    """The settings of a class; InvalidArgument for one that it does not have."""
    known = [n for n in inspect.signature(kind).parameters if n not in ("vocabulary", "width")]
    known += ["width"] if kind is ConformerEncoder else []
    unknown = [n for n in settings if n not in known]
    if unknown:
        raise InvalidArgument(f"config: {name}: expected settings among {known}, got {unknown[0]!r}")
    return dict(settings)


def build(config: Mapping[str, Any]) -> Any:
    """The network of a configuration, with random parameters: Wav2Vec2ForCTC or SpeechModel.

    config: `model_type`, and for the networks of `speech.nn`: `vocab_size`, `encoder` (its settings), and
    optionally `decoder` (settings) and `ctc_weight`. Raises InvalidArgument for an unknown type or setting.
    """
    kind = config.get("model_type")
    if kind == "wav2vec2":
        return Wav2Vec2ForCTC(Wav2Vec2Config.of(config))
    if kind not in ENCODERS:
        listed = ", ".join(["wav2vec2", *ENCODERS])
        raise InvalidArgument(f"config: model_type: expected one of {listed}, got {kind!r}")
    if not isinstance(config.get("vocab_size"), int):
        raise InvalidArgument(f"config: vocab_size: expected an integer, got {config.get('vocab_size')!r}")
    vocabulary = config["vocab_size"]
    made = ENCODERS[kind]
    encoder: Any = made(**_accepted(made, config.get("encoder", {}), "encoder"))
    decoder = None
    if config.get("decoder") is not None:
        settings = _accepted(AttentionDecoder, config["decoder"], "decoder")
        decoder = AttentionDecoder(vocabulary, encoder.width, **settings)
    return SpeechModel(encoder, vocabulary, decoder, config.get("ctc_weight", 0.3))


def _state(layer: nn.Layer) -> dict[str, Tensor]:
    """Parameters and buffers by name, each once: recurrent layers have theirs under two names."""
    return {**dict(layer.named_parameters()), **dict(layer.named_buffers())}


def read_weights(layer: nn.Layer, folder: Path) -> None:
    """Fill a network from `model.safetensors`, `model.int8` (`packed.py`) or `pytorch_model.bin` of a folder.

    Raises InvalidArgument for a missing or damaged file, and for names and shapes that do not fit.
    """
    names = ["model.safetensors", PACKED, "pytorch_model.bin"]
    path = next((folder / name for name in names if (folder / name).exists()), folder / names[-1])
    try:
        if path.suffix == ".bin":
            state = torch.load(path, map_location="cpu", weights_only=True)
        elif path.name == PACKED:
            state = unpack(path)
        else:
            state = load_file(path)
    except FileNotFoundError:
        raise InvalidArgument(
            f"{folder}: expected model.safetensors, {PACKED} or pytorch_model.bin, found none"
        ) from None
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise InvalidArgument(f"{path}: damaged, or not a file of weights: {error}") from None
    if isinstance(layer, Wav2Vec2ForCTC):
        load_published(layer, state)
        return
    own = _state(layer)
    problems = [f"missing {n}" for n in own if n not in state] + [
        f"unknown {n}" for n in state if n not in own
    ]
    problems += [
        f"{n} has shape {list(state[n].shape)} instead of {list(own[n].shape)}"
        for n in own
        if n in state and list(state[n].shape) != list(own[n].shape)
    ]
    if problems:
        raise InvalidArgument(f"{path}: {'; '.join(problems[:5])}")
    for name, value in own.items():
        value.set_value(Tensor(state[name].to(value.data.dtype)))


def write_packed(layer: nn.Layer, folder: Path) -> int:
    """Write `model.int8` of a network into a folder; returns its bytes. Only for networks of `speech.nn`."""
    state = {name: value.data for name, value in _state(layer).items()}
    linear = {f"{name}.weight": 1 for name, part in layer.named_sublayers() if isinstance(part, nn.Linear)}
    return pack(state, linear, folder / PACKED)


def write_weights(layer: nn.Layer, folder: Path) -> None:
    """Write `model.safetensors` of a network into a folder, of wav2vec 2.0 in the published layout."""
    if isinstance(layer, Wav2Vec2ForCTC):
        state = published_state(layer)
    else:
        state = {name: value.data.contiguous() for name, value in _state(layer).items()}
    save_file(state, folder / "model.safetensors", {"format": "pt"})
