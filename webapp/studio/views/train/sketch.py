"""Draw a digit: the pad, a test image as an alternative, and the network's prediction."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets
import numpy as np

from studio import i18n

from ..common.widgets import DigitPad
from . import drawing, figures
from .runs import Run


class Sketch:
    """`root` is the card. `use(run)` selects the network; None if there is none yet."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: Run | None = None
        self._random = np.random.default_rng()
        self.pad = DigitPad(label=self._t("label"), hint=self._t("hint"), clear_label=self._t("clear"))
        self.pad.observe(lambda _: self.look(), "pixels")
        self.pad.on_msg(self._said)
        self.example = widgets.Button(description=self._t("example"), disabled=True)
        self.example.on_click(lambda _: self.use_example())
        self.answer = widgets.HTML()
        title = widgets.HTML(f"<h2>{self._t('title')}</h2><p class='sp-muted'>{self._t('lead')}</p>")
        left = widgets.VBox([self.pad, self.example])
        left.add_class("tr-pad-side")
        body = widgets.Box([left, self.answer])
        body.add_class("tr-sketch")
        self.root = widgets.VBox([title, body])
        self.root.add_class("sp-card")
        self._index: int | None = None  # the test image on the pad

    def use(self, run: Run | None) -> None:
        """Use another run's network: it predicts the drawing on the pad, unless that is an image of another data
        set."""
        other = run is not None and self.run is not None and run.image_size != self.run.image_size
        self.run = run
        self.example.disabled = run is None
        if self._index is None:
            self.look()
        elif run is None or other:
            self.clear()
        else:
            self._example(self._index)

    def look(self) -> None:
        """Shows the prediction for the drawing on the pad."""
        pixels = self.pad.pixels
        if self.run is None:
            self._say("train_first")
            return
        if not pixels:
            self._say("draw_now")
            return
        try:
            picture = drawing.as_input(drawing.from_bytes(pixels, self.pad.side), self.run.image_size)
        except ValueError:  # only a speck of ink so far, or none
            self._say("draw_now")
            return
        self._index = None
        self._answer(picture)

    def use_example(self) -> None:
        """Puts an image of the test set on the pad, and shows whether the prediction is right."""
        if self.run is not None and self.run.result is not None:
            self._example(int(self._random.integers(len(self.run.result.labels))))

    def _example(self, index: int) -> None:
        assert self.run is not None and self.run.result is not None
        self._index = index
        picture = self.run.result.pictures[index]
        self.pad.picture = np.rint(picture * 255).astype(np.uint8).tobytes()
        self._answer(picture, true=int(self.run.result.labels[index]))

    def clear(self) -> None:
        """Clears the pad."""
        self._index = None
        self.pad.picture = b""
        if self.pad.pixels:
            self.pad.pixels = b""  # which predicts
        else:
            self.look()

    def _answer(self, picture: drawing.Picture, true: int | None = None) -> None:
        assert self.run is not None
        probabilities = self.run.predict(picture[None])[0]
        self.answer.value = figures.prediction(probabilities, picture, self.lang, true)

    def _said(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("clear"):
            self.clear()

    def _say(self, key: str) -> None:
        self.answer.value = f'<p class="sp-muted">{self._t(key)}</p>'

    def _t(self, key: str) -> str:
        return i18n.t(f"train.draw.{key}", self.lang)
