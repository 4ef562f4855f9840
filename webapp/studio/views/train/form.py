"""The form of a run: seven fields with their labels, and the message for a wrong value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

import ipywidgets as widgets

from studio.i18n import t

from ..common.figures import notice
from ..common.pieces import facts
from ..common.widgets import ShareLink
from .settings import GOOD_RATES, MODELS, OPTIMIZERS, SettingError, Settings, errors_in

LINK_WORDS = ("copy", "copied", "by_hand", "field")
MOST_LETTERS = 20  # of a number in a link


class SettingsForm:
    """`root` is the widget; `read()` returns Settings, or shows the error and returns None.

    `offer` adds the data sets and devices once the library is loaded; until then Start is disabled.
    """

    def __init__(self, lang: str, on_start: Callable[[], None], on_cancel: Callable[[], None]) -> None:
        self.lang = lang
        self._wanted: dict[str, str] = {}  # texts of a link that were not filled in yet
        self._rate_is_ours = True  # until the visitor types a rate, the default of the optimizer is used
        self.dataset = self._choice("dataset", [(t("train.loading", lang), "")])
        self.about = facts()
        self.model = self._choice("model", [(t(f"train.model.{key}", lang), key) for key in MODELS])
        self.optimizer = self._choice("optimizer", [(name, name) for name in OPTIMIZERS])
        self.optimizer.value = "Adam"
        self.learning_rate = self._text("learning_rate", f"{GOOD_RATES['Adam']:g}")
        self.batch_size = self._text("batch_size", "64")
        self.epochs = self._text("epochs", "10")
        self.device = self._choice("device", [("CPU", "cpu")])
        self.message = widgets.HTML()
        self.start = widgets.Button(description=t("train.start", lang), button_style="primary", disabled=True)
        self.start.on_click(lambda _: on_start())
        self.cancel = widgets.Button(
            description=t("train.cancel", lang), button_style="danger", disabled=True
        )
        self.cancel.on_click(lambda _: on_cancel())
        self.optimizer.observe(self._suggest_rate, "value")
        self.learning_rate.observe(self._rate_typed, "value")
        for field in self.fields.values():
            field.observe(lambda _: self._changed(), "value")
        pairs = widgets.GridBox([self.learning_rate, self.batch_size, self.epochs, self.device])
        pairs.add_class("tr-pairs")
        buttons = widgets.HBox([self.start, self.cancel])
        self.link = ShareLink(words={word: t(f"train.link.{word}", lang) for word in LINK_WORDS})
        self.link.observe(lambda change: self.take(dict(parse_qsl(change["new"]))), "given")
        heading = widgets.HTML(f"<h2>{t('train.settings', lang)}</h2>")
        self.root = widgets.VBox(
            [
                heading,
                self.dataset,
                self.about,
                self.model,
                self.optimizer,
                pairs,
                self.message,
                buttons,
                self.link,
            ]
        )
        self.root.add_class("sp-card")
        self.root.add_class("tr-form")

    @property
    def fields(self) -> dict[str, widgets.DOMWidget]:
        return {
            "dataset": self.dataset,
            "model": self.model,
            "optimizer": self.optimizer,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "device": self.device,
        }

    def offer(self, datasets: Sequence[tuple[str, str]], devices: Sequence[tuple[str, str]]) -> None:
        """Fills in the choices (label, name), largest data set first, and enables Start."""
        self.dataset.options = datasets
        self.device.options = devices
        self.start.disabled = not datasets
        self._fill()

    def take(self, texts: Mapping[str, str]) -> None:
        """Fills in the fields of a link. A choice that is not offered yet waits for `offer`; one that does not exist is
        left out."""
        self._wanted = {name: text for name, text in texts.items() if name in self.fields}
        self._fill()

    def texts(self) -> dict[str, str]:
        """The fields as they are, for a link."""
        return {name: str(field.value) for name, field in self.fields.items()}

    def _fill(self) -> None:
        for name, field in self.fields.items():
            text = self._wanted.get(name)
            if text is None:
                continue
            if isinstance(field, widgets.Dropdown):
                if text not in [value for _, value in field.options]:
                    continue
                field.value = text
            else:
                field.value = text[:MOST_LETTERS]
            del self._wanted[name]

    def describe(self, html: str) -> None:
        """The facts about the chosen data set, under its field."""
        self.about.value = html

    def busy(self, running: bool) -> None:
        """During training, Start is disabled and Cancel enabled."""
        self.start.disabled = running or not self.dataset.value
        self.cancel.disabled = not running

    def read(self) -> Settings | None:
        self._clear()
        errors = errors_in(self.texts())
        if errors:
            self.explain(errors)
            return None
        return Settings.from_text(self.texts())

    def explain(self, errors: Sequence[SettingError]) -> None:
        """Shows the reasons beside the buttons and marks the fields."""
        sentences = []
        for error in errors:
            field = t(f"train.field.{error.field}", self.lang)
            reason = t(error.key, self.lang, **error.values)
            sentences.append(notice(field + t("train.colon", self.lang) + reason, bad=True))
            self.fields[error.field].add_class("is-wrong")
        self.message.value = "".join(sentences)

    def say(self, text: str) -> None:
        self.message.value = notice(text, bad=True)

    def _clear(self) -> None:
        self.message.value = ""
        for field in self.fields.values():
            field.remove_class("is-wrong")

    def _changed(self) -> None:
        self._clear()
        if not self.start.disabled or self.link.query:  # not while the choices are filled in
            self.link.query = urlencode(self.texts())

    def _suggest_rate(self, change: dict[str, str]) -> None:
        if self._rate_is_ours:
            self.learning_rate.value = f"{GOOD_RATES[change['new']]:g}"
            self._rate_is_ours = True  # the line above has just triggered _rate_typed

    def _rate_typed(self, change: dict[str, str]) -> None:
        self._rate_is_ours = change["new"] == f"{GOOD_RATES[self.optimizer.value]:g}"

    def _choice(self, name: str, options: Sequence[tuple[str, str]]) -> widgets.Dropdown:
        field = widgets.Dropdown(options=options, description=t(f"train.field.{name}", self.lang))
        return _above(field, name)

    def _text(self, name: str, value: str) -> widgets.Text:
        field = widgets.Text(value=value, description=t(f"train.field.{name}", self.lang))
        return _above(field, name)


def _above(field: widgets.DOMWidget, name: str) -> widgets.DOMWidget:
    """Label above the control, of any width: the class that train.css lays out."""
    field.style.description_width = "initial"
    field.add_class("tr-field")
    field.add_class(f"tr-field-{name}")
    return field
