"""Synthesis for the page: a text becomes sound, and the recogniser says what it hears. Independent of widgets."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.work import Work
from .chunks import RATE, Refused, Samples
from .recognition import Recogniser, Utterance

VOICE = "mandarin_voice"
MOST_CHARACTERS = 30


def load_voice() -> Any | None:
    """The voice of this machine; None if there is none. Raises what a damaged one raises."""
    from sampan import speech

    if VOICE not in speech.available_models():
        return None
    synthesis = importlib.import_module("sampan.speech.synthesis")
    return synthesis.Synthesizer.from_pretrained(VOICE)


def checked_text(text: str) -> str:
    """The text without blanks at its ends. Raises Refused: "speak.empty", "speak.long", "speak.chinese"."""
    text = text.strip()
    if not text:
        raise Refused("speak.empty")
    if len(text) > MOST_CHARACTERS:
        raise Refused("speak.long", count=len(text), most=MOST_CHARACTERS)
    if not han(text):
        raise Refused("speak.chinese")
    return text


def han(text: str) -> str:
    """The Chinese characters of a text."""
    return "".join(letter for letter in text if "\u4e00" <= letter <= "\u9fff")


class Speaking(Work):
    """Speaks a text. `samples`: float32 at 16 kHz once they are there; `utterance`: what the recogniser heard of it;
    `error_rate`: its characters that are wrong, as a part of the text's; None for a recogniser that does not write
    characters."""

    def __init__(
        self,
        text: str,
        voice: Any,
        recogniser: Recogniser | None,
        on_change: Callable[[Speaking], None],
        pace: float = 1.0,
    ) -> None:
        super().__init__("speaking", on_change)
        self.text, self.pace, self._voice, self._recogniser = text, pace, voice, recogniser
        self.samples: Samples | None = None
        self.utterance: Utterance | None = None
        self.error_rate: float | None = None

    def _work(self) -> None:
        from sampan import speech

        self._running()
        waveform, rate = self._voice.speak(self.text, pace=self.pace)
        made = np.asarray(getattr(waveform, "numpy", lambda: waveform)(), np.float32).reshape(-1)
        made = made if rate == RATE else speech.resample(made, rate, RATE).numpy()
        self.samples = np.clip(made, -1, 1)
        self._tell()
        if self._recogniser is not None and not self._cancel.is_set():
            utterance = self._recogniser.hear(self.samples)
            if han(utterance.final) or not utterance.final:
                self.error_rate = float(speech.cer([han(self.text)], [utterance.final]))
            self.utterance = utterance
