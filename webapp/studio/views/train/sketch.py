"""Draw a digit: the pad, a test image or a spiral as alternatives, and the network's prediction. While a run trains, the
network of the present step answers."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets
import numpy as np

from studio import i18n

from ..common.widgets import DigitPad, UnitView
from . import drawing, figures
from .insight import View
from .likeness import Likeness
from .runs import Run

TURNS = 2.5  # of the spiral


class Sketch:
    """`root` is the pad with the bars, `units` the first layer. `use(run)` selects the network; None if there is none yet.
    `likeness` has the comparison with the training images by data set, once it is computed."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: Run | None = None
        self.likeness: dict[str, Likeness] = {}
        self._random = np.random.default_rng(0)
        self._index: int | None = None  # the test image on the pad
        self._view: View | None = None
        self.pad = DigitPad(label=self._t("label"), hint=self._t("hint"), clear_label=self._t("clear"))
        self.pad.observe(self._drawn, "pixels")
        self.pad.on_msg(self._said)
        self.example = widgets.Button(description=self._t("example"), disabled=True)
        self.example.on_click(lambda _: self.use_example())
        self.spiral = widgets.Button(description=self._t("spiral"))
        self.spiral.on_click(lambda _: self.draw_spiral())
        self.answer = widgets.HTML()
        title = widgets.HTML(f"<h2>{self._t('title')}</h2>")
        buttons = widgets.Box([self.example, self.spiral])
        buttons.add_class("tr-pad-buttons")
        self.root = widgets.VBox([title, self.pad, buttons, self.answer])
        self.root.add_class("tr-sketch")
        self.units = UnitView(caption=self._t("units_empty"), label=self._t("units_empty"))

    def use(self, run: Run | None) -> None:
        """Use another run's network: it predicts the drawing on the pad, unless that is an image of another data
        set."""
        other = run is not None and self.run is not None and run.image_size != self.run.image_size
        if self.run is not None and self.run is not run:
            self.run.ask(None)
        self.run = run
        self.example.disabled = run is None or run.result is None
        if self._index is not None and (run is None or run.result is None or other):
            self.clear()
        else:
            self.look()

    def follow(self) -> None:
        """The latest answer of a run that trains, and the question for the next."""
        run = self.run
        if run is None or not run.alive:
            return
        self.example.disabled = run.result is None
        picture = self._picture()
        run.ask(picture)
        if run.view is not None and run.view is not self._view:
            self._show(run.view, picture)

    def look(self) -> None:
        """Shows the prediction for what is on the pad."""
        run = self.run
        if run is not None and run.alive:
            self.follow()
            if self._view is None or self._view is not run.view:
                self._say("soon")
        elif run is not None and run.can_predict:
            picture = self._picture()
            self._show(run.look(picture), picture)
        else:
            self._say("train_first")
            self._draw_units(None)

    def use_example(self) -> None:
        """Puts an image of the test set on the pad, and shows whether the prediction is right."""
        if self.run is not None and self.run.result is not None:
            self._index = int(self._random.integers(len(self.run.result.labels)))
            self.pad.picture = np.rint(self._example() * 255).astype(np.uint8).tobytes()
            self.look()

    def draw_spiral(self) -> None:
        """Puts a spiral on the pad: no digit, and softmax answers all the same."""
        turn = float(self._random.uniform(0, 2 * np.pi))
        t = np.linspace(0, 1, 70)
        angle = turn + 2 * np.pi * TURNS * t
        points = np.stack([0.5 + 0.38 * t * np.cos(angle), 0.5 + 0.38 * t * np.sin(angle)], axis=1)
        self._index = None
        self.pad.picture = b""
        self.pad.strokes = [points.round(4).tolist()]

    def clear(self) -> None:
        """Clears the pad."""
        self._index = None
        self.pad.picture, self.pad.strokes = b"", []
        if self.pad.pixels:
            self.pad.pixels = b""  # which predicts
        else:
            self.look()

    def _example(self) -> drawing.Picture:
        assert self.run is not None and self.run.result is not None and self._index is not None
        return self.run.result.pictures[self._index]

    def _picture(self) -> drawing.Picture | None:
        """The network's input for what is on the pad; None for an empty pad, and while the data are read."""
        assert self.run is not None
        if self._index is not None:
            return self._example()
        if not self.pad.pixels or not self.run.image_size:
            return None
        try:
            return drawing.as_input(drawing.from_bytes(self.pad.pixels, self.pad.side), self.run.image_size)
        except ValueError:  # only a speck of ink so far, or none
            return None

    def _show(self, view: View, picture: drawing.Picture | None) -> None:
        assert self.run is not None
        self._view = view
        self._draw_units(view)
        if picture is None or view.probabilities is None:
            self._say("draw_now")
            return
        true, nearest = None, None
        if self._index is not None and self.run.result is not None:
            true = int(self.run.result.labels[self._index])
        likeness = self.likeness.get(self.run.settings.dataset)
        if likeness is not None:
            nearest = likeness.nearest(picture), likeness.limit
        self.answer.value = figures.prediction(view, picture, self.lang, true, nearest, self.run.alive)

    def _draw_units(self, view: View | None) -> None:
        if view is None:
            self.units.shape, self.units.activations = [0, 0, 0], b""
            self.units.caption = self.units.label = self._t("units_empty")
            return
        scale = np.abs(view.weights).max(axis=(1, 2), keepdims=True)
        scaled = np.rint(127 * view.weights / np.maximum(scale, 1e-12)).astype(np.int8)
        words = {"shown": len(scaled), "units": view.units}
        with self.units.hold_sync():
            self.units.shape, self.units.weights = list(scaled.shape), scaled.tobytes()
            if view.activations is None:
                self.units.activations = b""
            else:
                most = max(float(view.activations.max()), 1e-12)
                self.units.activations = np.rint(255 * view.activations / most).astype(np.uint8).tobytes()
            self.units.caption = i18n.t("train.draw.units", self.lang, **words)
            self.units.label = i18n.t("train.draw.units_label", self.lang, **words)

    def _drawn(self, change: dict[str, Any]) -> None:
        if change["new"]:
            self._index = None
        self.look()

    def _said(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("clear"):
            self.clear()

    def _say(self, key: str) -> None:
        self.answer.value = f'<p class="sp-muted">{self._t(key)}</p>'

    def _t(self, key: str) -> str:
        return i18n.t(f"train.draw.{key}", self.lang)
