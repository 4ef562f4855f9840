"""Voice activity by a trained network, where energy does not tell speech from noise."""

import os
from typing import Any

import numpy as np

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .architectures import read_weights
from .inputs import FbankInput, input_of
from .nn import ActivityNet
from .registry import find_model
from .resample import StreamingResample
from .tokens import read_json
from .waveform import waveform_tensor, whole

Array = np.ndarray[Any, Any]


def load_activity(name: str | os.PathLike[str]) -> tuple[ActivityNet, FbankInput]:
    """The network of a model folder or name, in eval mode, and its features.

    Raises InvalidArgument for an unknown name, another kind of model, and files that do not fit.
    """
    folder = find_model(name)
    config, inputs = (read_json(folder / f"{kind}.json") for kind in ("config", "preprocessor_config"))
    if config.get("model_type") != "activity":
        raise InvalidArgument(
            f"model: expected a model of voice activity, {folder} is {config.get('model_type')!r}"
        )
    read = input_of(inputs)
    if not isinstance(read, FbankInput):
        raise InvalidArgument(f"model: expected filter-bank features, {folder} reads samples")
    network = ActivityNet(read.num_mel_bins, config["hidden"])
    read_weights(network, folder)
    network.eval()
    return network, read


class NeuralVad:
    """Whether each frame is speech, known 25 ms after the frame begins: the interface of `StreamingVad`.

    sample_rate: Hz, a whole number; other rates than the model's are resampled, which adds under 5 ms. model:
    a folder or a name of `available_models`. threshold: of the probability. hangover: speech lasts so many ms
    beyond its last frame. Frame i begins after i * 10 ms. The decisions do not depend on the pieces; memory
    does not grow. Source: see `speech.nn.ActivityNet`.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        model: str | os.PathLike[str] = "activity_small",
        threshold: float = 0.5,
        hangover: float = 0.0,
    ) -> None:
        if not 0 < threshold < 1:
            raise InvalidArgument(f"threshold: expected between 0 and 1, got {threshold}")
        self.sample_rate, self.threshold = whole("sample_rate", sample_rate), threshold
        self.hangover = round(hangover / 10)
        self.network, self.inputs = load_activity(model)
        self.reset()

    def reset(self) -> None:
        """Forget the signal."""
        rate = self.inputs.sampling_rate
        self._resample = None if self.sample_rate == rate else StreamingResample(self.sample_rate, rate)
        self._stream = self.inputs.stream()
        self._states: Tensor | None = None
        self._left = 0  # frames of speech to come after a probable one

    @no_grad()
    def probabilities(self, samples: Any) -> Array:
        """float32 [new frames] after the next samples [any number] of the signal. Errors as in `fbank`."""
        new = waveform_tensor(samples, "samples", (1,)).numpy().astype(np.float32)
        frames = self._stream.feed(new if self._resample is None else self._resample.feed(new))
        if not len(frames):
            return np.empty(0, np.float32)
        logits, self._states = self.network(Tensor(frames[None].astype(np.float32)), self._states)
        found: Array = logits[0].sigmoid().numpy()
        return found

    def feed(self, samples: Any) -> Array:
        """bool [new frames] after the next samples [any number] of the signal. Errors as in `fbank`."""
        likely = self.probabilities(samples) >= self.threshold
        if not self.hangover:
            found: Array = likely
            return found
        held = np.empty(len(likely), bool)
        for i, speech in enumerate(likely.tolist()):
            self._left = self.hangover + 1 if speech else max(self._left - 1, 0)
            held[i] = self._left > 0
        return held
