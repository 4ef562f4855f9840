"""The part "Speed" of the page "Deploy": the same network by several engines, measured in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

import ipywidgets as widgets

from ..common.figures import duration_short, notice
from ..common.pieces import beside, card
from ..common.widgets import Slider
from . import files
from .bench import Bench
from .files import Files
from .part import DeployPart, Step, measured, named, table
from .subject import Subject

BATCHES = (8, 32, 128)
ENGINES = ("eager", "replay", "onnxruntime", "int8")
ROUNDS, EACH = 9, 3  # medians of so many rounds are taken so many times


class SpeedPart(DeployPart):
    """`times`: seconds of a call by batch size, then engine; `missing`: why an engine was not measured."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.times: dict[int, dict[str, float]] = {}
        self.missing: dict[str, str] = {}
        self.batch = Slider(label=self._t("field.batch"), texts=[str(n) for n in BATCHES], index=1)
        buttons = self._buttons(self._t("speed.start"), self.measure)
        self.result = widgets.HTML(self._empty())
        about = widgets.HTML(f'<p class="sp-muted sp-small">{escape(self._t("speed.about"))}</p>')
        form = card([self.batch, about, buttons, self.status], "sx-form")
        self.root = beside(form, [card([self.result], "de-card")])

    def fresh(self, subject: Subject) -> None:
        self.result.value = self._empty()
        self.start.disabled = False

    def measure(self) -> None:
        """Saves the network, opens it in each engine and measures."""
        subject, network = self.bench.subject, self.bench.base
        if subject is None:
            return
        times: dict[int, dict[str, float]] = {}
        missing: dict[str, str] = {}
        batches = (1, BATCHES[self.batch.index])

        def done() -> None:
            self.times, self.missing = times, missing
            if times:
                self.result.value = self._said(subject)

        self._do(compared(subject, network, batches, times, missing), done)

    def _said(self, subject: Subject) -> str:
        import torch

        head = [self._t("speed.engine"), *(self._t("speed.batch", count=batch) for batch in self.times)]
        rows = []
        for engine in ENGINES:
            cells = []
            for found in self.times.values():
                if engine in found:
                    ratio = f"{found[engine] / found['eager']:.2f}"
                    text = f"{duration_short(found[engine])} · {ratio}"
                    kind = "dense" if engine == "eager" else "sparse"
                    cells.append(measured(found[engine], max(found.values()), text, kind))
                else:
                    cells.append(escape(self._t("speed.none")))
            rows.append((self._t(f"speed.engine.{engine}"), cells))
        large = self.times[max(self.times)]
        best = min(large, key=large.__getitem__)
        verdict = self._t(
            "speed.said",
            engine=self._t(f"speed.engine.{best}"),
            batch=max(self.times),
            ratio=f"{large[best] / large['eager']:.2f}",
        )
        notes = "".join(
            notice(
                self._t("speed.missing", engine=self._t(f"speed.engine.{engine}")), detail=why, lang=self.lang
            )
            for engine, why in self.missing.items()
        )
        method = self._t(
            "speed.method", rounds=ROUNDS * EACH, threads=torch.get_num_threads(), machine=machine()
        )
        caption = self._t("speed.caption", name=named(subject, self.lang))
        return (
            f'<div class="de-speed" data-engines="{" ".join(large)}"><p class="sx-verdict" role="status">{escape(verdict)}</p>'
            f'{table(head, rows, caption)}{notes}<p class="sp-muted sp-small">{escape(method)}</p></div>'
        )

    def _empty(self) -> str:
        return f'<p class="sp-muted">{escape(self._t("speed.empty"))}</p>'


def compared(
    subject: Subject,
    network: Any,
    batches: tuple[int, ...],
    times: dict[int, dict[str, float]],
    missing: dict[str, str],
) -> Iterator[Step]:
    """Measures in steps. Each round calls every engine in turn, because the machine may be busier at one time than at
    another; what is found is put into `times` and `missing`."""
    from sampan import slim

    with tempfile.TemporaryDirectory(prefix="sampan-deploy-") as folder:
        saved: list[Files] = []
        engines: dict[str, Callable[[Any], Any]] = {"eager": network}
        for doing, share in files.save(subject, network, Path(folder), "network", saved):
            yield doing, 0.35 * share
        engines["replay"] = files.predictor(saved[0])
        try:
            engines["onnxruntime"] = files.predictor(saved[0], onnxruntime=True)
        except ImportError as error:
            missing["onnxruntime"] = str(error)
        yield "quantising", 0.4
        small = files.int8(subject, network)
        for doing, share in files.save(subject, small, Path(folder), "int8", saved):
            yield doing, 0.4 + 0.3 * share
        engines["int8"] = files.predictor(saved[1])
        for place, batch in enumerate(batches):
            given, medians = subject.inputs(batch), dict[str, list[float]]()
            for turn in range(EACH):
                found = slim.latencies(list(engines.values()), [given], ROUNDS)
                for engine, seconds in zip(engines, found, strict=True):
                    medians.setdefault(engine, []).append(seconds)
                yield "measuring", 0.7 + 0.3 * (place + (turn + 1) / EACH) / len(batches)
            times[batch] = {engine: median(seconds) for engine, seconds in medians.items()}


def machine() -> str:
    """The processor of this machine."""
    import platform

    facts = Path("/proc/cpuinfo")
    lines = facts.read_text("utf-8").splitlines() if facts.exists() else []
    named_so = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (named_so or [platform.processor() or platform.machine()])[0]
