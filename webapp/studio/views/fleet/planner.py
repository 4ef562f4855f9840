"""The part "Planner" of the page "Fleet": machines, bytes and steps per second of a table on shards."""

from __future__ import annotations

import json
from html import escape
from importlib.util import find_spec
from typing import Any

import ipywidgets as widgets

from studio.figures import decimal_size
from studio.i18n import t

from ..common.figures import duration_short, notice
from ..common.pieces import beside, button, card, choice, number_field, plot_words
from ..common.widgets import Plot
from ..common.work import Latest
from .trial import tried

MOST = 2_000_000_000  # of a field: it holds 32 bits
GIGA = 1e9
COUNTS = 16  # numbers of machines in the picture
RULES = ("SGD", "Adagrad", "Momentum", "Adam", "AdamW")


class PlannerPart:
    """`plan` is the one that is shown, `costs` what a shard needs on this machine."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.plan: Any = None
        self.costs: Any = None
        self.status = widgets.HTML(notice(self._t("measuring")))
        self.rows = number_field(self._label("rows"), 1_000_000_000, 1, MOST)
        self.dim = number_field(self._label("dim"), 64, 1, 4096)
        self.ids = number_field(self._label("ids"), 40_000, 1, 10_000_000)
        self.rule = choice(self._label("rule"), [(rule, rule) for rule in RULES], "Adam")
        self.memory = number_field(self._label("memory"), 256, 1, 24_000)
        self.bandwidth = number_field(self._label("bandwidth"), 10, 1, 800)
        self.half = widgets.Checkbox(value=False, description=self._label("half"), indent=False)
        self.again = button(self._t("again"), self.measure, disabled=True)
        self.result = widgets.HTML()
        self.plot = Plot(title=self._t("figure"), empty=self._t("empty"), words=plot_words(lang))
        self._latest: Latest[str] = Latest(self._work, name="planner")
        self.fields = (self.rows, self.dim, self.ids, self.rule, self.memory, self.bandwidth, self.half)
        for field in self.fields:
            field.observe(lambda _: self._latest.ask("plan"), "value")
        kinds = ["in process", "processes", *(["actors"] if find_spec("ray") else [])]
        places = [(self._t(f"kind.{kind.replace(' ', '_')}"), kind) for kind in kinds]
        self.kind = choice(self._t("kind"), places, "processes")
        self.trying = button(self._t("try"), self.try_it, disabled=True)
        self.tried = widgets.HTML()
        ray = widgets.HTML(f'<p class="sx-about">{self._t("with_ray" if find_spec("ray") else "ray")}</p>')
        form = card([*self.fields, self.again, self.status], "sx-form")
        trial = card([self.kind, self.trying, self.tried, ray], "sx-form")
        self.root = beside(form, [card([self.result, self.plot], "fl-plan"), trial])

    def begin(self) -> None:
        """Measure what a shard needs, then plan."""
        self.measure()

    def measure(self) -> None:
        """Measure again."""
        self.again.disabled = True
        self.status.value = notice(self._t("measuring"))
        self._latest.ask("measure")

    def try_it(self) -> None:
        """Train the table on two real shards."""
        self.trying.disabled = True
        self.tried.value = notice(self._t("trying"))
        self._latest.ask("try")

    def wait(self) -> None:
        """Until nothing is computed any more (for tests)."""
        self._latest.wait()

    def _work(self, what: str) -> None:
        said = self.tried if what == "try" else self.status
        try:
            if what == "measure" or self.costs is None:
                from sampan.distributed.parameter_server.planner import Costs

                self.costs = Costs.measured(rounds=5)
            if what == "try":
                self._try()
            else:
                self._show()
                said.value = ""
        except ValueError as error:
            said.value = notice(self._t("wrong", why=error), bad=True)
        except Exception as error:  # the visitor does not see the kernel's log
            detail = f"{type(error).__name__}: {error}"
            said.value = notice(self._t("failed"), bad=True, detail=detail, lang=self.lang)
        self.again.disabled = self.trying.disabled = False

    def _try(self) -> None:
        kind = self.kind.value
        found = tried(
            kind,
            self.rows.value,
            self.dim.value,
            self.ids.value,
            self.rule.value,
            self.half.value,
            self.costs,
        )
        sentence = self._t(
            "tried",
            kind=self._t(f"kind.{kind.replace(' ', '_')}"),
            ids=f"{found.ids:,}",
            different=f"{found.different:,}",
            measured=f"{found.measured:,.3g}",
            planned=f"{found.planned:,.3g}",
        )
        self.tried.value = f'<p role="status" data-tried="{escape(kind)}">{escape(sentence)}</p>'

    def _show(self) -> None:
        from sampan.distributed.parameter_server.planner import plan

        given: dict[str, Any] = {
            "rows": self.rows.value,
            "dim": self.dim.value,
            "ids": self.ids.value,
            "rule": self.rule.value,
            "memory": self.memory.value * GIGA,
            "bandwidth": self.bandwidth.value * GIGA / 8,
            "costs": self.costs,
        }
        made = self.plan = plan(**given, half=self.half.value)
        rate = f"{made.steps_per_second:,.3g}"
        figures = {
            "per_row": f"{made.bytes_per_row:,.0f}",
            "machines": f"{made.shards:,}",
            "memory_each": decimal_size(made.memory_per_shard),
            "different": f"{made.ids_per_step:,.0f}",
            "network": decimal_size(made.network_per_step),
            "rate": rate,
        }
        said = self._t("summary", machines=f"{made.shards:,}", rate=rate)
        how = self._t(
            "how",
            request=duration_short(self.costs.request),
            row=duration_short(self.costs.row + given["dim"] * self.costs.number),
        )
        stats = "".join(
            f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(self._t(key))}</span>'
            f'<span class="sp-value">{escape(text)}</span></div>'
            for key, text in figures.items()
        )
        self.result.value = (
            f'<p class="sx-verdict" role="status" data-machines="{made.shards}">{escape(said)}</p>'
            f'<div class="sp-stats">{stats}</div><p class="sp-small sp-muted fl-how">{escape(how)}</p>'
        )
        counts = machines(made.shards)
        lines = [
            [plan(**given, half=half, shards=count).steps_per_second or 0.0 for count in counts]
            for half in (False, True)
        ]
        self.plot.figure = figure(counts, lines, made.shards, self.lang)

    def _label(self, name: str) -> str:
        return t(f"fleet.field.{name}", self.lang)

    def _t(self, key: str, **values: object) -> str:
        return t(f"fleet.planner.{key}", self.lang, **values)


def machines(least: int) -> list[int]:
    """Numbers of machines for the picture: from one up to eight times the least, in equal ratios."""
    most = max(8 * least, 16)
    found = {round(most ** (place / (COUNTS - 1))) for place in range(COUNTS)}
    return sorted(found | {least})


def figure(counts: list[int], lines: list[list[float]], least: int, lang: str) -> str:
    """The figure's JSON: steps per second over machines, for rows in float32 and in 16 bits."""
    names = [t(f"fleet.planner.{key}", lang) for key in ("float32", "bits16")]
    data: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines+markers", "x": counts, "y": rates, "name": name,
            "line": {"color": f"var(--sp-run-{slot})", "width": 2}, "marker": {"size": 5}, "hoverinfo": "name+x+y",
        }
        for slot, name, rates in zip((1, 2), names, lines, strict=True)
    ]  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    highest = max(map(max, lines))
    data.append(
        {
            "type": "scatter", "mode": "lines", "x": [least, least], "y": [0, highest],
            "name": t("fleet.planner.least", lang), "line": {"color": "var(--sp-bad)", "width": 1.5, "dash": "dash"},
            "hoverinfo": "name+x",
        }
    )  # fmt: skip  # one row of fields to a line
    layout = {
        "height": 360, "hovermode": "closest", "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"type": "log", "title": {"text": t("fleet.planner.x", lang)}, "dtick": 1, "automargin": True},
        "yaxis": {"title": {"text": t("fleet.planner.y", lang)}, "range": [0, 1.05 * highest], "automargin": True},
        "legend": {"orientation": "h", "y": -0.25, "yanchor": "top", "x": 0},
    }  # fmt: skip  # one row of fields to a line
    return json.dumps({"data": data, "layout": layout})
