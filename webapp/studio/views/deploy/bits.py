"""The part "Bits" of the page "Deploy": the weights of each layer in 8 to 2 bits, and what that does to the answers."""

from __future__ import annotations

import json
from functools import partial
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from ..common.figures import percent, size
from ..common.pieces import beside, button, card, choice, offer, plot_words
from ..common.widgets import Plot, Slider
from ..common.work import Latest
from .bench import FULL, LEAST, MOST, Bench, labelled, packed_bytes, scales, weighted
from .part import DeployPart, needs_task, signed, stats
from .subject import Subject

BITS = (FULL, *range(MOST, LEAST - 1, -1))
BINS = 81
DRAWN = 6  # bits up to which the levels are drawn: more would be closer than the bars


class BitsPart(DeployPart):
    """`bits`: a slider for each layer, by name; `accuracy` and `bytes` of the network as it is set."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.bits: dict[str, Slider] = {}
        self.accuracy = 0.0
        self.bytes = 0
        self._whole = 0.0
        self._latest: Latest[None] = Latest(lambda _: self._measure(), name="bits")
        self.sliders = widgets.VBox([])
        self.layer = choice(self._t("bits.layer"), [("–", "")], "")
        self.all = [
            button(self._t("bits.all", bits=bits), partial(self.set_all, bits), disabled=True)
            for bits in (8, 4, 2)
        ]
        self.result = widgets.HTML()
        self.plot = Plot(title=self._t("bits.title"), empty=self._t("waiting"), words=plot_words(lang))
        self.layer.observe(lambda _: self._draw(), "value")
        bench.on_small.append(self._other_base)
        self._base: Any = None
        form = card([widgets.HBox(self.all), self.sliders, self.status], "sx-form")
        self.root = beside(form, [card([self.result], "de-card"), card([self.layer, self.plot], "de-card")])

    def fresh(self, subject: Subject) -> None:
        self.bits, self.sliders.children, self._base = {}, (), None
        self.plot.figure = self.plot.summary = self.result.value = ""
        for one in self.all:
            one.disabled = True
        task = needs_task(self, subject)
        if task is None:
            return
        self._whole = task.accuracy(subject.network)
        texts = [self._t("bits.full"), *(str(n) for n in BITS[1:])]
        labels = labelled(subject.network)
        for name, label in labels.items():
            self.bits[name] = Slider(label=label, texts=texts, live=True)
            self.bits[name].observe(lambda _: self.changed(), "index")
        self.sliders.children = tuple(self.bits.values())
        offer(self.layer, [(label, name) for name, label in labels.items()], next(iter(self.bits)))
        for one in self.all:
            one.disabled = False
        self.changed()

    def set_all(self, bits: int) -> None:
        """The same bits for all layers."""
        for slider in self.bits.values():
            slider.index = BITS.index(bits)

    def changed(self) -> None:
        """A slider was moved: the network is rounded and measured anew, at the latest position."""
        self._latest.ask(None)

    def wait(self, timeout: float = 240.0) -> None:
        """Waits until the present position is measured (for tests)."""
        self._latest.wait(timeout)

    def _measure(self) -> None:
        subject = self.bench.subject
        if subject is None or subject.task is None or not self.bits:
            return
        try:
            chosen = {name: BITS[slider.index] for name, slider in self.bits.items()}
            self._base = self.bench.base
            self.bench.set_bits(chosen)
            self.accuracy = subject.task.accuracy(self.bench.small)
            self.bytes = packed_bytes(self._base, self.bench.bits)
            self._say(subject)
            self._draw()
        except Exception as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _other_base(self) -> None:
        """Filters were removed or came back."""
        if self.bits and self.bench.base is not self._base:
            self.changed()

    def _say(self, subject: Subject) -> None:
        from sampan import slim

        whole = slim.file_bytes(subject.network)
        figures = [
            ("accuracy", percent(self.accuracy)),
            ("lost", signed(100 * (self.accuracy - self._whole))),
            ("file", size(self.bytes)),
            ("share", f"{self.bytes / whole:.2f}"),
        ]
        said = self._t("bits.pruned" if self.bench.pruned is not None else "bits.said")
        self.result.value = (
            f'<div data-accuracy="{self.accuracy:.4f}" data-bytes="{self.bytes}" role="status">'
            + stats((key, self._t(f"figure.{key}"), text) for key, text in figures)
            + f'</div><p class="sp-muted sp-small">{escape(said)}</p>'
        )

    def _draw(self) -> None:
        layer = weighted(self.bench.base).get(self.layer.value) if self.bench.subject is not None else None
        if layer is None or self.layer.value not in self.bits:
            return
        bits = BITS[self.bits[self.layer.value].index]
        self.plot.figure = histogram(
            relative(layer),
            bits,
            self._t("bits.axis.weight"),
            self._t("bits.axis.count"),
            self._t("bits.level"),
        )
        key = (
            "bits.summary.full" if bits == FULL else "bits.summary" if bits <= DRAWN else "bits.summary.many"
        )
        self.plot.summary = self._t(key, levels=2**bits - 1)


def relative(layer: Any) -> NDArray[np.float32]:
    """The weights over the largest magnitude of their output channel: -1 to 1."""
    weights: NDArray[np.float32] = (layer.weight.numpy() / scales(layer)).ravel()
    return weights


def histogram(weights: NDArray[np.float32], bits: int, x: str, y: str, level: str) -> str:
    """The figure's JSON: how often weights are where, and a line at each level."""
    from sampan.quantization.base import largest

    counts, edges = np.histogram(weights, BINS, (-1.0, 1.0))
    top = float(counts.max()) * 1.05
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": ((edges[1:] + edges[:-1]) / 2).round(4).tolist(),
            "y": counts.tolist(),
            "width": 2 / BINS,
            "marker": {"color": "var(--sp-run-1)"},
            "hoverinfo": "x+y",
            "showlegend": False,
        }
    ]
    if bits <= DRAWN:
        most = largest(bits)
        at = [(k / most) for k in range(-most, most + 1)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": level,
                "x": [v for p in at for v in (p, p, None)],
                "y": [v for _ in at for v in (0.0, top, None)],
                "line": {"color": "var(--sp-run-2)", "width": 1.5},
                "hoverinfo": "skip",
                "showlegend": True,
            }
        )
    layout = {
        "height": 320,
        "bargap": 0,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"title": {"text": x}, "range": [-1.05, 1.05]},
        "yaxis": {"title": {"text": y}, "range": [0, top]},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    return json.dumps({"data": traces, "layout": layout})
