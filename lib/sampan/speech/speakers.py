"""Whether two recordings are of one speaker: embeddings and their cosine."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .architectures import read_weights
from .inputs import FbankInput, input_of
from .nn import SpeakerEncoder
from .registry import find_model
from .resample import resample
from .tokens import read_json
from .waveform import waveform_tensor

Array = np.ndarray[Any, Any]


class SpeakerModel:
    """`embed(waveform)` gives a unit vector; the cosine of two is high where the speaker is one.

    name: a folder or a name of `available_models` whose `model_type` is "speaker". `threshold` is the cosine
    at the equal error rate of the card's measurement. Raises InvalidArgument for another kind of model.
    """

    def __init__(self, name: str | os.PathLike[str] = "speakers_small") -> None:
        folder = find_model(name)
        config, inputs = (read_json(folder / f"{kind}.json") for kind in ("config", "preprocessor_config"))
        read = input_of(inputs)
        if config.get("model_type") != "speaker" or not isinstance(read, FbankInput):
            raise InvalidArgument(
                f"name: expected a model of speakers, {folder} is {config.get('model_type')!r}"
            )
        self.inputs, self.threshold = read, float(config["threshold"])
        self.network = SpeakerEncoder(read.num_mel_bins, config["channels"], config["width"])
        read_weights(self.network, folder)
        self.network.eval()

    @no_grad()
    def embed(self, waveform: Any, sample_rate: int = 16000) -> Array:
        """float32 [width] of length 1. waveform: [samples], of at least 25 ms; errors as in `fbank`."""
        x = waveform_tensor(waveform, axes=(1,))
        rate = self.inputs.sampling_rate
        samples = (x if sample_rate == rate else resample(x, sample_rate, rate)).numpy().astype(np.float32)
        frames = self.inputs.features(samples).astype(np.float32)
        if not len(frames):
            raise InvalidArgument(f"waveform: expected at least 25 ms, got {len(samples)} samples")
        made: Array = self.network(Tensor(frames[None].copy()))[0].numpy()
        return made

    def same(self, one: Any, other: Any, sample_rate: int = 16000) -> tuple[bool, float]:
        """Whether the cosine of two recordings [samples] reaches the threshold, and the cosine."""
        cosine = float(self.embed(one, sample_rate) @ self.embed(other, sample_rate))
        return cosine >= self.threshold, cosine


def trials(embeddings: Array, speakers: Sequence[Any]) -> tuple[Array, Array]:
    """Every pair of recordings: cosines [pairs], and bool [pairs] whether the speaker is one.

    embeddings: [n, width], of length 1. speakers: n names.
    """
    x, names = np.asarray(embeddings), np.asarray(speakers)
    if x.ndim != 2 or len(x) != len(names):
        raise InvalidArgument(
            f"embeddings, speakers: expected [n, width] and n names, got {list(x.shape)} and {len(names)}"
        )
    one, other = np.triu_indices(len(x), 1)
    return (x @ x.T)[one, other], names[one] == names[other]
