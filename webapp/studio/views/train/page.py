"""The page "Train": choose, train, watch, compare, look at mistakes, draw a digit.

`TrainPage` only connects: the form (form.py), the runs (runs.py), the widgets (common/widgets.py) and the figures
(figures.py). The library takes seconds to load, so it is loaded in a thread after the page is shown.
"""

from __future__ import annotations

import math
import threading
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from studio import kept_runs
from studio.i18n import t
from studio.paths import STATIC

from ..common import visitor
from ..common.figures import duration, notice, percent
from ..common.pieces import card, line
from ..common.widgets import LiveChart, RunTable, put_up
from . import figures, keep
from .form import SettingsForm
from .likeness import Likeness
from .runs import Run, RunList, images_and_labels
from .settings import DATASETS, MODELS
from .sketch import Sketch

TICK = 0.15  # seconds between two updates of the page: at most seven a second
MISTAKES = 12
HIGH_LOSS = 10.0  # more than four times ln(10), the loss of guessing
NO_BETTER_THAN_CHANCE = 0.2  # ten digits: a guess is right one time in ten


class TrainPage:
    """`root` is the whole page as one widget; `load_library()` enables it."""

    def __init__(self, lang: str = "en", folder: Path | None = None) -> None:
        self.lang = lang
        self.folder = folder  # where finished runs are kept; None: nowhere
        self.runs = RunList()
        self.shown: Run | None = None  # whose mistakes are shown and whose network predicts drawings
        self.ready = threading.Event()
        self._bundles: dict[str, Any] = {}
        self._ticker: threading.Thread | None = None
        self._lock = threading.RLock()
        self._described: dict[str, str] = {}
        self.form = SettingsForm(lang, self.start, self.cancel)
        self.form.dataset.observe(self._describe, "value")
        self.status = widgets.HTML(notice(self._t("loading_library")))
        self.loss = self._chart("loss", "number")
        self.accuracy = self._chart("accuracy", "percent")
        self.table = RunTable(
            columns=[{"label": self._t(f"column.{key}"), "figure": figure} for key, figure in COLUMNS],
            words={word: self._t(f"table.{word}") for word in WORDS},
        )
        self.table.on_msg(self._table_said)
        self.confusion = widgets.HTML()
        self.mistakes = widgets.HTML()
        self.sketch = Sketch(lang)
        self.results = _grid(
            card([self._title("confusion"), self.confusion]), card([self._title("mistakes"), self.mistakes])
        )
        self.results.add_class("tr-results")
        charts = widgets.VBox([self._title("live"), self.status, self.loss, self.accuracy])
        beside = widgets.Box([charts, self.sketch.root])
        beside.add_class("tr-beside")
        live = card([beside], "tr-live")
        units = card([self._title("units"), self.sketch.units])
        compare = card([self._title("compare"), self.table, widgets.HTML(self._kept_note())])
        work = widgets.VBox([live, units, compare, self.results])
        work.add_class("tr-work")
        columns = widgets.Box([self.form.root, work])
        columns.add_class("tr-columns")
        opening = widgets.HTML(
            f"<style>{(STATIC / 'train.css').read_text('utf-8')}</style>"
            f'<p class="sp-lead">{self._t("lead")}</p>'
        )
        self.root = widgets.VBox([opening, columns])
        self.root.add_class("tr-page")
        self._show_result()

    # ---- what the visitor does

    def start(self) -> None:
        """Start: reads the form, adds a run and trains it, or shows the error."""
        with self._lock:
            if self.runs.full:
                self.form.say(self._t("error.full", limit=RunList.LIMIT))
                return
            settings = self.form.read()
            if settings is None or self.runs.current is not None:
                return
            run = self.runs.add(settings, self._bundles.__getitem__)
            run.start()
            self.form.busy(True)
            self.sketch.use(run)
            self._draw_runs(without=run)
            self._announce("announce.started", run)
            self._ticker = threading.Thread(target=self._follow, args=(run,), name="page", daemon=True)
            self._ticker.start()

    def cancel(self) -> None:
        run = self.runs.current
        if run is not None:
            run.cancel()
            self.form.cancel.disabled = True

    def remove(self, number: int) -> None:
        with self._lock:
            run = self.runs.get(number)
            self.runs.remove(number)
            keep.forget(run)
            if self.shown is run:
                self.shown = next((r for r in reversed(self.runs.runs) if r.can_predict), None)
                self._show_result()
            self._draw_runs(without=self.runs.current)

    def choose(self, number: int) -> None:
        """Shows this run's results and uses its network for the pad."""
        with self._lock:
            run = self.runs.get(number)
            if run.can_predict:
                self.shown = run
                self._show_result()

    def load_library(self) -> None:
        """Imports the library, reads the data sets and offers them. Runs in a thread after the page is shown."""
        import torch

        import sampan

        names = [name for name in DATASETS if name in sampan.datasets.available()]
        for name in names:
            bundle = self._bundles[name] = sampan.datasets.load(name)
            counts = (len(bundle.train), len(bundle.test), bundle.test.images.shape[-1])
            self._described[name] = figures.dataset(name, bundle.card, counts, self.lang)
        devices = [("CPU", "cpu")]
        if torch.cuda.is_available():
            devices.append(("CUDA", "gpu"))
        with self._lock:
            self.form.offer([(self._t(f"dataset.{name}"), name) for name in names], devices)
            self.status.value = notice(self._t("ready" if names else "error.no_data"), bad=not names)
            if self.folder is not None:
                keep.load(self.folder, self._bundles, self.runs)
                self.shown = next((r for r in reversed(self.runs.runs) if r.can_predict), None)
                self._draw_runs()
                self._show_result()
            self.ready.set()
        for name in names:  # a second of work for MNIST, which nothing waits for
            self.sketch.likeness[name] = Likeness(images_and_labels(self._bundles[name].train)[0])

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """`load_library`, with its error on the page, because the visitor does not see the kernel's log."""
        try:
            self.load_library()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            self.status.value = notice(self._t("error.library"), bad=True, detail=detail, lang=self.lang)
            raise

    # ---- what follows a run

    def _follow(self, run: Run) -> None:
        """The ticker's thread: shows the run a few times a second until it has ended, then its result."""
        epoch = 0
        while not run.join(TICK):
            progress = run.progress()
            with self._lock:
                if run in self.runs.runs:
                    self._draw_live(run)
                    self.sketch.follow()
            if progress.test_accuracy is not None and run.curves["test_loss"].points()[0][-1] > epoch:
                epoch = int(run.curves["test_loss"].points()[0][-1])
                self._announce("announce.epoch", run)
        with self._lock:
            if run in self.runs.runs:  # not removed while it trained
                self._keep(run)
                self.shown = run if run.can_predict else self.shown
                self._draw_live(run)
                self._draw_runs()
                self._show_result()
                self._announce(f"announce.{run.state}", run)
            else:
                self.status.value = notice(self._t("ready"))
            self.form.busy(False)

    def _keep(self, run: Run) -> None:
        """Stores a run that a reload should find again: one with curves."""
        if (
            self.folder is None
            or (run.failure and run.failure.kind == "error")
            or not len(run.curves["loss"])
        ):
            return
        try:
            keep.save(run, self.folder)
        except OSError as error:
            self.form.say(self._t("error.not_kept", error=error.strerror or error))

    def _draw_live(self, run: Run) -> None:
        self.status.value = self._failure(run) + figures.status(run.progress(), self._name(run), self.lang)
        for chart, kind in ((self.loss, "loss"), (self.accuracy, "accuracy")):
            if run in self.runs.runs:
                chart.x_max = max(
                    float(r.settings.epochs) for r in self.runs.runs if r is run or len(r.curves[kind])
                )
                chart.live = self._series(run, kind)
        self._choose_axis()

    def _choose_axis(self) -> None:
        """Losses far above that of guessing would press all other curves flat."""
        if not self.loss.chosen:
            points = [y for run in self.runs.runs for y in run.curves["loss"].points()[1]]
            self.loss.logarithmic = max(points, default=0.0) > HIGH_LOSS

    def _draw_runs(self, without: Run | None = None) -> None:
        """The table and the curves of the runs that have ended; `without` is drawn live."""
        for chart, kind in ((self.loss, "loss"), (self.accuracy, "accuracy")):
            with chart.hold_sync():
                chart.live = self._series(without, kind) if without else []
                done = [run for run in self.runs.runs if run is not without]
                chart.finished = [series for run in done for series in self._series(run, kind)]
                chart.x_max = max((float(run.settings.epochs) for run in self.runs.runs), default=1.0)
        self._choose_axis()
        self.table.rows = [self._row(run) for run in self.runs.runs]
        if not self.runs.runs:
            self.status.value = notice(self._t("ready"))

    def _show_result(self) -> None:
        run = self.shown
        self.table.selected = run.number if run else 0
        self.sketch.use(self.runs.current or run)
        result = run.result if run else None
        if run is None or result is None:
            empty = f'<p class="sp-muted">{self._t("no_result")}</p>'
            self.confusion.value = self.mistakes.value = empty
            return
        of = f'<p class="sp-muted sp-small">{self._t("of_run", name=self._name(run), n=len(result.labels))}</p>'
        self.confusion.value = of + figures.confusion(result.confusion(), self.lang)
        wrong = int((result.predictions != result.labels).sum())
        worst = result.worst(MISTAKES)
        self.mistakes.value = of + figures.mistakes(worst, wrong, len(result.labels), self.lang)

    # ---- words and rows

    def _failure(self, run: Run) -> str:
        failure = run.failure
        if failure is None:
            lost = (
                run.state == "done" and run.result is not None and run.result.accuracy < NO_BETTER_THAN_CHANCE
            )
            return self._lost(run) if lost else ""
        if failure.kind == "diverged":
            rate = run.settings.learning_rate
            text = self._t("failed.diverged", epoch=failure.epoch, step=failure.step, rate=f"{rate:g}")
            smaller = smaller_rate(rate)
            return notice(
                text,
                bad=True,
                more=self._t("failed.advice", rate=smaller),
                detail=failure.message,
                lang=self.lang,
            )
        return notice(self._t("failed.error"), bad=True, detail=failure.message, lang=self.lang)

    def _lost(self, run: Run) -> str:
        """Of a network that only guesses: a loss far above that of even guesses shows that the rate was too large."""
        loss, rate = run.progress().test_loss, run.settings.learning_rate
        if loss is None or loss < 2 * math.log(10):
            return notice(self._t("failed.chance"), bad=True)
        text = self._t("failed.too_large", loss=f"{loss:.3g}", rate=f"{rate:g}")
        return notice(text, bad=True, more=self._t("failed.advice", rate=smaller_rate(rate)))

    def _row(self, run: Run) -> dict[str, Any]:
        settings, progress = run.settings, run.progress()
        share = "–" if progress.test_accuracy is None else percent(progress.test_accuracy)
        how = (
            "error" if run.failure and run.failure.kind == "error" else "running" if run.alive else run.state
        )
        cells = [
            self._t("run", n=run.number),
            self._t(f"dataset_short.{settings.dataset}"),
            MODELS[settings.model],
            f"{settings.optimizer} {settings.learning_rate:g}",
            str(settings.batch_size),
            self._t(f"row.{how}", epoch=progress.epoch, epochs=settings.epochs),
            "…" if run.alive else share,
            "…" if run.alive else duration(progress.seconds, self.lang),
        ]
        return {
            "id": run.number,
            "slot": run.slot,
            "state": run.state,
            "cells": cells,
            "can_show": run.can_predict,
        }

    def _series(self, run: Run, kind: str) -> list[dict[str, Any]]:
        curves = {"train": run.curves[kind], "test": run.curves[f"test_{kind}"]}
        name = self._t("run", n=run.number)
        return [line(f"{run.number}-{part}", name, run.slot, part, curve) for part, curve in curves.items()]

    def _name(self, run: Run) -> str:
        settings = run.settings
        what = f"{MODELS[settings.model]}, {settings.optimizer} {settings.learning_rate:g}"
        return f"{self._t('run', n=run.number)} ({what})"

    def _announce(self, key: str, run: Run) -> None:
        """Describes the curves for screen readers."""
        progress = run.progress()
        self.loss.summary = self._t(
            key,
            name=self._t("run", n=run.number),
            epoch=progress.epoch,
            epochs=progress.epochs,
            loss="–" if progress.test_loss is None else f"{progress.test_loss:.3f}",
            accuracy="–" if progress.test_accuracy is None else percent(progress.test_accuracy),
        )

    def _describe(self, change: dict[str, Any]) -> None:
        self.form.describe(self._described.get(change["new"] or "", ""))

    def _table_said(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if "remove" in content:
            self.remove(int(content["remove"]))
        elif "show" in content:
            self.choose(int(content["show"]))

    def _chart(self, kind: str, form: str) -> LiveChart:
        return LiveChart(
            title=self._t(f"chart.{kind}"),
            format=form,
            x_label=self._t("chart.epochs"),
            x_max=1.0,
            kinds={"train": self._t("chart.train"), "test": self._t("chart.test")},
            empty=self._t("chart.empty"),
            axis_words=self._axis_words() if kind == "loss" else {},
        )

    def _axis_words(self) -> dict[str, str]:
        why = self._t("axis.why", high=f"{HIGH_LOSS:g}", guess=f"{math.log(10):.1f}")
        return {"why": why, "linear": self._t("axis.linear"), "logarithmic": self._t("axis.logarithmic")}

    def _kept_note(self) -> str:
        return f'<p class="sp-muted sp-small">{escape(self._t("kept", limit=RunList.LIMIT))}</p>'

    def _title(self, key: str) -> widgets.HTML:
        return widgets.HTML(f"<h2>{self._t(f'heading.{key}')}</h2>")

    def _t(self, key: str, **values: object) -> str:
        return t(f"train.{key}", self.lang, **values)


COLUMNS = (
    ("run", False),
    ("dataset", False),
    ("model", False),
    ("optimizer", False),
    ("batch", True),
    ("epochs", False),
    ("accuracy", True),
    ("time", True),
    ("actions", False),
)
WORDS = ("caption", "empty", "show", "shown", "remove")


def smaller_rate(rate: float) -> str:
    """A rate to try after one that diverged: a tenth, and never above 0.01."""
    return f"{min(rate / 10, 0.01):.2g}"


def visitor_page() -> TrainPage:
    """The page in the visitor's language, as created by the notebook, whose working directory is the workspace."""
    return TrainPage(visitor.language(), kept_runs.folder(Path.cwd()))


def _grid(*children: widgets.Widget) -> widgets.GridBox:
    box = widgets.GridBox(children)
    box.add_class("tr-grid")
    return box
