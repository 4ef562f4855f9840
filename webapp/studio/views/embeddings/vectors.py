"""Shared by the parts "Words" and "Films and people": live training, a 3D map, nearest neighbours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from html import escape
from typing import Any, ClassVar
from unicodedata import normalize

import ipywidgets as widgets

from ..common.figures import notice
from ..common.pieces import beside, button, card, choice, facts, line, offer, pair, text_field
from ..common.widgets import LiveChart, Slider
from . import figures as show
from .training import DIMS, Table, VectorRun
from .vector_map import VectorMap

NEAREST = 10
TOPS = (0.1, 0.2, 0.5, 1.0)  # of the axis of hit rates
QUOTED = 40  # characters of the visitor's input that an answer repeats


class VectorsPart:
    """`root` is the widget. `begin()` offers the data and enables training; call it in a thread after the page is
    shown.

    `others_learn` says whether another part is training: two at once would share the cores, and their speeds would
    be wrong.
    """

    kind: ClassVar[str]
    epochs_offered: ClassVar[tuple[int, ...]]
    charts: ClassVar[tuple[tuple[str, str], ...]]  # (a curve of the run, its format)
    first_dim: ClassVar[int]
    first_epochs: ClassVar[int]
    epochs_of: ClassVar[dict[str, int]] = {}  # of data that need other settings than the first

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: Any = None  # a VectorRun, or a ShippedRun
        self.others_learn: Callable[[], bool] = lambda: False
        self._lock = threading.RLock()
        self._ready = False
        self._asked = ""  # the label whose neighbours are listed
        self.source = choice(self._k("field.source"), [(self._t("loading"), "")], "")
        self.about = facts()
        self.dim = Slider(
            label=self._t("field.dim"), texts=[str(n) for n in DIMS], index=DIMS.index(self.first_dim)
        )
        self.epochs = Slider(
            label=self._t("field.epochs"),
            texts=[str(n) for n in self.epochs_offered],
            index=self.epochs_offered.index(self.first_epochs),
        )
        self.message = widgets.HTML()
        self.start = button(self._k("train"), self.train, "primary", disabled=True)
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        self.graphs = {name: self._chart(name, form) for name, form in self.charts}
        self.map = VectorMap(lang, self.kind)
        self.asked = text_field(self._k("field.asked"), hint=self._k("hint.asked"))
        self.find = button(self._t("find"), self.neighbours, disabled=True)
        self.found = widgets.HTML(self._empty("found.empty"))
        self.source.observe(lambda _: self._describe(), "value")
        self.asked.observe(lambda _: self.neighbours(), "value")
        self.root = self._layout()

    # ---- defined by each part

    def _sources(self) -> list[str]:
        """Names of the data on this machine, the largest first."""
        raise NotImplementedError

    def _about(self, name: str) -> str:
        """The origin of the data, as HTML."""
        raise NotImplementedError

    def _run_of(self, source: str, dim: int, epochs: int) -> VectorRun:
        raise NotImplementedError

    def _figures(self, run: Any) -> Sequence[tuple[str, str]]:
        """Figures under the bar: (key, value)."""
        raise NotImplementedError

    def _nearest(self, run: Any, label: str) -> tuple[str, list[tuple[str, float]]]:
        """(the label as in the table, its neighbours with their cosines); KeyError for an unknown label."""
        raise NotImplementedError

    def _language(self) -> str:
        """The language of the labels."""
        raise NotImplementedError

    def _more(self) -> list[widgets.Widget]:
        """Further cards."""
        return []

    def _fresh(self, run: Any) -> None:
        """Called for a new table: update other displays of it."""

    def _groups(self, table: Table) -> Sequence[str] | None:
        """Colours of the map."""
        return None

    def _beside(self, name: str, run: Any, end: float) -> list[dict[str, Any]]:
        """Other lines of a chart, up to `end` seconds."""
        return []

    def _besides(self) -> Sequence[int]:
        """Rows that are always on the map."""
        return ()

    # ---- what the visitor does

    def train(self) -> None:
        with self._lock:
            if not self._ready or (self.run is not None and self.run.alive):
                return
            self.message.value = ""
            if self.others_learn():
                self.message.value = notice(self._t("error.busy"), bad=True)
                return
            self.run = self._run_of(
                self.source.value, DIMS[self.dim.index], self.epochs_offered[self.epochs.index]
            )
            self.start.disabled, self.stop.disabled = True, False
            self.curves.layout.display = ""
            self.run.start()
            self._follow(self.run)

    def cancel(self) -> None:
        if self.run is not None:
            self.run.cancel()
            self.stop.disabled = True
            with self._lock:
                if self.run.state == "loading":  # reading the data cannot be interrupted
                    self.message.value = notice(self._t("train.stopping"))

    def neighbours(self) -> None:
        """Show the neighbours of the search text in the list and on the map; during training, at the next update."""
        with self._lock:
            label = self.asked.value.strip()
            run = self.run
            if run is None or run.table is None:
                self._say(self._k("error.untrained"))
                return
            if not label:
                self._say(self._k("error.empty", example=run.table.labels[0]))
                return
            self._asked = label
            if run.rests:
                self._answer(run)
            elif run.alive:
                self.found.value = f'<p class="sp-muted" role="status">{escape(self._t("found.soon"))}</p>'

    def begin(self) -> None:
        """Offers the data on this machine. Imports the library."""
        names = self._sources()
        offer(self.source, [(self._k(f"source.{name}"), name) for name in names], names[0])
        self.status.value = notice(self._k("ready"))
        self.start.disabled = False
        self._ready = True

    # ---- what follows a run

    def _follow(self, run: Any) -> None:
        with self._lock:  # `train` and the run call this: the older state must not come last
            self._show_state(run)

    def _show_state(self, run: Any) -> None:
        failed = ""
        if run.error:
            failed = notice(self._t("error.training"), bad=True, detail=run.error, lang=self.lang)
        self.status.value = failed + show.training(run, self.kind, self._figures(run), self.lang)
        for name, chart in self.graphs.items():
            chart.x_max = max(run.seconds + (run.seconds_left or 0.0), 1.0)
            form = "train" if name == "loss" else "test"
            if name == "hit_rate":
                highest = max([run.popular or 0.0, *run.curves[name].points()[1]])
                chart.most = next(top for top in TOPS if top >= highest)
            drawn = [line(name, self._t(f"chart.{name}"), 1, form, run.curves[name])]
            chart.live = [*drawn, *self._beside(name, run, chart.x_max)]
        if run.alive or run.state == "waiting":
            return
        self.start.disabled, self.stop.disabled = False, True
        self.message.value = ""
        if run.table is not None:
            self._looked(run)
        said = self._t(f"announce.{run.state}") if run.table is not None else show.ended_early(run, self.lang)
        next(iter(self.graphs.values())).summary = said

    def _looked(self, run: Any) -> None:
        """Called in the run's thread, or after it has ended."""
        with self._lock:
            table = run.table
            if run is not self.run or table is None:
                return
            self.find.disabled = False
            if table is not self.map.table:
                self.map.show(table, self._groups(table), self._besides())
            if self._asked:
                self._answer(run)
            elif "role=" not in self.found.value:
                self.found.value = self._empty("error.empty", example=table.labels[0])
            self._fresh(run)

    def _answer(self, run: Any) -> None:
        try:
            known, pairs = self._nearest(run, self._asked)
        except KeyError:
            self._say(self._unknown(run.table, self._asked))
            return
        heading = escape(self._t("found.heading", label="\0")).replace(
            "\0", show.own(known, self._language(), self.lang)
        )
        self.found.value = show.ranked(
            pairs, heading, "neighbours", self._language(), self.lang, self._rare()
        )
        self._mark(run.table, [known, *(label for label, _ in pairs)])

    def _rare(self) -> Sequence[str]:
        """Labels that a list marks as cold."""
        return ()

    def _unknown(self, table: Table, label: str) -> str:
        """A helpful sentence: similar labels."""
        near = close(label, table.labels)
        key = "error.unknown" if near else "error.unknown_alone"
        quoted = label if len(label) <= QUOTED else label[: QUOTED - 1] + "…"
        return self._k(key, label=quoted, count=f"{len(table.labels):,}", near=self._t("comma").join(near))

    def _mark(self, table: Table, labels: Sequence[str]) -> None:
        numbers = [table.number(label) for label in labels]
        self.map.mark([number for number in numbers if number is not None])

    def _say(self, sentence: str) -> None:
        self.found.value = notice(sentence, bad=True)
        self._asked = ""

    def _describe(self) -> None:
        name = self.source.value
        if name:
            self.epochs.index = self.epochs_offered.index(self.epochs_of.get(name, self.first_epochs))
            self.about.value = self._about(name)

    # ---- layout

    def _layout(self) -> widgets.Widget:
        form = card(
            [
                self.source,
                self.about,
                self.dim,
                self.epochs,
                self.message,
                widgets.HBox([self.start, self.stop]),
            ],
            "sx-form",
        )
        self.curves = pair(*self.graphs.values())
        self.curves.layout.display = "none"  # until there is something to draw
        live = card([self.status, self.curves], "sx-live")
        heading = widgets.HTML(f"<h3>{self._t('heading.neighbours')}</h3>")
        asking = widgets.Box([self.asked, self.find])
        asking.add_class("em-ask")
        search = card([heading, asking, self.found], "em-search")
        return beside(form, [live, card([self.map.root], "em-map"), search, *self._more()])

    def _chart(self, key: str, form: str) -> LiveChart:
        kinds = {"train" if key == "loss" else "test": self._t(f"chart.kind.{key}")}
        if key == "hit_rate":
            kinds["train"] = self._t("chart.kind.popular")
        return LiveChart(
            title=self._t(f"chart.{key}"), format=form, x_label=self._t("chart.seconds"), x_max=10.0,
            kinds=kinds, empty=self._t("chart.empty"),
        )  # fmt: skip

    def _empty(self, key: str, **values: object) -> str:
        return f'<p class="sp-muted">{escape(self._k(key, **values))}</p>'

    def _k(self, key: str, **values: object) -> str:
        """A sentence of this part."""
        return show.words(f"{self.kind}.{key}", self.lang, **values)

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)


def folded(label: str) -> str:
    """A label normalised for comparison: lower case, and half width."""
    return normalize("NFKC", label).casefold()


def close(label: str, labels: Sequence[str], most: int = 5) -> list[str]:
    """Labels similar to an unknown one: first those that contain it, then those with a similar spelling."""
    wanted = folded(label)
    holding = [known for known in labels if wanted in known.casefold()]
    found = holding[:most] if wanted else []
    if len(found) < most:
        lower = {known.casefold(): known for known in reversed(labels)}
        found += [
            lower[name] for name in get_close_matches(wanted, lower, most, 0.6) if lower[name] not in found
        ]
    return found[:most]
