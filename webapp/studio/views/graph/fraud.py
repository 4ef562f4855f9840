"""The part "Fraud alarms on a stream" of the page "Graph": ratings arrive, a detector judges each, and an alarm shows its reason."""

from __future__ import annotations

import threading
import time
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np

from ..common.figures import bar, duration, notice, percent
from ..common.pieces import beside, button, card, choice, line, offer
from ..common.widgets import LiveChart
from . import figures as show
from . import stream
from .stream import Alarm, FraudRun

RATES = (50, 200, 0)
NEWEST = -1  # in place of an alarm's number: the newest one is shown
FOLLOW_S = 2.0  # between two alarms while the newest is shown: long enough to see it
SHOWN = 6  # earlier ratings of a reason, in the picture and in the table
GIVER, RECEIVER, GOOD, BAD, OTHER = 2, 3, 7, 8, 6  # colours, see static/graph_view.js


class FraudPart:
    """`root` is the widget. `begin()` offers the streams; call it in a thread after the page is shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.run: FraudRun | None = None
        self._lock = threading.RLock()
        self._listed: list[Alarm] = []
        self._listed_at = 0.0
        self.source = choice(self._t("field.stream"), [(self._t("loading"), "")], "")
        self.about = widgets.HTML()
        rates = [(self._t("rate", count=n) if n else self._t("rate.fast"), n) for n in RATES]
        self.rate = choice(self._t("field.rate"), rates, 200)
        self.start = button(self._t("stream.start"), self.play, "primary", disabled=True)
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML(notice(self._t("loading")))
        self.chart = LiveChart(
            title=self._t("chart.latency"), format="number", x_label=self._t("chart.events"), x_max=100.0,
            kinds={}, empty=self._t("chart.latency.empty"),
        )  # fmt: skip
        self.alarm = choice(self._t("field.alarm"), [(self._t("alarm.none"), NEWEST)], NEWEST)
        self.view = show.view(
            self._t("reason.title"), self._t("reason.empty"), lang, small=True, choosable=False
        )
        self.said = widgets.HTML()
        self.source.observe(lambda _: self._describe(), "value")
        self.alarm.observe(lambda change: self._chosen(change["new"]), "value")
        self.root = self._layout()

    def play(self) -> None:
        with self._lock:
            if not self.source.value or (self.run is not None and self.run.alive):
                return
            self.run = FraudRun(self.source.value, float(self.rate.value), self._follow)
            self._listed, self._listed_at = [], 0.0
            self.alarm.options = [(self._t("alarm.none"), NEWEST)]
            self.start.disabled, self.stop.disabled = True, False
            self.run.start()
            self._follow(self.run)

    def cancel(self) -> None:
        if self.run is not None:
            self.run.cancel()
            self.stop.disabled = True

    def begin(self) -> None:
        """Offers the streams on this machine. Imports the library."""
        import sampan.graph  # noqa: F401  loads it while the page waits

        names = stream.available()
        offer(self.source, [(self._t(f"stream.{name}"), name) for name in names], names[0])
        self.status.value = notice(self._t("stream.ready"))
        self.start.disabled = False

    # ---- what follows a run

    def _describe(self) -> None:
        if self.source.value:
            self.about.value = (
                f'<p class="sp-muted sp-small">{self._t(f"stream.about.{self.source.value}")}</p>'
            )

    def _follow(self, run: FraudRun) -> None:
        with self._lock:  # `play` and the run call this: the older state must not come last
            self._show_state(run)

    def _show_state(self, run: FraudRun) -> None:
        if run is not self.run:
            return
        failed = (
            notice(self._t("error.stream"), bad=True, detail=run.error, lang=self.lang) if run.error else ""
        )
        tally = run.tally()
        learning = run.state == "loading"
        sentence = self._t(
            f"stream.{run.state}", done=percent(run.learning), events=f"{tally.events:,}",
            seconds=duration(run.seconds, self.lang),
        )  # fmt: skip
        fraction = run.learning if learning else run.fraction
        self.status.value = failed + bar(
            run.state, sentence, fraction, self._t("stream.progress"), self._figures(run)
        )
        self.chart.x_max = max(tally.events / max(run.fraction, 1e-9), 1.0) if tally.events else 100.0
        self.chart.live = [
            line("p99", self._t("line.p99"), 2, "train", run.curves["p99"]),
            line("p50", self._t("line.p50"), 1, "test", run.curves["p50"]),
        ]
        self._list(run)
        if run.alive:
            return
        self.start.disabled, self.stop.disabled = False, True
        self.chart.summary = self._t(f"stream.announce.{run.state}", p99=f"{tally.p99:.1f}")

    def _figures(self, run: FraudRun) -> list[tuple[str, str, str]]:
        tally = run.tally()
        seen = tally.events > 0
        return [
            ("p99", self._t("figure.p99"), f"{tally.p99:.1f} ms" if seen else "–"),
            ("alarms", self._t("figure.alarms"), f"{tally.alarms:,}"),
            (
                "precise",
                self._t("figure.precise"),
                percent(tally.hits / tally.alarms) if tally.alarms else "–",
            ),
            (
                "recall",
                self._t("figure.recall"),
                percent(tally.hits / tally.negative) if tally.negative else "–",
            ),
        ]

    def _list(self, run: FraudRun, at_once: bool = False) -> None:
        """Shows the newest alarm, and lists the others; nothing changes while the visitor looks at one of them."""
        alarms, now = list(run.alarms), time.monotonic()
        if not alarms or self.alarm.value != NEWEST or (self._listed and alarms[0] is self._listed[0]):
            return
        if run.alive and not at_once and now - self._listed_at < FOLLOW_S:
            return
        self._listed, self._listed_at = alarms, now
        names = [(self._alarm_name(alarm), alarm.number) for alarm in alarms]
        self.alarm.options = [(self._t("alarm.newest"), NEWEST), *names]
        self._draw(alarms[0])

    def _alarm_name(self, alarm: Alarm) -> str:
        event = alarm.reason.event
        key = "alarm.right" if alarm.right else "alarm.wrong"
        return self._t(key, giver=event.giver, receiver=event.receiver, score=percent(alarm.reason.score))

    def _chosen(self, number: int) -> None:
        with self._lock:
            if number == NEWEST and self._listed and self.run is not None:
                self._draw(self._listed[0])
                self._list(self.run, at_once=True)
            for alarm in self._listed:
                if alarm.number == number:
                    self._draw(alarm)

    def _draw(self, alarm: Alarm) -> None:
        """The reason as a small graph: who rated whom before, and the suspicious rating itself."""
        event, found = alarm.reason.event, alarm.reason.edges[:SHOWN]
        people = list(
            dict.fromkeys([event.giver, event.receiver, *(end for edge in found for end in edge[:2])])
        )
        place = {person: number for number, person in enumerate(people)}
        edges = [[place[edge.source], place[edge.target], GOOD if edge.rating > 0 else BAD] for edge in found]
        nodes = [
            [number, GIVER if not number else RECEIVER if number == 1 else OTHER]
            for number in range(len(people))
        ]
        with self.view.hold_sync():
            self.view.names = [f"#{person}" for person in people]
            self.view.points = _around(len(people)).tobytes()
            self.view.ends = b""
            self.view.slots = self.view.radii = b""
            self.view.marks = {"nodes": nodes, "edges": [*edges, [0, 1, GIVER]]}
            self.view.summary = self._t("reason.summary", count=len(edges), ms=f"{1000 * alarm.seconds:.1f}")
        self.said.value = self._words(alarm)

    def _words(self, alarm: Alarm) -> str:
        reason = alarm.reason
        outcome = self._t("outcome.right" if alarm.right else "outcome.wrong")
        sentence = self._t(
            "reason.said",
            giver=reason.event.giver,
            receiver=reason.event.receiver,
            score=percent(reason.score),
        )
        heads = "".join(
            f'<th scope="col"{"" if key == "rating" else " class=is-figure"}>{escape(self._t(f"column.{key}"))}</th>'
            for key in ("rating", "value", "contribution")
        )
        rows = [
            f'<tr><th scope="row">#{edge.source} → #{edge.target}</th><td class="is-figure">{10 * edge.rating:+.0f}</td>'
            f'<td class="is-figure">{edge.contribution:+.2f}</td></tr>'
            for edge in reason.edges[:SHOWN]
        ]
        return (
            f'<div class="gr-reason" data-alarm="{alarm.number}"><p class="sx-verdict">{escape(sentence)} {escape(outcome)}</p>'
            f"{show.table(heads, rows, self._t('reason.table')) if rows else ''}"
            f'<p class="sp-muted sp-small">{escape(self._t("reason.how" if rows else "reason.none"))}</p></div>'
        )

    def _layout(self) -> widgets.Widget:
        form = card([self.source, self.about, self.rate, widgets.HBox([self.start, self.stop])], "sx-form")
        live = card([self.status, self.chart], "sx-live")
        names = [(GIVER, "giver"), (RECEIVER, "receiver"), (GOOD, "good"), (BAD, "bad")]
        legend = widgets.HTML(show.legend((slot, self._t(f"legend.{name}")) for slot, name in names))
        return beside(form, [live, card([self.alarm, self.view, legend, self.said], "gr-card")])

    def _t(self, key: str, **values: Any) -> str:
        return show.words(key, self.lang, **values)


def _around(count: int) -> np.ndarray:
    """float32 [count, 2]: the first two side by side, the others on an ellipse around them."""
    angles = 2 * np.pi * (np.arange(max(count - 2, 0)) + 0.5) / max(count - 2, 1)
    ring = np.stack([3 * np.cos(angles), 2 * np.sin(angles)], 1)
    return np.concatenate([[[-1.0, 0.0], [1.0, 0.0]], ring])[:count].astype(np.float32)
