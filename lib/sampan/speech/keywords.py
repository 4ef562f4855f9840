"""Keywords in a stream of sound: a window moves over it, and a word is reported once it is probable."""

import os
from typing import Any, NamedTuple

import numpy as np

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn import functional as F
from .inputs import FbankInput
from .nn import KeywordEncoder
from .pretrained import AudioClassifier, Wav2Vec2Processor
from .waveform import waveform_tensor, whole

Array = np.ndarray[Any, Any]
FRAMES = 100  # of features in a second
LARGEST = 64  # windows in one call of the network


class Keyword(NamedTuple):
    """A word that was heard. time: seconds from the start of the signal to the end of the window in which it
    was recognised. score: its smoothed probability."""

    word: str
    time: float
    score: float


class KeywordSpotter:
    """`feed(samples)` returns the keywords that the new samples complete.

    model: the name or folder of a model whose `model_type` is "keyword", such as "fsdd_digits". window, hop:
    seconds of sound that one decision sees, and between two decisions. smooth: decisions whose probabilities
    are averaged. threshold: of the averaged probability. hold: seconds after a report in which nothing is
    reported. The reports do not depend on the pieces; memory does not grow.
    Source: Chen, Parada and Heigold, Small-footprint keyword spotting using deep neural networks, 2014,
    section 2.3 (smoothed posteriors).
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "fsdd_digits",
        window: float = 0.7,
        hop: float = 0.1,
        smooth: int = 2,
        threshold: float = 0.8,
        hold: float = 0.5,
    ) -> None:
        for name, value in (("window", window), ("hop", hop)):
            if not 0.01 <= value <= 10:
                raise InvalidArgument(f"{name}: expected 0.01 to 10 seconds, got {value}")
        if hop > window:
            raise InvalidArgument(f"hop: expected at most the window, {window}, got {hop}")
        if not 0 < threshold < 1:
            raise InvalidArgument(f"threshold: expected between 0 and 1, got {threshold}")
        self.smooth, self.threshold = whole("smooth", smooth), threshold
        self.processor = Wav2Vec2Processor.from_pretrained(model)
        self.model = AudioClassifier.from_pretrained(model)
        if not isinstance(self.model.model.encoder, KeywordEncoder):
            raise InvalidArgument(
                f"model: expected a keyword model, got {self.model.config.get('model_type')!r}"
            )
        self.window, self.hop, self.hold = (round(v * FRAMES) for v in (window, hop, hold))
        self.reset()

    @property
    def sampling_rate(self) -> int:
        """Of the samples that `feed` takes, in Hz."""
        return self.processor.sampling_rate

    def reset(self) -> None:
        """Forget the signal."""
        inputs = self.processor.inputs
        assert isinstance(inputs, FbankInput)
        self._stream = inputs.stream()
        self._held = np.empty((0, inputs.num_mel_bins), np.float32)  # the frames of the next window
        self._end = self.window  # frames from the start of the signal to the end of that window
        self._past: list[Array] = []  # probabilities of the last decisions
        self._silent_to = 0

    def feed(self, samples: Any) -> list[Keyword]:
        """The words after the next samples [any number] of the signal. Errors as in `fbank`."""
        new = waveform_tensor(samples, "samples", (1,)).numpy().astype(np.float32)
        self._held = np.concatenate([self._held, self._stream.feed(new).astype(np.float32)])
        count = max((len(self._held) - self.window) // self.hop + 1, 0)
        found = []
        for at in range(0, count, LARGEST):
            starts = [k * self.hop for k in range(at, min(at + LARGEST, count))]
            for each in self._decide(np.stack([self._held[k : k + self.window] for k in starts])):
                found += self._report(each)
        self._held = self._held[count * self.hop :]
        return found

    def _report(self, probabilities: Array) -> list[Keyword]:
        """The word that the next decision completes, if it does."""
        self._past = [*self._past, probabilities][-self.smooth :]
        mean = np.mean(self._past, 0)
        best, end = int(mean[1:].argmax()) + 1, self._end
        self._end += self.hop
        if mean[best] < self.threshold or end < self._silent_to:
            return []
        self._silent_to = end + self.hold
        return [Keyword(self.processor.tokens.tokens[best], end / FRAMES, float(mean[best]))]

    @no_grad()
    def _decide(self, windows: Array) -> Array:
        """Probabilities [n, 1 + words] of "none" and of each word in windows [n, frames, bins]."""
        logits = self.model(input_features=Tensor(windows)).logits[:, 0]
        made: Array = F.softmax(logits, -1).numpy()
        return made
