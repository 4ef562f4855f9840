"""The part "Matrices" of the page "Sparse": choose a matrix and an operator, see its pattern, and what sparse and dense cost.

Only the latest request is measured, so that moving a slider does not wait for older requests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import ipywidgets as widgets

from ..common.figures import notice
from ..common.pieces import beside, button, card, choice, offer, plot_words
from ..common.widgets import Plot, Slider
from ..common.work import Latest
from . import figures as show
from .matrices import (
    DENSITIES,
    MADE,
    MOST_ENTRIES,
    SIZES,
    Matrix,
    TooManyEntries,
    available,
    made,
    real,
)
from .measure import FORMATS, OPERATORS, ROUNDS, Measurement

SWEEP = (0.0002, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)
SWEEP_SIZE = 1024  # at most, so that every density fits


@dataclass(frozen=True)
class Wish:
    """The visitor's choices at the time of a request."""

    name: str
    size: int
    density: float
    layout: str
    operator: str
    sweep: bool = False


class ComparePart:
    """`root` is the widget. `begin()` offers the matrices and measures the first; call it in a thread after the
    page is shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.matrix: Matrix | None = None
        self.measurement: Measurement | None = None
        self.name = choice(
            self._t("field.matrix"), [(self._t(f"matrix.{name}"), name) for name in MADE], "powerlaw"
        )
        self.size = Slider(
            label=self._t("field.size"), texts=[f"{n:,} × {n:,}" for n in SIZES], index=SIZES.index(1024)
        )
        self.density = Slider(
            label=self._t("field.density"),
            texts=[show.share(d) for d in DENSITIES],
            index=DENSITIES.index(0.01),
        )
        self.layout = choice(
            self._t("field.layout"), [(self._t(f"layout.{key}"), key) for key in FORMATS], "csr"
        )
        self.operator = choice(
            self._t("field.operator"), [(self._t(f"operator.{key}"), key) for key in OPERATORS], "product"
        )
        self.about = widgets.HTML()
        self.what = widgets.HTML()
        self.message = widgets.HTML()
        self.measure = button(self._t("measure"), self.ask, "primary")
        self.sweep = button(self._t("sweep"), lambda: self.ask(sweep=True))
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        self.result = widgets.HTML()
        words = plot_words(lang)
        self.pattern = Plot(title=self._t("pattern.title"), empty=self._t("pattern.empty"), words=words)
        self.curve = Plot(title=self._t("curve.title"), empty=self._t("curve.empty"), words=words)
        for field in (self.name, self.layout, self.operator):
            field.observe(lambda _: self.ask(), "value")
        for slider in (self.size, self.density):
            slider.observe(lambda _: self.ask(), "index")
        self._latest = Latest(self._fulfil_or_say, self._stop, self._rest, "compare")
        self._shown: Wish | None = None  # whose figures are shown side by side
        self._ready = False
        self.root = self._layout()

    # ---- what the visitor does

    def ask(self, sweep: bool = False) -> None:
        """Measures the present choice, and stops an older measurement."""
        if not self._ready:
            return
        size, density = SIZES[self.size.index], DENSITIES[self.density.index]
        self._latest.ask(Wish(self.name.value, size, density, self.layout.value, self.operator.value, sweep))

    def cancel(self) -> None:
        self._latest.forget()

    def begin(self) -> None:
        """Offers the matrices on this machine, and measures the first. Imports the library."""
        import sampan.visual.sparsity  # noqa: F401  loads it while the page waits

        names = available()
        kind = {True: self._t("origin.real"), False: self._t("origin.made")}
        options = [
            (f"{self._t(f'matrix.{name}')} ({kind[name not in MADE]})", name) for name in (*MADE, *names)
        ]
        offer(self.name, options, "powerlaw")
        self._ready = True
        self.ask()

    def wait(self, timeout: float = 60.0) -> None:
        """Waits until no measurement is running (for tests)."""
        self._latest.wait(timeout)

    # ---- the thread

    def _fulfil_or_say(self, wish: Wish) -> None:
        try:
            self._fulfil(wish)
        except TooManyEntries as error:
            self._refuse(self._t("error.entries", count=show.large(error.count), most=f"{MOST_ENTRIES:,}"))
        except Exception as error:  # the visitor does not see the kernel's log
            self._refuse(self._t("error.unexpected"), f"{type(error).__name__}: {error}")

    def _stop(self) -> None:
        if self.measurement is not None:
            self.measurement.cancel()

    def _rest(self) -> None:
        self.stop.disabled = True

    def _fulfil(self, wish: Wish) -> None:
        self.message.value = ""
        self.stop.disabled = False
        given = wish.name not in MADE
        self.size.layout.display = self.density.layout.display = "none" if given else ""
        self.sweep.disabled = given
        self.what.value = f'<p class="sp-muted sp-small">{self._t(f"explain.{wish.operator}")}</p>'
        single = replace(wish, sweep=False)
        if (not wish.sweep or single != self._shown) and not self._compare(single):
            return
        if wish.sweep and not given:
            self._sweep(wish)

    def _compare(self, wish: Wish) -> bool:
        """Whether it was completed."""
        if wish != self._shown:
            self.result.value, self._shown = "", None  # the present figures are of something else
        matrix = real(wish.name) if wish.name not in MADE else made(wish.name, wish.size, wish.density)
        if matrix is not self.matrix:
            figure, summary = show.pattern(matrix, self.lang)
            self.about.value = show.facts(matrix, self.lang)
            with self.pattern.hold_sync():
                self.pattern.figure, self.pattern.summary = figure, summary
            self.matrix = matrix
        done = self._run(Measurement([lambda: matrix], wish.layout, wish.operator, self._follow))
        if done is None:
            return False
        self.result.value = show.comparison(done.rows[0], wish.layout, done.threads, ROUNDS, self.lang)
        self.status.value, self._shown = "", wish
        return True

    def _sweep(self, wish: Wish) -> None:
        size = min(wish.size, SWEEP_SIZE)
        plan = [partial(made, wish.name, size, density) for density in SWEEP]
        done = self._run(Measurement(plan, wish.layout, wish.operator, self._follow, rounds=3))
        if done is None:
            return
        figure, said = show.curve(_ascending(done), self.lang)
        self.status.value = ""
        what = self._t(
            "curve.of", size=f"{size:,}", operator=self._t(f"operator.{wish.operator}"), matrix=self._t(f"matrix.{wish.name}"),
            layout=wish.layout.upper(),
        )  # fmt: skip
        with self.curve.hold_sync():
            self.curve.figure, self.curve.summary = figure, f"{what} {said}"
            self.curve.empty = self._t("curve.nothing") if not figure else self._t("curve.empty")

    def _run(self, measurement: Measurement) -> Measurement | None:
        """The finished measurement; None if it was cancelled or failed, which the page then shows."""
        self.measurement = measurement
        if self._latest.waits:
            return None
        measurement.start().join()
        if measurement.state == "done":
            return measurement
        if measurement.state == "failed":
            self._refuse(self._t("error.unexpected"), measurement.error)
        return None

    def _follow(self, measurement: Measurement) -> None:
        self.status.value = show.progress(measurement, self.lang)

    def _refuse(self, text: str, detail: str = "") -> None:
        self.matrix = self._shown = None
        self.message.value = notice(text, bad=True, detail=detail, lang=self.lang)
        self.about.value = self.result.value = self.status.value = ""
        self.pattern.figure = self.pattern.summary = ""

    # ---- layout

    def _layout(self) -> widgets.Widget:
        buttons = widgets.HBox([self.measure, self.sweep, self.stop])
        fields = [self.name, self.size, self.density, self.about, self.layout, self.operator, self.what]
        form = card([*fields, self.message, buttons], "sx-form")
        heading = widgets.HTML(f"<h3>{self._t('heading.costs')}</h3>")
        measured = card([heading, self.status, self.result], "sx-measured")
        return beside(form, [measured, card([self.pattern]), card([self.curve])])

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)


def _ascending(done: Measurement) -> list[Any]:
    """Its rows with strictly ascending densities: near the ends of the scale two can be equal."""
    kept: list[Any] = []
    for row in done.rows:
        if not kept or row.density > kept[-1].density:
            kept.append(row)
    return kept
