"""Recognition as the page shows it: live text of one utterance after the other, with the probabilities, the
hypotheses and the alignment behind it. Independent of widgets."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from .chunks import RATE, Samples

FRAME_S = 0.04  # of the encoder
SILENT_FRAMES = 20  # blank frames after a token that end an utterance
LONGEST_FRAMES = 375  # of an utterance; later sound begins another
QUIET_FRAMES = 5  # an utterance without a token is given up where these are blank
PREFERRED = "wenetspeech_zh"
Numbers = np.ndarray[Any, Any]


def streaming_models() -> list[str]:
    """The names of the recognisers on this machine that can stream, the project's own first."""
    from sampan import speech

    found = []
    for name, folder in speech.available_models().items():
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue  # a folder that somebody is writing
        if isinstance(config, dict) and _streams(config) and (folder / "vocab.json").exists():
            found.append(name)
    return sorted(found, key=lambda name: (name != PREFERRED, name))


def _streams(config: dict[str, Any]) -> bool:
    """Whether a model's configuration is of a network that needs no later sound."""
    encoder = config.get("encoder") or {}
    kind = config.get("model_type")
    causal = kind == "conformer" and encoder.get("causal")
    return bool(causal or (kind == "recurrent" and not encoder.get("bidirectional")))


class Recogniser:
    """A model by name. Raises what `from_pretrained` raises, and ValueError for a model that cannot stream."""

    def __init__(self, name: str) -> None:
        from sampan import speech

        self.name = name
        self.processor = speech.Wav2Vec2Processor.from_pretrained(name)
        self.rate = self.processor.sampling_rate
        self.classifier = speech.AudioClassifier.from_pretrained(name)
        self.model = self.classifier.model
        if not isinstance(self.model, speech.nn.SpeechModel):
            raise ValueError(f"{name} is not a model of speech.nn, which can stream")
        if not hasattr(self.processor.inputs, "stream"):
            raise ValueError(f"{name} reads whole recordings, and no stream of features")
        self.inputs: Any = self.processor.inputs
        self.tokens = list(self.processor.tokens.tokens)
        self.begin().feed(np.zeros(RATE // 2, np.float32))  # raises for an encoder that cannot stream

    def begin(self) -> Utterance:
        return Utterance(self)

    def hear(self, samples: Samples) -> Utterance:
        """A whole recording at once: each frame sees all others, which those of a stream cannot."""
        import sampan

        given = samples if self.rate == RATE else sampan.speech.resample(samples, RATE, self.rate)
        with sampan.no_grad():
            logits = self.classifier(**self.processor(given, return_tensors="pd")).logits[0]
            log_probs = sampan.nn.functional.log_softmax(logits, -1)
        utterance = self.begin()
        utterance.read(log_probs)
        utterance.finish()
        return utterance


class _Tap:
    """A decoder that keeps the log probabilities of the last frames that it reads."""

    def __init__(self, beam: Any) -> None:
        self.beam = beam
        self.frames = 0
        self.ended: list[tuple[list[int], float]] = []  # the hypotheses at the end
        self.kept: deque[Numbers] = deque(maxlen=2 * LONGEST_FRAMES)

    def feed(self, log_probs: Any) -> None:
        rows = np.array(log_probs.numpy(), np.float32)
        self.beam.feed(rows)
        self.kept.extend(rows)
        self.frames += len(rows)

    def partial(self) -> tuple[list[int], int]:
        found: tuple[list[int], int] = self.beam.partial()
        return found

    def finish(self) -> list[tuple[list[int], float]]:
        self.ended = self.beam.finish()
        return self.ended


@dataclass(frozen=True)
class Look:
    """log_probs: float32 [frames, vocabulary] so far. hypotheses: (token ids, score), best first. stable: how many tokens
    of the best one are final."""

    log_probs: Numbers
    hypotheses: list[tuple[list[int], float]]
    stable: int

    @property
    def best(self) -> list[int]:
        return self.hypotheses[0][0] if self.hypotheses else []

    def path(self) -> Numbers | None:
        """The token id of each frame on the best path of the best text, int64 [frames]; None where it has none."""
        from sampan import speech

        if not self.best:
            return None
        try:
            found: Numbers = speech.align(self.log_probs, self.best).path
        except ValueError:  # the last token belongs to a frame that is not kept
            return None
        return found


class Utterance:
    """A stretch of speech. `final` and `partial`: its text so far; `over`: whether it has ended."""

    def __init__(self, recogniser: Recogniser) -> None:
        from sampan import speech

        given, rate = recogniser, recogniser.rate
        self._tap = _Tap(speech.PrefixBeam(len(given.tokens)))
        self._stream = speech.StreamingRecognizer(
            given.model, given.inputs.stream(), self._tap, given.processor.tokens
        )
        self._resample = None if rate == RATE else speech.StreamingResample(RATE, rate)
        self._ended = False
        self.final = self.partial = ""

    @property
    def seconds(self) -> float:
        """Sound whose text is decided, from the begin of the utterance."""
        return self._tap.frames * FRAME_S

    @property
    def delay(self) -> Any:
        """The parts of the delay, `speech.Delay`."""
        return self._stream.delay

    @property
    def over(self) -> bool:
        """Whether a pause follows its text, or it is too long; without any text, whether a new one may begin here."""
        tap = self._tap
        if tap.frames < SILENT_FRAMES:
            return False
        last = list(tap.kept)[-SILENT_FRAMES:]
        silent = [row[0] > np.log(0.5) for row in last]  # blank is token 0
        if tap.partial()[0]:
            return all(silent) or tap.frames >= LONGEST_FRAMES
        return tap.frames >= LONGEST_FRAMES and all(silent[-QUIET_FRAMES:])

    def feed(self, samples: Samples) -> None:
        """Further sound, float32 [samples] at 16 kHz."""
        given = samples if self._resample is None else self._resample.feed(samples)
        self.partial, self.final = self._stream.feed(given)

    def read(self, log_probs: Any) -> None:
        """Further frames, [frames, vocabulary], in place of sound."""
        self._tap.feed(log_probs)

    def finish(self) -> str:
        """The text, after the last sound."""
        if self._resample is not None:
            self._stream.feed(self._resample.finish())
        self.final, self.partial = self._stream.finish(), ""
        self._ended = True
        return self.final

    def look(self) -> Look:
        """What it knows now."""
        beam = self._tap.beam
        shape = (0, beam.size)
        log_probs = np.stack(list(self._tap.kept)) if self._tap.kept else np.zeros(shape, np.float32)
        if self._ended:
            ended = self._tap.ended
            return Look(log_probs, ended, len(ended[0][0]))
        return Look(log_probs, beam.hypotheses(), self._tap.partial()[1])
