"""The part "Listen" of the page "Speech": sound from the microphone, from a file or from a recording; its picture, its
text, and what the recogniser computes."""

from __future__ import annotations

import threading
import time
from functools import partial
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np

from studio.i18n import t
from studio.paths import STATIC

from ..common.figures import notice, origin
from ..common.pieces import beside, button, card, choice, pair
from ..common.widgets import FileField, HeatMap, Slider, SoundDevice, SoundView, SpokenText
from . import figures as show
from .chunks import RATE, Chunks, Refused
from .listening import BANDS, Listening, Playing
from .recognition import PREFERRED, Recogniser, streaming_models
from .sounds import MADE, Sound, SoundSet, sound_sets, with_noise
from .upload import ENDINGS, MOST_BYTES, read_recording

NOISES = (None, 30, 20, 15, 10, 5, 0)  # dB
FIGURES_S = 0.25  # between two updates of the heat map, the tree and the delay
SILENT_S = 3.0


def sound_view(title: str, empty: str, lang: str, still: bool = False) -> SoundView:
    """A SoundView for the columns of `Scope`: Kaldi's mel filters from 20 Hz to 8 kHz."""
    low, high = (1127 * np.log(1 + hertz / 700) for hertz in (20, RATE / 2))
    mel = low + (high - low) * np.arange(1, BANDS + 1) / (BANDS + 1)
    bands = [round(float(hertz)) for hertz in 700 * (np.exp(mel / 1127) - 1)]
    words = {word: t(f"speech.view.{word}", lang) for word in ("keys", "readout")}
    view = SoundView(title=title, empty=empty, bands=bands, still=still, words=words)
    view.add_class("so-slot-view")
    return view


class ListenPart:
    """`root` is the widget. `begin()` reads models and recordings and enables it; call it in a thread after the page is
    shown. `recogniser`: the chosen one, None where there is none."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.recogniser: Recogniser | None = None
        self.listening: Listening | None = None
        self.playing: Playing | None = None
        self._sets: dict[str, SoundSet] = {}
        self._chunks = Chunks(0)
        self._uploaded: Sound | None = None
        self._drawn = 0.0
        self._lock = threading.RLock()
        self._controls()
        self._displays()
        self.root = self._layout()

    # ---- what the visitor does

    def begin(self) -> None:
        names = streaming_models()
        with self._lock:
            self.model.options = [(name, name) for name in names] or [(self._t("model.none"), "")]
            self.model.disabled = not names
            self._choose_model()
            self.device.disabled = False  # the microphone needs no recordings
        sets = sound_sets()
        with self._lock:
            self._sets = {each.kind: each for each in sets}
            self.kind.options = [(self._t(f"kind.{each.kind}"), each.kind) for each in sets]
            self._offer_sounds()
            self.play.disabled = False
            if self.listening is None:
                self.status.value = notice(self._t("ready"))

    def play_sound(self) -> None:
        """Plays the chosen recording in real time, with the chosen noise."""
        sound = self._uploaded if self.sound.value == UPLOADED else self._sound(self.sound.value)
        if sound is not None:
            self._play(sound)

    def stop(self) -> None:
        """Ends what is running; what was heard until now becomes text."""
        self.device.send({"kind": "stop"})
        with self._lock:
            if self.listening is not None:
                self.listening.end()

    def _play(self, sound: Sound) -> None:
        try:
            samples = with_noise(sound.load(), NOISES[self.noise.index])
        except Exception as error:  # a damaged archive
            self._complain("error.sound", f"{type(error).__name__}: {error}")
            return
        with self._lock:
            # A run that no browser has, so that pieces of a recording before it are too late.
            self._chunks = Chunks(min(self._chunks.run, 0) - 1)
            self.device.send({"kind": "stop"})
            listening = self._start()
            self.said.value = self._said(sound)
            self.status.value = notice(self._t("playing"))
            self.playing = Playing(samples, listening)
            if self.aloud.value:
                pcm = np.round(samples * 32767).astype("<i2").tobytes()
                self.device.send({"kind": "play", "rate": RATE}, [pcm])
            self.playing.start()

    def _start(self) -> Listening:
        if self.listening is not None:
            self.listening.cancel()
        self.trouble.value = self.said.value = ""
        self.view.send({"kind": "clear"})
        with self.text.hold_sync():
            self.text.lines, self.text.final, self.text.partial = [], "", ""
        self.heat.levels, self.heat.data = b"", {}
        self.tree.value, self.gauge.value = self._nothing("beam.empty"), self._nothing("delay.empty")
        listening = Listening(self.recogniser, self._follow, partial(self._picture, self._chunks.run))
        self.listening = listening
        self.stop_button.disabled = False
        listening.start()
        return listening

    # ---- the microphone

    def _device_said(self, _widget: Any, content: Any, buffers: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind == "begin" and isinstance(content.get("run"), int):
            with self._lock:
                self._chunks = Chunks(content["run"])
                self.device.send({"kind": "hush"})
                self._start()
                self.status.value = notice(self._t("recording"))
        elif kind == "chunk":
            self._take(content, buffers)
        elif kind == "end" and content.get("run") == self._chunks.run and self.listening is not None:
            self.listening.end()
        elif kind == "trouble":
            why = content.get("why")
            self._complain(
                f"mic.{why if why in TROUBLES else 'failed'}", str(content.get("detail", ""))[:200]
            )

    def _take(self, content: Any, buffers: Any) -> None:
        try:
            samples = self._chunks.take(content, buffers)
            if self.listening is None:
                raise Refused("stopped")
            self.listening.offer(samples, self._chunks.taken)
        except Refused as refused:
            if refused.reason != "stopped":  # pieces that were on their way when it was stopped
                self._complain(f"chunk.{refused.reason}", "", **refused.values)
                self.stop()
            return
        lost = content.get("lost")
        if isinstance(lost, int) and lost > 0:
            self.trouble.value = notice(self._t("mic.lost", seconds=f"{lost / 10:.1f}"), bad=True)

    # ---- what a run shows; called from its thread

    def _picture(self, run: int, frames: np.ndarray, peaks: np.ndarray, number: int) -> None:
        if run != self._chunks.run:
            return
        self.view.send({"kind": "sound"}, [frames.tobytes(), peaks.tobytes()])
        if number:
            self.device.send({"kind": "ack", "run": run, "seq": number - 1})

    def _follow(self, listening: Listening) -> None:
        with self._lock:
            if listening is not self.listening:
                return
            self._write(listening)
            now = time.monotonic()
            if not listening.alive or now - self._drawn >= FIGURES_S:
                self._drawn = now
                self._draw(listening)
            if listening.alive:
                if listening.heard > SILENT_S and listening.loudest == 0:
                    self.trouble.value = notice(self._t("mic.silent"))
                return
            self.stop_button.disabled = True
            self._ended(listening)

    def _write(self, listening: Listening) -> None:
        present, lines, shown = listening.utterance, list(listening.lines), self.text.lines
        with self.text.hold_sync():
            if lines and (not shown or lines[-1].number > shown[-1]["number"]):
                self.text.lines = [
                    {"number": line.number, "text": line.text, "note": f"{line.at:.1f} s"} for line in lines
                ]
            live = listening.alive and present is not None
            self.text.final = present.final if live and present else ""
            self.text.partial = present.partial if live and present else ""

    def _draw(self, listening: Listening) -> None:
        shown = listening.shown or listening.utterance
        if shown is None or self.recogniser is None or listening.state == "failed":
            return
        look, tokens = shown.look(), self.recogniser.tokens
        with self.heat.hold_sync():
            self.heat.data, self.heat.levels = show.heat(look, tokens, self._t("blank"))
        self.tree.value = show.beam_tree(look, tokens, self.lang)
        self.gauge.value = show.delay(listening.delay, self.lang)

    def _ended(self, listening: Listening) -> None:
        if listening.state == "failed":
            self._complain("error.listening", listening.error)
            self.device.send({"kind": "stop"})
            return
        heard = self._t("ended", seconds=f"{listening.heard:.1f}", lines=len(listening.lines))
        self.status.value = notice(heard)
        if listening.heard and listening.loudest == 0:
            self.trouble.value = notice(self._t("mic.silent"))

    # ---- files and models

    def _file_said(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if "too_large" in content:
            self._complain("upload.bytes", count=f"{content['too_large']:,}", most=f"{MOST_BYTES:,}")
        elif "ready" in content:
            given, name = self.file.content, self.file.name
            self.file.content = b""
            self.upload(given, name)

    def upload(self, content: bytes, name: str) -> None:
        """Offers a file as a recording and plays it, or says why not."""
        try:
            recording = read_recording(content, name)
        except Refused as refused:
            cause = f"{refused.__cause__}" if refused.__cause__ else ""
            self._complain(f"upload.{refused.reason}", cause.replace("filepath: ", ""), **refused.values)
            return
        samples = recording.samples
        self._uploaded = Sound(name[:60], "", lambda: samples)
        with self._lock:
            self._offer_sounds()
            self.sound.value = UPLOADED
        self._play(self._uploaded)
        if recording.channels > 1 or recording.rate != RATE:
            self.said.value = notice(
                self._t("upload.converted", channels=recording.channels, rate=recording.rate)
            )

    def _choose_model(self) -> None:
        name = self.model.value
        if not name:
            self.about_model.value = notice(self._t("model.missing", name=PREFERRED))
        elif self.recogniser is None or self.recogniser.name != name:
            self.recogniser = None
            try:
                self.recogniser = Recogniser(name)
                self.about_model.value = self._card(name)
            except ValueError as error:
                text = self._t("error.model")
                self.about_model.value = notice(text, bad=True, detail=str(error), lang=self.lang)

    def _card(self, name: str) -> str:
        from sampan import speech

        known = f"<p>{escape(self._t('model.small'))}</p>" if name == PREFERRED else ""
        if not (speech.find_model(name) / "README.md").exists():
            return known
        return known + (
            f'<details class="so-card"><summary>{escape(self._t("model.card"))}</summary>'
            f"<pre>{escape(speech.model_card(name))}</pre></details>"
        )

    # ---- texts and layout

    def _said(self, sound: Sound) -> str:
        return notice(self._t("said", text=sound.said)) if sound.said else ""

    def _sound(self, name: str) -> Sound | None:
        found = self._sets[self.kind.value].sounds if self.kind.value in self._sets else []
        return next((sound for sound in found if sound.name == name), None)

    def _offer_sounds(self) -> None:
        """The recordings of the chosen set, and the visitor's own file."""
        if self.kind.value not in self._sets:
            return
        chosen = self._sets[self.kind.value]
        named = (*MADE, "row")
        options = [(self._t(f"sound.{s.name}") if s.name in named else s.name, s.name) for s in chosen.sounds]
        if self._uploaded is not None:
            options.append((self._t("sound.own", name=self._uploaded.name), UPLOADED))
        self.sound.options = options
        if chosen.card is None:
            self.about.value = f"<p>{escape(self._t('about.made'))}</p>"
        else:
            facts = self._t("facts", count=len(chosen.sounds))
            self.about.value = origin(chosen.card, facts, self._t(f"about.{chosen.kind}"), self.lang)

    def _complain(self, key: str, detail: str = "", **values: object) -> None:
        self.trouble.value = notice(self._t(key, **values), bad=True, detail=detail, lang=self.lang)

    def _nothing(self, key: str) -> str:
        return f'<p class="sp-muted">{escape(self._t(key))}</p>'

    def _controls(self) -> None:
        words = {word: self._t(f"device.{word}") for word in ("record", "asking", "stop")}
        worklet = (STATIC / "sound_worklet.js").read_text("utf-8")
        self.device = SoundDevice(worklet=worklet, words=words, disabled=True)
        self.device.add_class("so-slot-device")
        self.device.on_msg(self._device_said)
        self.kind = choice(self._t("field.kind"), [(self._t("loading"), "")], "")
        self.kind.observe(lambda _: self._offer_sounds(), "value")
        self.sound = choice(self._t("field.sound"), [(self._t("loading"), "")], "")
        texts = [self._t("noise.none"), *(f"{snr} dB" for snr in NOISES[1:])]
        self.noise = Slider(label=self._t("field.noise"), texts=texts, index=0)
        self.noise.add_class("so-slot-slider")
        self.aloud = widgets.Checkbox(value=True, description=self._t("field.aloud"), indent=False)
        self.aloud.add_class("so-check")
        self.play = button(self._t("play"), self.play_sound, "primary", disabled=True)
        self.stop_button = button(self._t("stop"), self.stop, "danger", disabled=True)
        accept = ",".join(ENDINGS)
        self.file = FileField(label=self._t("field.file"), accept=accept, most=MOST_BYTES)
        self.file.add_class("so-slot-file")
        self.file.on_msg(self._file_said)
        self.model = choice(self._t("field.model"), [(self._t("loading"), "")], "")
        self.model.disabled = True
        self.model.observe(lambda _: self._choose_model(), "value")

    def _displays(self) -> None:
        self.status = widgets.HTML(notice(self._t("loading")))
        self.trouble, self.about, self.said = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.about_model = widgets.HTML()
        self.view = sound_view(self._t("view.title"), self._t("view.empty"), self.lang)
        self.view.summary = self._t("view.summary")
        self.text = SpokenText(title=self._t("text.title"), empty=self._t("text.empty"))
        self.text.add_class("so-slot-text")
        keys = {"keys": self._t("heat.keys")}
        self.heat = HeatMap(title=self._t("heat.title"), empty=self._t("heat.empty"), words=keys)
        self.heat.summary = self._t("heat.summary")
        self.heat.add_class("so-slot-heat")
        self.tree = widgets.HTML(self._nothing("beam.empty"))
        self.gauge = widgets.HTML(self._nothing("delay.empty"))

    def _layout(self) -> widgets.Widget:
        form = card(
            [
                self._title("device"),
                self.device,
                self.status,
                self.trouble,
                self._title("recording"),
                self.kind,
                self.sound,
                self.about,
                self.noise,
                self.aloud,
                widgets.HBox([self.play, self.stop_button]),
                self.file,
                self._title("model"),
                self.model,
                self.about_model,
            ],
            "sx-form",
        )
        tree = card([self._title("beam"), self._lead("beam"), self.tree], "so-panel")
        gauge = card([self._title("delay"), self._lead("delay"), self.gauge], "so-panel")
        work = [card([self.view]), card([self.text, self.said]), card([self.heat]), pair(tree, gauge)]
        return beside(form, work)

    def _title(self, key: str) -> widgets.HTML:
        return widgets.HTML(f"<h3>{escape(self._t(f'heading.{key}'))}</h3>")

    def _lead(self, key: str) -> widgets.HTML:
        return widgets.HTML(f'<p class="sp-small sp-muted">{escape(self._t(f"lead.{key}"))}</p>')

    def _t(self, key: str, **values: object) -> str:
        return t(f"speech.{key}", self.lang, **values)


UPLOADED = "\0own"  # no recording has this name
TROUBLES = ("denied", "none", "busy", "ended", "insecure", "failed")
