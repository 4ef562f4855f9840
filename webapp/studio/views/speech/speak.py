"""The part "Speak" of the page "Speech": a text becomes sound, its picture, and what the recogniser hears of it."""

from __future__ import annotations

import threading
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np

from studio.i18n import t

from ..common.figures import notice, percent
from ..common.pieces import beside, button, card, text_field
from ..common.widgets import Slider
from . import figures as show
from .chunks import RATE, Refused
from .listen import ListenPart, sound_view
from .listening import Scope
from .voice import MOST_CHARACTERS, VOICE, Speaking, checked_text, load_voice

FIRST = "你好"
PACES = (0.7, 0.85, 1.0, 1.2, 1.5)


class SpeakPart:
    """`root` is the widget. `begin()` loads the voice; call it in a thread after the page is shown. The sound is played
    by the device of the part `listen`, whose recogniser hears it."""

    def __init__(self, lang: str, listen: ListenPart) -> None:
        self.lang, self._listen = lang, listen
        self.voice: Any = None
        self.speaking: Speaking | None = None
        self._lock = threading.RLock()
        self.text = text_field(self._t("field.text"), FIRST)
        self.pace = Slider(label=self._t("field.pace"), texts=[f"{pace:g} ×" for pace in PACES], index=2)
        self.pace.add_class("so-slot-slider")
        self.say = button(self._t("speak"), self.speak, "primary", disabled=True)
        self.again = button(self._t("again"), self.replay, disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        self.view = sound_view(self._t("spoken.title"), self._t("spoken.empty"), lang, still=True)
        self.heard = widgets.HTML(f'<p class="sp-muted">{escape(self._t("heard.empty"))}</p>')
        self.heard.add_class("so-heard")
        form = card([self.text, self.pace, widgets.HBox([self.say, self.again]), self.status], "sx-form")
        self.root = beside(form, [card([self.view]), card([self.heard])])

    def begin(self) -> None:
        self.voice = load_voice()
        with self._lock:
            self.say.disabled = self.voice is None
            key = "voice.missing" if self.voice is None else "voice.ready"
            self.status.value = notice(self._t(key, name=VOICE, most=MOST_CHARACTERS))

    def speak(self) -> None:
        with self._lock:
            if self.voice is None or (self.speaking is not None and self.speaking.alive):
                return
            try:
                text = checked_text(self.text.value)
            except Refused as refused:
                self.status.value = notice(self._t(refused.reason, **refused.values), bad=True)
                return
            self.say.disabled = self.again.disabled = True
            self.status.value = notice(self._t("speaking"))
            self.view.send({"kind": "clear"})
            pace = PACES[self.pace.index]
            self.speaking = Speaking(text, self.voice, self._listen.recogniser, self._follow, pace)
            self.speaking.start()

    def replay(self) -> None:
        """Plays the last sound again."""
        if self.speaking is not None and self.speaking.samples is not None:
            pcm = np.round(self.speaking.samples * 32767).astype("<i2").tobytes()
            self._listen.device.send({"kind": "play", "rate": RATE}, [pcm])

    def _follow(self, speaking: Speaking) -> None:
        with self._lock:
            if speaking.alive and speaking.samples is not None:
                frames, peaks = Scope().feed(speaking.samples)
                self.view.send({"kind": "sound"}, [frames.tobytes(), peaks.tobytes()])
                self.view.summary = self._t("spoken.summary", text=speaking.text)
                self.replay()
            if speaking.alive:
                return
            self.say.disabled = False
            self.again.disabled = speaking.samples is None
            if speaking.state == "failed":
                text = self._t("error.speaking")
                self.status.value = notice(text, bad=True, detail=speaking.error, lang=self.lang)
                return
            self.status.value = notice(self._t("spoken"))
            self.heard.value = self._result(speaking)

    def _result(self, speaking: Speaking) -> str:
        recogniser, heard = self._listen.recogniser, speaking.utterance
        if heard is None or recogniser is None:
            return f'<p class="sp-muted">{escape(self._t("heard.nobody"))}</p>'
        text = heard.final or self._t("heard.nothing")
        rate = speaking.error_rate
        wrong = "" if rate is None else self._t("heard.rate", rate=percent(min(rate, 1)))
        tree = show.beam_tree(heard.look(), recogniser.tokens, self.lang)
        return (
            f'<h3>{escape(self._t("heading.heard"))}</h3><p class="sx-verdict">{escape(text)}</p>'
            f"<p>{escape(wrong)}</p>{tree}"
        )

    def _t(self, key: str, **values: object) -> str:
        return t(f"speech.{key}", self.lang, **values)
