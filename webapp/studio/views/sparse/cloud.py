"""The part "Point cloud" of the page "Sparse": a 3D shape, and a network that is trained live to label its parts."""

from __future__ import annotations

import threading

import ipywidgets as widgets

from ..common.figures import notice
from ..common.pieces import beside, button, card, choice, line, pair, plot_words
from ..common.widgets import LiveChart, Plot, Slider
from . import figures as show
from .shapes import HELD_OUT, MADE, SOURCES, TRAINED, VOXELS, Shape, available, shape
from .training import RESOLUTIONS, SECONDS, CloudRun


class CloudPart:
    """`root` is the widget. `begin()` shows the first shape and enables training; call it in a thread after the
    page is shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: CloudRun | None = None
        self.shape: Shape | None = None
        self._number = 0
        self._lock = threading.RLock()
        self._ready = False
        self.kind = choice(self._t("field.kind"), [(self._t(f"kind.{name}"), name) for name in MADE], "chair")
        self.resolution = Slider(
            label=self._t("field.resolution"),
            texts=[f"{n} × {n} × {n}" for n in RESOLUTIONS],
            index=RESOLUTIONS.index(32),
        )
        self.seconds = choice(
            self._t("field.seconds"), [(self._t("seconds", count=n), n) for n in SECONDS], 30
        )
        self.source = choice(self._t("field.source"), [(self._t("source.made"), "made")], "made")
        self.about = widgets.HTML()
        self.message = widgets.HTML()
        self.another = button(self._t("another"), self._next, "", disabled=True)
        self.start = button(self._t("train"), self.train, "primary", disabled=True)
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        words = plot_words(lang)
        self.true = Plot(
            title=self._t("true.title"), empty=self._t("cloud.empty"), words=words, group="cloud"
        )
        self.found = Plot(
            title=self._t("found.title"), empty=self._t("found.empty"), words=words, group="cloud"
        )
        self.loss = self._chart("loss", "number")
        self.quality = self._chart("quality", "percent")
        for field, trait in ((self.kind, "value"), (self.resolution, "index")):
            field.observe(lambda _: self._draw_soon(), trait)
        self.root = self._layout()

    # ---- what the visitor does

    def draw(self) -> None:
        """Shows the chosen shape, and the network's prediction for it."""
        with self._lock:
            if not self._ready:
                return
            self.message.value = ""
            try:
                self.shape = shape(self.kind.value, RESOLUTIONS[self.resolution.index], self._number)
            except Exception as error:  # the visitor does not see the kernel's log
                self._refuse("error.shape", error)
                return
            self.resolution.layout.display = "none" if self.shape.fixed else ""
            self.about.value = show.shape_facts(self.shape, self.lang)
            self._draw_true(self.shape)
            self._draw_found()

    def train(self) -> None:
        with self._lock:
            if not self._ready or (self.run is not None and self.run.alive):
                return
            self.run = CloudRun(
                self.source.value,
                RESOLUTIONS[self.resolution.index],
                float(self.seconds.value),
                self._follow,
                self._looked,
            )
            self.start.disabled, self.stop.disabled = True, False
            self.run.start()
            self._follow(self.run)

    def cancel(self) -> None:
        if self.run is not None:
            self.run.cancel()
            self.stop.disabled = True

    def begin(self) -> None:
        """Offers the shapes on this machine, and shows the first. Imports the library."""
        import sampan.models.point_cloud
        import sampan.visual.cloud  # noqa: F401  loads it while the page waits

        kind = {True: self._t("origin.real"), False: self._t("origin.made")}
        names = available()
        self.kind.options = [
            (f"{self._t(f'kind.{name}')} ({kind[name not in MADE]})", name) for name in (*MADE, *names)
        ]
        sources = SOURCES if set(VOXELS) <= set(names) else SOURCES[:1]
        self.source.options = [(self._t(f"source.{name}"), name) for name in sources]
        self.status.value = notice(self._t("train.ready", shapes=TRAINED, held_out=HELD_OUT))
        self.start.disabled = self.another.disabled = False
        self._ready = True
        self.draw()

    def _next(self) -> None:
        self._number += 1
        self._draw_soon()

    def _draw_soon(self) -> None:
        """In a thread: real shapes take seconds to read."""
        threading.Thread(target=self.draw, name="shape", daemon=True).start()

    # ---- what follows a run

    def _follow(self, run: CloudRun) -> None:
        with self._lock:  # `train` and the run call this: the older state must not come last
            self._show_state(run)

    def _show_state(self, run: CloudRun) -> None:
        standing = run.standing()
        failed = (
            notice(self._t("error.training"), bad=True, detail=run.error, lang=self.lang) if run.error else ""
        )
        self.status.value = failed + show.training(standing, run.limit, self.lang)
        for chart, lines in ((self.loss, ("loss",)), (self.quality, ("iou", "right"))):
            chart.x_max = run.limit
            chart.live = [
                line(
                    name,
                    self._t(f"line.{name}"),
                    slot,
                    "train" if name == "loss" else "test",
                    run.curves[name],
                )
                for slot, name in enumerate(lines, start=1)
            ]
        if run.alive:
            return
        self.start.disabled, self.stop.disabled = False, True
        self._draw_found()
        self.quality.summary = self._t(
            f"announce.{run.state}", iou="–" if standing.iou is None else show.percent(standing.iou)
        )

    def _looked(self, run: CloudRun) -> None:
        with self._lock:
            if run is self.run:
                self._draw_found()

    def _draw_true(self, shown: Shape) -> None:
        figure, summary = show.shape_cloud(shown, shown.parts, self.lang)
        with self.true.hold_sync():
            kind = "real" if shown.parts is None else "geometry" if shown.real else "true"
            self.true.title = self._t(f"{kind}.title")
            self.true.figure, self.true.summary = figure, summary

    def _draw_found(self) -> None:
        run, shown = self.run, self.shape
        if run is None or shown is None or not run.can_predict:
            self.found.figure = self.found.summary = ""
            return
        parts = run.predict(shown.grid)
        figure, _ = show.shape_cloud(shown, parts, self.lang)
        said = [show.shape_verdict(parts, shown.parts, self.lang), self._t(f"found.{run.source}")]
        if shown.grid.shape[0] != run.resolution:
            said.append(self._t("found.other", resolution=run.resolution))
        with self.found.hold_sync():
            self.found.figure, self.found.summary = figure, " ".join(said)

    def _refuse(self, key: str, error: Exception) -> None:
        detail = f"{type(error).__name__}: {error}"
        self.message.value = notice(self._t(key), bad=True, detail=detail, lang=self.lang)
        self.shape = None
        for plot in (self.true, self.found):
            plot.figure = plot.summary = ""
        self.about.value = ""

    # ---- layout

    def _layout(self) -> widgets.Widget:
        apart = widgets.HTML(
            f'<h3>{self._t("heading.training")}</h3><p class="sp-muted sp-small">{self._t("about.training")}</p>'
        )
        buttons = widgets.HBox([self.start, self.stop])
        form = card(
            [
                self.kind,
                self.resolution,
                self.about,
                self.another,
                apart,
                self.source,
                self.seconds,
                self.message,
                buttons,
            ],
            "sx-form",
        )
        live = card([self.status, pair(self.loss, self.quality)], "sx-live")
        return beside(form, [card([pair(self.true, self.found)]), live])

    def _chart(self, key: str, form: str) -> LiveChart:
        return LiveChart(
            title=self._t(f"chart.{key}"), format=form, x_label=self._t("chart.seconds"), x_max=30.0,
            kinds={"train": self._t("chart.train"), "test": self._t("chart.test")}, empty=self._t("chart.empty"),
        )  # fmt: skip

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)
