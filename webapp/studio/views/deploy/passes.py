"""The part "Passes" of the page "Deploy": the Program of the network as it was recorded, and after each pass."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from ..common.figures import size
from ..common.pieces import card, plot_words
from ..common.widgets import Plot, Slider
from . import program
from .bench import Bench
from .part import DeployPart, known, named, sentences, stats
from .subject import Subject


class PassesPart(DeployPart):
    """`stages` are those of the library for a batch of one."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.stages: list[Any] = []
        self._pictures: list[str] = []
        self.slider = Slider(label=self._t("passes.slider"), texts=[self._t("pass.recorded")], live=True)
        self.status.value, waiting = "", escape(self._t("waiting"))
        self.said = widgets.HTML(f'<p class="sx-verdict de-said" role="status">{waiting}</p>')
        self.plot = Plot(title=self._t("passes.title"), empty=self._t("waiting"), words=plot_words(lang))
        self.legend = widgets.HTML()
        self.counts = widgets.HTML()
        self.slider.observe(lambda _: self._draw(), "index")
        self.root = card(
            [self.slider, self.said, self.plot, self.legend, self.counts, self.status], "de-card"
        )

    def fresh(self, subject: Subject) -> None:
        from sampan.jit.stages import stages

        self.stages = stages(subject.network, [subject.inputs(1)])
        first = self.stages[0]
        self._pictures = [program.picture(first, stage, self.lang) for stage in self.stages]
        with self.slider.hold_sync():
            self.slider.texts = [program.pass_name(stage.name, self.lang) for stage in self.stages]
            self.slider.index = 0
        self._draw()

    def _draw(self) -> None:
        if not self.stages or not 0 <= self.slider.index < len(self.stages):
            return
        first, stage = self.stages[0], self.stages[self.slider.index]
        before = self.stages[max(self.slider.index - 1, 0)]
        fewer = len(before.program.calls) - len(stage.program.calls)
        said = known(f"about.{stage.name or 'recorded'}", self.lang, self._t("about.other"))
        changed = "" if not stage.name else self._t("passes.fewer" if fewer else "passes.same", count=fewer)
        self.said.value = (
            f'<p class="sx-verdict de-said" role="status" data-pass="{escape(stage.name or "recorded")}" data-calls="{len(stage.program.calls)}">'
            f"{escape(sentences(self.lang, said, changed))}</p>"
        )
        self.plot.figure = self._pictures[self.slider.index]
        self.plot.summary = self._t(
            "passes.summary", name=named(self.bench.subject, self.lang) if self.bench.subject else ""
        )
        self.legend.value = program.legend(stage, self.lang)
        figures = [
            ("calls", f"{len(stage.program.calls)} / {len(first.program.calls)}"),
            ("bytes", f"{size(stage.bytes)} / {size(first.bytes)}"),
            ("peak", f"{size(stage.peak)} / {size(first.peak)}"),
            ("joined", str(len(program.joined(first, stage)))),
        ]
        lines = escape(program.listing(stage))
        self.counts.value = (
            stats((key, self._t(f"figure.{key}"), text) for key, text in figures)
            + f'<details class="de-listing"><summary>{escape(self._t("passes.listing"))}</summary><pre tabindex="0">{lines}</pre></details>'
        )
