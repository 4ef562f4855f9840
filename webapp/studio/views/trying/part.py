"""A part of the page "try": a choice of model, an input, and the answer."""

from __future__ import annotations

import threading
from html import escape
from typing import Any, ClassVar

import ipywidgets as widgets
import numpy as np

from studio.i18n import t
from studio.models import Model, all_models
from studio.paths import workspace

from ..common.figures import notice, percent
from ..common.pieces import beside, button, card, choice, offer, text_field
from ..common.widgets import DigitPad, FileField
from ..speech.chunks import Refused, Samples
from ..speech.sounds import MADE, Sound, sound_sets
from ..speech.upload import ENDINGS, MOST_BYTES, read_recording
from ..train import drawing
from . import answers


class Part:
    """`root` is the widget. `begin()` lists the models of this kind of input; call it in a thread after the page is shown."""

    kind: ClassVar[str]

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.models: dict[str, Model] = {}
        self.status = widgets.HTML(notice(self._t("loading")))
        self.answer = widgets.HTML(f'<p class="sp-muted">{escape(self._t("answer.empty"))}</p>')
        self.model = choice(self._t("field.model"), [(self._t("loading"), "")], "")
        self.ask = button(self._t("ask"), self.asked, "primary", disabled=True)
        self._loaded: tuple[str, Any] = ("", None)
        self._lock = threading.RLock()
        form = card([self.model, *self._inputs(), self.ask, self.status], "sx-form")
        self.root = beside(form, [card([self.answer], "em-search")])

    def load(self, model: Model) -> Any:
        """What `_answered` asks."""
        raise NotImplementedError

    def _inputs(self) -> list[widgets.Widget]:
        raise NotImplementedError

    def _answered(self, model: Any) -> str:
        """The answer to the present input, as HTML. Raises Refused or ValueError for an input that cannot be used."""
        raise NotImplementedError

    def begin(self) -> None:
        found = [model for model in all_models(workspace()) if model.input == self.kind]
        self.models = {f"{model.origin}/{model.name}": model for model in found}
        if not self.models:
            self.status.value = notice(self._t(f"none.{self.kind}"))
            return
        options = [(model.name, key) for key, model in self.models.items()]
        offer(self.model, options, options[0][1])
        self.status.value = ""
        self.ask.disabled = False

    def asked(self) -> None:
        """Loads the model if it is another one, and shows its answer."""
        with self._lock:
            key = self.model.value
            if key not in self.models:
                return
            try:
                if self._loaded[0] != key:
                    self._loaded = key, self.load(self.models[key])
                self.answer.value = self._answered(self._loaded[1])
                self.status.value = ""
            except Refused as error:
                self.status.value = notice(
                    t(f"speech.upload.{error.reason}", self.lang, **error.values), bad=True
                )
            except (
                Exception
            ) as error:  # a learner's files may be anything: the page says what is wrong with them
                detail = f"{type(error).__name__}: {error}"
                self.status.value = notice(self._t("error.model"), bad=True, detail=detail, lang=self.lang)

    def _bars(self, found: answers.Shares, heading: str) -> str:
        lines = "".join(
            f'<li data-label="{escape(label, quote=True)}"><span>{escape(self._named(label))}</span><span class="sp-track">'
            f'<span class="sp-bar" style="width:{100 * share:.1f}%"></span></span><span class="sp-number">{percent(share)}</span></li>'
            for label, share in found
        )
        return f'<div class="em-found" role="status"><p class="em-answer">{heading}</p><ol class="em-list">{lines}</ol></div>'

    def _named(self, label: str) -> str:
        return self._t("none_of_these") if label == "<pad>" else label

    def _said(self, text: str) -> str:
        return f'<div class="em-found" role="status"><p class="em-answer">{escape(text)}</p></div>'

    def _t(self, key: str, **values: object) -> str:
        return t(f"try.{key}", self.lang, **values)


class SoundPart(Part):
    """Recordings of this machine or of the visitor, for recognisers, keywords, speech activity and speakers."""

    kind = "sound"

    def load(self, model: Model) -> Any:
        return answers.listener(model)

    def _inputs(self) -> list[widgets.Widget]:
        self.sounds: dict[str, Sound] = {}
        self.sound = choice(self._t("field.sound"), [(self._t("loading"), "")], "")
        self.other = choice(self._t("field.other"), [(self._t("loading"), "")], "")
        self.file = FileField(label=self._t("field.file"), accept=",".join(ENDINGS), most=MOST_BYTES)
        self.other.layout.display = "none"  # only two speakers are compared
        self.model.observe(lambda _: self._chosen(), "value")
        self.file.on_msg(self._told)
        return [self.sound, self.other, self.file]

    def begin(self) -> None:
        options = []
        for known in sound_sets():
            for sound in known.sounds:
                key = f"{known.kind}/{sound.name}"
                named = (
                    sound.name
                    if sound.name not in (*MADE, "row")
                    else t(f"speech.sound.{sound.name}", self.lang)
                )
                self.sounds[key] = sound
                options.append((f"{self._t(f'set.{known.kind}')}: {named}", key))
        for field, at in ((self.sound, 0), (self.other, min(1, len(options) - 1))):
            offer(field, options, options[at][1])
        super().begin()

    def _chosen(self) -> None:
        model = self.models.get(self.model.value)
        self.other.layout.display = "" if model is not None and model.kind == "speaker" else "none"

    def _told(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("ready"):
            self._use_file()

    def _use_file(self) -> None:
        self.sound.options = [
            *(o for o in self.sound.options if o[1] != "file"),
            (self.file.name or "file", "file"),
        ]
        self.sound.value = "file"
        self.asked()

    def _samples(self, key: str) -> Samples:
        if key == "file":
            return read_recording(self.file.content, self.file.name).samples
        return self.sounds[key].load()

    def _answered(self, model: Any) -> str:
        kind, found = model(self._samples(self.sound.value), self._samples(self.other.value))
        if kind == "shares":
            return self._bars(found, escape(self._named(found[0][0])))
        if kind == "text":
            return self._said(found or self._t("nothing_heard"))
        if kind == "same":
            same, cosine = found
            return self._said(self._t("same" if same else "different", cosine=f"{cosine:.2f}"))
        spans = "; ".join(f"{start:.2f}–{end:.2f} s" for start, end in found)
        return self._said(self._t("speech_at", spans=spans) if spans else self._t("no_speech"))


class DigitPart(Part):
    """A drawing, for networks that read digits."""

    kind = "digit"

    def load(self, model: Model) -> Any:
        return answers.digit_reader(model)

    def _inputs(self) -> list[widgets.Widget]:
        self.pad = DigitPad(
            label=self._t("pad.label"), hint=self._t("pad.hint"), clear_label=self._t("pad.clear")
        )
        self.pad.observe(self._drawn, "pixels")
        return [self.pad]

    def _drawn(self, _: Any) -> None:
        if self.pad.pixels:
            self.asked()

    def _answered(self, model: Any) -> str:
        if not self.pad.pixels or not np.frombuffer(self.pad.pixels, np.uint8).any():
            return f'<p class="sp-muted" role="status">{escape(self._t("pad.hint"))}</p>'
        found = model(drawing.from_bytes(self.pad.pixels, self.pad.side))
        return self._bars(found, escape(found[0][0]))


class WordPart(Part):
    """A word, for rows that `WordVectors.save` wrote."""

    kind = "word"

    def load(self, model: Model) -> Any:
        return answers.neighbours(model)

    def _inputs(self) -> list[widgets.Widget]:
        self.word = text_field(self._t("field.word"))
        self.word.observe(lambda _: self.asked(), "value")
        return [self.word]

    def _answered(self, model: Any) -> str:
        word = self.word.value.strip()
        try:
            return self._bars(model(word), escape(word))
        except KeyError:
            return f'<p class="sp-muted" role="status">{escape(self._t("unknown_word", word=word[:40]))}</p>'
