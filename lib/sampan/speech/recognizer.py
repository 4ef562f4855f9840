"""Live recognition: samples arrive in pieces, and text appears while the sound goes on.

Three streams, one behind the other: samples to features, features to frames of the encoder (`EncoderStream`),
log probabilities to token numbers. Each keeps what it needs of the past and no more, so that memory does not
grow with the sound. A sample's text is there after `Delay.total` seconds at the latest.
"""

import time
from collections import deque
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..ops import concat
from . import delays
from .nn import SpeechModel
from .nn.subsampling import Subsampling4
from .tokens import CTCTokens

__all__ = ["Delay", "StreamingRecognizer", "Transcript"]

Array = np.ndarray[Any, Any]


class Features(Protocol):
    """A stream of features, such as FbankStream."""

    def feed(self, samples: Array) -> Array: ...

    def finish(self) -> Array: ...


class Decoder(Protocol):
    """A stream of token numbers, such as PrefixBeam: `partial` gives them and how many of them are final,
    `finish` the texts by falling score."""

    def feed(self, log_probs: Any) -> Any: ...

    def partial(self) -> tuple[list[int], int]: ...

    def finish(self) -> list[tuple[list[int], float]]: ...


class Transcript(NamedTuple):
    """partial: text that later sound may still change. final: the text before it, which stays."""

    partial: str
    final: str


class Delay(NamedTuple):
    """Seconds from the arrival of a sample to its text, at most.

    lookahead: sound after the sample that its frame needs. chunk: until the chunk that it is in is complete.
    compute: 95th percentile of the measured time for one chunk.
    """

    lookahead: float
    chunk: float
    compute: float

    @property
    def total(self) -> float:
        """The sum."""
        return sum(self)


class StreamingRecognizer:
    """Feeds samples to a model and its decoder.

    model: a SpeechModel in eval mode whose encoder can stream. features: a new stream of features; decoder: a
    new stream of token numbers. tokens: the model's vocabulary. chunk: encoder frames (40 ms) in one step;
    left_chunks: earlier chunks that attention sees. rescore: choose among the decoder's texts by the model's
    attention decoder at the end; the encoder's frames are kept for it, so memory grows with the sound.
    frame_length, frame_shift: of the features, in seconds.

    Example::

        recognizer = StreamingRecognizer(model, inputs.stream(), decoder, tokens)
        partial, final = recognizer.feed(samples)
    """

    def __init__(
        self,
        model: SpeechModel,
        features: Features,
        decoder: Decoder,
        tokens: CTCTokens,
        chunk: int = 4,
        left_chunks: int = 16,
        rescore: bool = False,
        frame_length: float = 0.025,
        frame_shift: float = 0.01,
    ) -> None:
        if len(tokens) != model.vocabulary or tokens.blank != 0:
            raise InvalidArgument(
                f"tokens: expected {model.vocabulary} tokens with blank 0, "
                f"got {len(tokens)} with blank {tokens.blank}"
            )
        if rescore and model.decoder is None:
            raise InvalidArgument("rescore: this model has no attention decoder")
        self.model, self.features, self.decoder, self.tokens = model, features, decoder, tokens
        self.stream = model.stream(chunk, left_chunks)
        self._kept: list[Tensor] | None = [] if rescore else None
        self._seconds: deque[float] = deque(maxlen=1000)
        self._finished, self._texts = False, None
        context = (Subsampling4.WINDOW - Subsampling4.RATE) * frame_shift
        self._lookahead = frame_length - frame_shift + context
        self._chunk = self.stream.steps * frame_shift

    def feed(self, samples: Any) -> Transcript:
        """The text so far, after further samples.

        samples: array or Tensor [samples] of any length, floating or int16, at the model's rate. Raises
        InvalidArgument for another shape, NaN or infinity, and after `finish`; what was fed before stays.
        """
        if self._finished:
            raise InvalidArgument(
                "samples: this recogniser has finished: make a new one for the next recording"
            )
        array = np.asarray(samples.numpy() if isinstance(samples, Tensor) else samples)
        if array.dtype == np.int16:
            array = array / np.float32(32768)
        if array.dtype.kind != "f":
            raise InvalidType(f"samples: expected floating numbers or int16, got {array.dtype}")
        if array.ndim != 1:
            raise InvalidArgument(f"samples: expected [samples], got {list(array.shape)}")
        if not np.isfinite(array).all():
            raise InvalidArgument("samples: expected finite numbers, got NaN or infinity")
        began = time.perf_counter()
        frames = self.features.feed(array.astype(np.float32))
        encoded = self.stream.feed(frames)
        if encoded.shape[0]:
            self._decode(encoded)
            steps = -(-encoded.shape[0] // self.stream.chunk)
            self._seconds.extend([(time.perf_counter() - began) / steps] * steps)
        return self._transcript()

    def finish(self) -> str:
        """The whole text, after the last samples."""
        if self._finished:
            raise InvalidArgument("this recogniser has finished already")
        self._finished = True
        for encoded in (self.stream.feed(self.features.finish()), self.stream.finish()):
            if encoded.shape[0]:
                self._decode(encoded)
        found = self.decoder.finish()
        if self._kept and found:
            found = self.model.rescore(concat(self._kept, 0), found)
        return self.tokens.choose(found)

    @property
    def delay(self) -> Delay:
        """The parts of the delay; compute is 0 before the first chunk."""
        compute = float(np.quantile(self._seconds, 0.95)) if self._seconds else 0.0
        return Delay(self._lookahead, self._chunk, compute)

    def delays(self, times: Any) -> Array:
        """Seconds from the arrival of each sample to its text, float64 [samples], if sound comes in real
        time: see `text_delays`.

        times: moments [samples] in seconds, counted from the first of the last 1,000 chunks. Raises
        InvalidArgument for a moment outside of them.
        """
        return delays.text_delays(times, self._chunk, self._lookahead, list(self._seconds))

    @no_grad()
    def _decode(self, encoded: Tensor) -> None:
        if self._kept is not None:
            self._kept.append(encoded)
        self.decoder.feed(self.model.head.log_probs(encoded))

    def _transcript(self) -> Transcript:
        ids, stable = self.decoder.partial()
        partial, final, self._texts = self.tokens.transcript(ids, stable, self._texts)
        return Transcript(partial, final)
