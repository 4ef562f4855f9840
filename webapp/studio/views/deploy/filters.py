"""The part "Filters" of the page "Deploy": how much each layer can lose, and the network without the chosen filters."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from html import escape
from typing import Any

import ipywidgets as widgets

from ..common.figures import duration_short, percent, size
from ..common.pieces import beside, button, card, plot_words
from ..common.widgets import Plot, Slider
from . import networks
from .bench import Bench, labelled
from .part import DeployPart, Step, needs_task, signed, table
from .subject import Subject

RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EPOCHS = (0, 1, 2, 4)
LOSS = 0.01  # of the accuracy, which the button "equal loss" allows each layer
ROUNDS = 15
SLOTS = 5  # colours; more layers take other dashes
DASHES = ("solid", "dash", "dot")
Curves = dict[str, dict[float, float]]  # by layer: ratio, accuracy


class FiltersPart(DeployPart):
    """`curves`: accuracy by layer and ratio; `ratios`: a slider for each layer; `rows`: name, bytes, seconds, accuracy."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.curves: Curves = {}
        self.ratios: dict[str, Slider] = {}
        self.rows: list[tuple[str, int, float, float]] = []
        self.sliders = widgets.VBox([])
        self.epochs = Slider(label=self._t("filters.epochs"), texts=[str(n) for n in EPOCHS], index=2)
        buttons = self._buttons(self._t("filters.prune"), self.prune)
        self.equal = button(self._t("filters.equal", loss=percent(LOSS)), self.equal_loss, disabled=True)
        self.back = button(self._t("filters.back"), self.restore, disabled=True)
        self.plot = Plot(
            title=self._t("filters.title"), empty=self._t("filters.empty"), words=plot_words(lang)
        )
        self.plot.on_msg(self._clicked)
        self.result = widgets.HTML(self._empty())
        form = card([self.sliders, self.equal, self.epochs, buttons, self.back, self.status], "sx-form")
        self.root = beside(form, [card([self.plot], "de-card"), card([self.result], "de-card")])

    def fresh(self, subject: Subject) -> None:
        """Measures the sensitivity of the network, which takes a second."""
        self.curves, self.rows = {}, []
        self.plot.figure = self.plot.summary = ""
        self.result.value = self._empty()
        self.ratios, self.sliders.children = {}, ()
        self.start.disabled = self.equal.disabled = self.back.disabled = True
        if needs_task(self, subject) is None:
            return
        curves: Curves = {}

        def done() -> None:
            self.curves = curves
            self._offer()

        self._do(sensitivity(subject, curves), done)

    # ---- what the visitor does

    def equal_loss(self) -> None:
        """Takes the ratios at which each layer alone costs the same share of the accuracy."""
        from sampan import slim

        losses = {
            name: {ratio: (curve[0.0] - score) / curve[0.0] for ratio, score in curve.items() if ratio}
            for name, curve in self.curves.items()
        }
        for name, ratio in slim.get_ratios_by_loss(losses, LOSS).items():
            self.ratios[name].index = min(int(ratio * 10 + 1e-9), len(RATIOS) - 1)

    def prune(self) -> None:
        """Removes the chosen filters from a copy, trains it on, and measures before and after."""
        subject = self.bench.subject
        if subject is None or not self.curves:
            return
        ratios = {name: RATIOS[slider.index] for name, slider in self.ratios.items() if slider.index}
        if not ratios:
            self.status.value = f'<p class="sp-muted" role="status">{escape(self._t("filters.none"))}</p>'
            return
        rows: list[tuple[str, int, float, float]] = []
        made: list[Any] = []

        def done() -> None:
            if len(rows) < 3:
                return
            self.rows = rows
            self.result.value = self._said()
            self.back.disabled = False
            self.bench.prune(made[0])

        self._do(pruned(subject, ratios, EPOCHS[self.epochs.index], rows, made), done)

    def _clicked(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """A point of a line takes its share for the layer."""
        clicked = content.get("click", {})
        for slider in self.ratios.values():
            if slider.label == clicked.get("line"):
                slider.index = min(max(round(float(clicked["x"]) / 10), 0), len(RATIOS) - 1)

    def restore(self) -> None:
        """All filters again."""
        self.back.disabled, self.result.value, self.rows = True, self._empty(), []
        self.bench.prune(None)

    # ---- what is shown

    def _offer(self) -> None:
        """A slider for each layer that was measured."""
        labels = labelled(self.bench.subject.network) if self.bench.subject is not None else {}
        self.ratios = {
            name: Slider(label=labels[name], texts=[f"{100 * ratio:.0f} %" for ratio in RATIOS], live=True)
            for name in self.curves
        }
        for slider in self.ratios.values():
            slider.observe(lambda _: self._draw(), "index")
        self.sliders.children = tuple(self.ratios.values())
        self.equal.disabled = self.start.disabled = not self.ratios
        if not self.ratios:
            self.status.value = f'<p class="sp-muted" role="status">{escape(self._t("filters.fixed"))}</p>'
            return
        self.plot.summary = self._t("filters.summary")
        self._draw()

    def _draw(self) -> None:
        chosen = {name: RATIOS[slider.index] for name, slider in self.ratios.items()}
        self.plot.figure = lines(
            {self.ratios[name].label: curve for name, curve in self.curves.items()},
            {self.ratios[name].label: ratio for name, ratio in chosen.items()},
            self._t("filters.axis.ratio"),
            self._t("filters.axis.accuracy"),
        )

    def _empty(self) -> str:
        return f'<p class="sp-muted">{escape(self._t("filters.later"))}</p>'

    def _said(self) -> str:
        (_, bytes_, seconds, score), *_, (_, small_bytes, small_seconds, small_score) = self.rows
        verdict = self._t(
            "filters.said",
            bytes=f"{small_bytes / bytes_:.2f}",
            time=f"{small_seconds / seconds:.2f}",
            points=signed(100 * (small_score - score)),
        )
        head = [self._t(f"column.{key}") for key in ("network", "bytes", "time", "accuracy")]
        rows = [
            (self._t(f"filters.row.{name}"), [size(b), duration_short(s), percent(a)])
            for name, b, s, a in self.rows
        ]
        return (
            f'<div data-rows="{len(rows)}"><p class="sx-verdict" role="status">{escape(verdict)}</p>{table(head, rows, self._t("filters.caption"))}'
            f'<p class="sp-muted sp-small">{escape(self._t("filters.method", rounds=ROUNDS))}</p></div>'
        )


def sensitivity(subject: Subject, curves: Curves) -> Iterator[Step]:
    """The accuracy after removing a share of the filters of one layer alone, without training; into `curves`."""
    from sampan import slim

    assert subject.task is not None
    accuracy = subject.task.accuracy
    network = copy.deepcopy(subject.network)
    pruner = slim.L1NormFilterPruner(network, subject.inputs(2))
    names = list(pruner.prunable)
    whole = accuracy(network)
    yield "sensitivity", 0.0
    for number, name in enumerate(names):
        curve = {0.0: whole}
        for ratio in RATIOS[1:]:
            found = pruner.sensitive(lambda: accuracy(network), target_vars=[name], ratios=[ratio])
            curve[ratio] = whole * (1 - found[name][ratio])
            yield "sensitivity", (number + ratio) / len(names)
        curves[layer_of(name)] = curve


def pruned(
    subject: Subject,
    ratios: dict[str, float],
    epochs: int,
    rows: list[tuple[str, int, float, float]],
    made: list[Any],
) -> Iterator[Step]:
    """Removes filters from a copy, which is put into `made`, and trains it. Into `rows`: name, bytes, seconds of a call of one
    input, accuracy, of the whole network, the pruned one, and that one after its training."""
    from sampan import slim

    assert subject.task is not None
    small = copy.deepcopy(subject.network)
    slim.L1NormFilterPruner(small, subject.inputs(2)).prune_vars(
        {f"{name}.weight": ratio for name, ratio in ratios.items()}
    )
    accuracy, given = subject.task.accuracy, subject.inputs(1)
    first = accuracy(small)
    yield "tuning", 0.1
    for share in networks.train(small, subject.task, epochs):
        yield "tuning", 0.1 + 0.7 * share
    small.eval()
    yield "measuring", 0.8
    before, after = slim.latencies([subject.network, small], [given], ROUNDS)
    bytes_ = slim.file_bytes(small)
    rows += [
        ("whole", slim.file_bytes(subject.network), before, accuracy(subject.network)),
        ("pruned", bytes_, after, first),
        ("tuned", bytes_, after, accuracy(small)),
    ]
    made.append(small)
    yield "measuring", 1.0


def layer_of(name: str) -> str:
    """The layer of a weight."""
    return name.removesuffix(".weight")


def lines(curves: Curves, chosen: dict[str, float], x: str, y: str) -> str:
    """The figure's JSON: accuracy over the share of removed filters, a line for each layer, and a ring at the chosen share."""
    traces: list[dict[str, Any]] = []
    for number, (name, curve) in enumerate(curves.items()):
        colour = f"var(--sp-run-{number % SLOTS + 1})"
        line = {"color": colour, "width": 2, "dash": DASHES[number // SLOTS % len(DASHES)]}
        points = {"x": [100 * ratio for ratio in curve], "y": [100 * score for score in curve.values()]}
        at = chosen.get(name, 0.0)
        traces.append({"type": "scatter", "mode": "lines+markers", "name": name, "line": line, **points})
        ring = {"size": 15, "symbol": "circle-open", "color": colour, "line": {"width": 3}}
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [100 * at],
                "y": [100 * curve[at]],
                "marker": ring,
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
    layout = {
        "height": 360,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"title": {"text": x}, "range": [-3, 93]},
        "yaxis": {"title": {"text": y}, "range": [0, 102]},
        "legend": {"orientation": "h", "y": -0.22, "yanchor": "top"},
    }
    return json.dumps({"data": traces, "layout": layout})
