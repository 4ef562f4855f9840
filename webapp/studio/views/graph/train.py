"""The part "Train on a graph" of the page "Graph": a GCN, its curves, and its hidden layer while it forms."""

from __future__ import annotations

import threading
from typing import Any

import ipywidgets as widgets

from ..common.figures import bar, duration, notice, percent
from ..common.pieces import beside, button, card, choice, line, offer, pair
from ..common.widgets import LiveChart, Slider
from . import data
from . import figures as show
from .training import GcnRun

WIDTHS, EPOCHS = (4, 8, 16, 32, 64), (20, 50, 100, 200, 400)


class TrainPart:
    """`root` is the widget. `begin()` offers the graphs and enables training; call it in a thread after the page is
    shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: GcnRun | None = None
        self._lock = threading.RLock()
        self.name = choice(self._t("field.graph"), [(self._t("loading"), "")], "")
        self.about = widgets.HTML()
        self.width = Slider(label=self._t("field.width"), texts=[str(n) for n in WIDTHS], index=2)
        self.epochs = Slider(label=self._t("field.epochs"), texts=[str(n) for n in EPOCHS], index=2)
        self.start = button(self._t("train"), self.train, "primary", disabled=True)
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        self.loss = self._chart("loss", "number")
        self.accuracy = self._chart("accuracy", "percent")
        self.view = show.view(
            self._t("hidden.title"), self._t("hidden.empty"), lang, small=True, choosable=False
        )
        self.legend = widgets.HTML()
        self.name.observe(lambda _: self._describe(), "value")
        self.root = self._layout()

    def train(self) -> None:
        with self._lock:
            if not self.name.value or (self.run is not None and self.run.alive):
                return
            try:
                shown = data.load(self.name.value)
                self.run = GcnRun(
                    shown, WIDTHS[self.width.index], EPOCHS[self.epochs.index], self._follow, self._looked
                )
            except Exception as error:  # the visitor does not see the kernel's log
                detail = f"{type(error).__name__}: {error}"
                self.status.value = notice(self._t("error.graph"), bad=True, detail=detail, lang=self.lang)
                return
            with self.view.hold_sync():
                self.view.points = self.view.ends = b""
                self.view.names = shown.names
                self.view.slots = show.slots_of(shown.groups, shown.graph.num_nodes)
                self.view.radii = show.radii_of(shown.graph)
                self.view.summary = ""
            self.legend.value = show.groups_legend(shown, self.lang)
            self.start.disabled, self.stop.disabled = True, False
            self.run.start()
            self._follow(self.run)

    def cancel(self) -> None:
        if self.run is not None:
            self.run.cancel()
            self.stop.disabled = True

    def begin(self) -> None:
        """Offers the graphs with groups. Imports the library."""
        import sampan.graph  # noqa: F401  loads it while the page waits

        names = data.learnable()
        offer(self.name, [(self._t(f"graph.{name}"), name) for name in names], names[0])
        self.status.value = notice(self._t("train.ready"))
        self.start.disabled = False

    def _describe(self) -> None:
        if self.name.value:
            self.about.value = f'<p class="sp-muted sp-small">{self._t(f"task.{self.name.value}")}</p>'

    def _follow(self, run: GcnRun) -> None:
        with self._lock:  # `train` and the run call this: the older state must not come last
            self._show_state(run)

    def _show_state(self, run: GcnRun) -> None:
        failed = (
            notice(self._t("error.training"), bad=True, detail=run.error, lang=self.lang) if run.error else ""
        )
        left = run.seconds_left
        sentence = self._t(
            f"train.{run.state}", epoch=run.epoch, epochs=run.epochs,
            left="–" if left is None else duration(left, self.lang), seconds=duration(run.seconds, self.lang),
        )  # fmt: skip
        figures = [
            ("loss", self._t("chart.loss"), "–" if run.loss is None else f"{run.loss:.3f}"),
            ("right", self._t("figure.right"), "–" if run.right is None else percent(run.right)),
            ("largest", self._t("figure.largest"), percent(run.largest)),
        ]
        self.status.value = failed + bar(
            run.state, sentence, run.fraction, self._t("train.progress"), figures
        )
        for chart in (self.loss, self.accuracy):
            chart.x_max = float(run.epochs)
        self.loss.live = [line("loss", self._t("line.known"), 1, "train", run.curves["loss"])]
        self.accuracy.live = [
            line("train", self._t("line.known"), 1, "train", run.curves["train"]),
            line("test", self._t("line.asked"), 2, "test", run.curves["test"]),
        ]
        if run.alive:
            return
        self.start.disabled, self.stop.disabled = False, True
        self.accuracy.summary = self._t(
            f"announce.{run.state}", right="–" if run.right is None else percent(run.right)
        )

    def _looked(self, run: GcnRun) -> None:
        if run is not self.run or run.look is None:
            return
        with self.view.hold_sync():
            self.view.points = run.look.points.tobytes()
            self.view.summary = self._t("hidden.summary", width=run.width, epoch=run.epoch)

    def _chart(self, key: str, form: str) -> LiveChart:
        # No kinds: the legend has the names of the lines.
        return LiveChart(
            title=self._t(f"chart.{key}"), format=form, x_label=self._t("chart.epoch"), x_max=100.0, kinds={},
            empty=self._t("chart.empty"),
        )  # fmt: skip

    def _layout(self) -> widgets.Widget:
        form = card(
            [self.name, self.about, self.width, self.epochs, widgets.HBox([self.start, self.stop])], "sx-form"
        )
        live = card([self.status, pair(self.loss, self.accuracy)], "sx-live")
        return beside(form, [live, card([self.view, self.legend], "gr-card")])

    def _t(self, key: str, **values: Any) -> str:
        return show.words(key, self.lang, **values)
