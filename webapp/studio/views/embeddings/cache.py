"""The part "Which rows to cache" of the page "Embeddings": the hit rate of a cache for a chosen skew."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from studio.i18n import t

from ..common.figures import bar, notice, percent
from ..common.pieces import beside, card
from ..common.widgets import LiveChart, Slider
from ..common.work import Latest
from . import figures as show
from .hits import DIM, LOOKUPS, ROWS, SHARES, SKEWS, HitMeasurement, Hits


class CachePart:
    """`root` is the widget. `begin()` measures the first curve; call it in a thread after the page is shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.measurement: HitMeasurement | None = None
        self.skew = Slider(
            label=self._t("field.skew"),
            texts=[f"{skew:.2f}" for skew in SKEWS],
            index=SKEWS.index(1.05),
            live=True,
        )
        self.share = Slider(
            label=self._t("field.share"),
            texts=[f"{share} %" for share in SHARES],
            index=SHARES.index(20),
            live=True,
        )
        self.status = widgets.HTML(notice(self._t("loading")))
        self.result = widgets.HTML()
        self.chart = LiveChart(
            title=self._t("cache.chart"), format="percent", x_label=self._t("cache.axis"), x_max=100.0,
            kinds={"train": self._t("cache.best"), "test": self._t("cache.lru")}, empty=self._t("cache.empty"),
        )  # fmt: skip
        self._rows: list[Hits] = []  # of the last complete curve
        self._ready = False
        self._latest = Latest(self._fulfil, self._stop, name="cache")
        self.skew.observe(lambda _: self.ask(), "index")
        self.share.observe(lambda _: self._say(), "index")
        self.root = self._layout()

    def ask(self) -> None:
        """Measures at the chosen skew."""
        if self._ready:
            self._latest.ask(SKEWS[self.skew.index])

    def begin(self) -> None:
        import sampan.embedding  # noqa: F401  loads it while the page waits

        self._ready = True
        self.ask()

    def wait(self, timeout: float = 60.0) -> None:
        """Waits until no measurement is running (for tests)."""
        self._latest.wait(timeout)

    def _stop(self) -> None:
        if self.measurement is not None:
            self.measurement.cancel()

    def _fulfil(self, skew: float) -> None:
        measurement = self.measurement = HitMeasurement(skew, self._follow)
        if self._latest.waits:
            return
        measurement.start().join()
        if measurement.state == "failed":
            self.status.value = notice(
                self._t("error.cache"), bad=True, detail=measurement.error, lang=self.lang
            )
        if measurement.state != "done":
            return
        self._rows = measurement.rows
        self.status.value = ""
        self._say()
        self.chart.summary = self._t("cache.announce", skew=f"{skew:.2f}", rate=percent(self._chosen().lru))

    def _follow(self, measurement: Any) -> None:
        if measurement.state == "running":
            self.status.value = bar(
                "running", self._t("cache.running"), measurement.fraction, self._t("cache.progress")
            )
        if measurement.state in ("running", "done"):
            named = self._t("cache.curve", skew=f"{measurement.skew:.2f}")
            x = [100 * row.share for row in measurement.rows]
            self.chart.live = [
                {"id": kind, "run": named, "slot": 1, "kind": form, "x": x, "y": [round(getattr(row, kind), 4) for row in measurement.rows]}
                for kind, form in (("best", "train"), ("lru", "test"))
            ]  # fmt: skip

    def _chosen(self) -> Hits:
        return self._rows[self.share.index]

    def _say(self) -> None:
        """The sentence and the figures of the chosen share."""
        if not self._rows:
            return
        row, measured = self._chosen(), self.measurement
        skew = SKEWS[self.skew.index] if measured is None else measured.skew
        said = self._t(
            "cache.said", rate=percent(row.lru), kept=f"{round(row.share * ROWS):,}", rows=f"{ROWS:,}"
        )
        stats = [
            ("lru", percent(row.lru)),
            ("best", percent(row.best)),
            ("evicted", f"{row.evicted:,}"),
        ]
        figures = "".join(
            f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(self._t(f"cache.figure.{key}"))}</span>'
            f'<span class="sp-value">{escape(text)}</span></div>'
            for key, text in stats
        )
        how = self._t("cache.method", rows=f"{ROWS:,}", dim=DIM, lookups=f"{LOOKUPS:,}")
        self.result.value = (
            f'<div class="em-hits" data-skew="{skew:.2f}" data-rate="{row.lru:.4f}"><p class="sx-verdict" role="status">{escape(said)}</p>'
            f'<div class="sp-stats">{figures}</div><p class="sp-muted sp-small">{escape(how)}</p></div>'
        )

    def _layout(self) -> widgets.Widget:
        about = widgets.HTML(
            f'<div class="sx-about"><p><span class="sp-tag">{escape(t("train.origin.made", self.lang))}</span> '
            f"{escape(self._t('cache.about'))}</p></div>"
        )
        form = card([self.skew, self.share, about], "sx-form")
        return beside(form, [card([self.status, self.result, self.chart], "em-cache")])

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)
