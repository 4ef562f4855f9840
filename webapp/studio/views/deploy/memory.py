"""The part "Memory" of the page "Deploy": from when to when each buffer of a run is needed, and what that is at once."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import ipywidgets as widgets

from ..common.figures import percent, size
from ..common.pieces import beside, card, choice, plot_words
from ..common.widgets import Plot, Slider
from .bench import Bench
from .part import DeployPart, stats
from .program import colour, kind_of
from .subject import Subject

BATCHES = (1, 4, 16, 64)
ROW, MOST_HEIGHT = 18, 520  # pixels of a row, and of all rows
LOWER, ARENA = 260, 300  # pixels of the lines with their axis and legend, and of the block of memory
NAMED = 32  # rows up to which each has its name


class MemoryPart(DeployPart):
    """`stage` is the one that is shown."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.stage: Any = None
        self.which = choice(
            self._t("field.program"),
            [(self._t("memory.recorded"), "recorded"), (self._t("memory.rewritten"), "rewritten")],
            "recorded",
        )
        self.rows = choice(
            self._t("memory.rows"),
            [(self._t("memory.rows.each"), "each"), (self._t("memory.rows.arena"), "arena")],
            "each",
        )
        self.batch = Slider(label=self._t("field.batch"), texts=[str(n) for n in BATCHES], index=0)
        self.said = widgets.HTML()
        self.plot = Plot(title=self._t("memory.title"), empty=self._t("waiting"), words=plot_words(lang))
        self.which.observe(lambda _: self._shown(), "value")
        self.rows.observe(lambda _: self._draw(), "value")
        self.batch.observe(lambda _: self._shown(), "index")
        about = widgets.HTML(f'<p class="sp-muted sp-small">{escape(self._t("memory.about"))}</p>')
        form = card([self.which, self.rows, self.batch, about, self.status], "sx-form")
        self.root = beside(form, [card([self.said, self.plot], "de-card")])

    def fresh(self, subject: Subject) -> None:
        from sampan.jit.arena import planned
        from sampan.jit.passes import PASSES
        from sampan.jit.stages import stages

        passes = list(PASSES) if self.which.value == "rewritten" else []
        stage = self.stage = stages(subject.network, [subject.inputs(BATCHES[self.batch.index])], passes)[-1]
        saved = 1 - stage.peak / stage.bytes if stage.bytes else 0.0
        sentence = self._t(
            "memory.said", peak=size(stage.peak), total=size(stage.bytes), share=percent(saved)
        )
        figures = [
            ("kept", size(stage.bytes)),
            ("arena", size(planned(stage.buffers)[1])),
            ("bound", size(stage.peak)),
        ]
        self.said.value = (
            f'<p class="sx-verdict" role="status" data-peak="{stage.peak}" data-total="{stage.bytes}">{escape(sentence)}</p>'
            + stats((key, self._t(f"figure.{key}"), text) for key, text in figures)
        )
        self._draw()

    def _draw(self) -> None:
        if self.stage is not None:
            self.plot.figure = timeline(self.stage, self.lang, arena=self.rows.value == "arena")
            self.plot.summary = self._t(f"memory.summary.{self.rows.value}")


def timeline(stage: Any, lang: str, arena: bool = False) -> str:
    """The figure's JSON: a bar for each buffer from its making to its last use, as thick as its bytes, in a row of its own or, for
    `arena`, at its addresses in one block; below it the bytes that are needed during each call."""
    from sampan.jit.arena import planned
    from sampan.jit.liveness import alive

    from .part import words

    calls, made = stage.program.calls, stage.buffers
    names = [calls[buffer.born].name for buffer in made]
    hover = [
        words(
            "memory.hover", lang, name=name, value=repr(buffer.values[0]), bytes=size(buffer.bytes),
            born=buffer.born + 1, last=min(buffer.last + 1, len(calls)),
        )
        for name, buffer in zip(names, made, strict=True)
    ]  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    if arena:
        offsets, block = planned(made)
        middles = [at + buffer.bytes / 2 for at, buffer in zip(offsets, made, strict=True)]
        widths = [float(buffer.bytes) for buffer in made]
        rows: dict[str, Any] = {
            "range": [0, 1.05 * block],
            "title": {"text": words("memory.axis.address", lang)},
            "tickformat": "~s",
        }
        height = ARENA + LOWER
    else:
        most = max((buffer.bytes for buffer in made), default=1) or 1
        middles = [float(row) for row in range(len(made))]
        widths = [max(0.95 * buffer.bytes / most, 0.12) for buffer in made]
        rows = {"autorange": "reversed", "tickfont": {"size": 10}, "showgrid": False}
        rows |= {"tickvals": middles, "ticktext": names} if len(made) <= NAMED else {"showticklabels": False}
        height = min(ROW * len(made), MOST_HEIGHT) + LOWER
    bars = {
        "type": "bar", "orientation": "h", "y": middles, "base": [buffer.born + 0.5 for buffer in made], "width": widths,
        "x": [min(buffer.last, len(calls) - 1) - buffer.born + 1 for buffer in made], "showlegend": False,
        "marker": {"color": [colour(kind_of(name)) for name in names], "line": {"color": "var(--sp-surface)", "width": 1}},
        "hovertext": hover, "hoverinfo": "text",
    }  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    needed = alive(made, len(calls))
    kept = [sum(buffer.bytes for buffer in made if buffer.born <= step) for step in range(len(calls))]
    lines = [
        _stairs(kept, words("memory.line.kept", lang), "var(--sp-soft)", "dot"),
        _stairs(needed, words("memory.line.freed", lang), "var(--sp-accent)", "solid"),
        {
            "type": "scatter", "mode": "lines", "x": [0.5, len(calls) + 0.5], "y": [stage.peak] * 2, "yaxis": "y2",
            "name": words("memory.line.bound", lang), "line": {"color": "var(--sp-bad)", "width": 1, "dash": "dash"},
            "hoverinfo": "name+y",
        },
    ]  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    lower = 170 / height
    layout = {
        "height": height, "bargap": 0, "barmode": "overlay", "hovermode": "closest", "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"title": {"text": words("memory.axis.step", lang), "standoff": 2}, "range": [0.5, len(calls) + 0.5], "anchor": "y2"},
        "yaxis": {"domain": [lower + 0.08, 1], **rows},
        "yaxis2": {"domain": [0, lower], "title": {"text": words("memory.axis.bytes", lang)}, "rangemode": "tozero", "tickformat": "~s"},
        "legend": {"orientation": "h", "y": -58 / (height - 16), "yanchor": "top", "x": 0},
    }  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    return json.dumps({"data": [bars, *lines], "layout": layout})


def _stairs(y: list[int], name: str, colour: str, dash: str) -> dict[str, Any]:
    """A level during each call."""
    return {
        "type": "scatter", "mode": "lines", "x": [step + 0.5 for step in range(len(y) + 1)], "y": [*y, *y[-1:]],
        "yaxis": "y2", "name": name, "line": {"color": colour, "width": 2, "dash": dash, "shape": "hv"}, "hoverinfo": "name+y",
    }  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
