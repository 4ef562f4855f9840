"""The part "Explore a graph" of the page "Graph": choose or upload one, see it, and see the messages that a node receives.

Only the latest graph is placed; the places are found in a thread, and drawn while they are.
"""

from __future__ import annotations

import threading
from typing import Any

import ipywidgets as widgets
import numpy as np

from ..common.figures import bar, notice
from ..common.pieces import beside, button, card, choice, facts, offer, text_field
from ..common.widgets import FileField, Slider
from ..common.work import Latest
from . import data, upload
from . import figures as show
from .data import Shown
from .layout import Layout
from .sample import Neighbourhood, neighbourhood

FAN_OUTS = (2, 5, 10, 25, -1)
_QUOTED = 40


class ExplorePart:
    """`root` is the widget. `begin()` offers the graphs and shows the first; call it in a thread after the page is
    shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.shown: Shown | None = None
        self.layout: Layout | None = None
        self.found: Neighbourhood | None = None
        self._lock = threading.RLock()
        self._ready = False
        self._draws = 0  # how often a neighbourhood was drawn: the seed of the next
        self._own: Shown | None = None
        self._latest: Latest[str] = Latest(self._load_or_say, self._stop_layout, name="graph")
        self.name = choice(
            self._t("field.graph"), [(self._t(f"graph.{data.KARATE}"), data.KARATE)], data.KARATE
        )
        self.file = FileField(label=self._t("field.file"), accept=upload.ENDINGS, most=upload.MOST_BYTES)
        self.about = facts()
        self.message = widgets.HTML()
        sizes = [(self._t("all") if size < 0 else str(size), size) for size in FAN_OUTS]
        self.fan_outs = [
            choice(
                self._t("field.fan_out", hop=hop), sizes if hop == 1 else [(self._t("none"), 0), *sizes], size
            )
            for hop, size in ((1, 10), (2, 5), (3, 0))
        ]
        self.node = text_field(self._t("field.node"), hint=self._t("hint.node"))
        self.again = button(self._t("again"), self.draw_again, disabled=True)
        self.view = show.view(self._t("view.title"), self._t("loading"), lang)
        self.legend = widgets.HTML()
        self.status = widgets.HTML(notice(self._t("loading")))
        self.layer = Slider(label=self._t("field.layer"), texts=[self._t("layer.none")], live=True)
        self.said = widgets.HTML(f'<p class="sp-muted">{self._t("sample.empty")}</p>')
        self.name.observe(lambda _: self.ask(), "value")
        self.file.on_msg(self._file)
        self.view.observe(lambda change: self.choose(change["new"]), "selected")
        self.node.observe(lambda _: self._named(), "value")
        for field in self.fan_outs:
            field.observe(lambda _: self._sample(), "value")
        self.layer.observe(lambda _: self._say(), "index")
        self.root = self._layout()

    # ---- what the visitor does

    def ask(self) -> None:
        """Shows the chosen graph."""
        if self._ready and self.name.value:
            self._latest.ask(self.name.value)

    def choose(self, node: int) -> None:
        """Draws the neighbourhood of a node; -1 for none."""
        with self._lock:
            if self.shown is not None and node < self.shown.graph.num_nodes:
                if self.view.selected != node:
                    self.view.selected = node  # which calls this again
                    return
                self._sample()

    def draw_again(self) -> None:
        """Draws another sample of the same size."""
        self._draws += 1
        self._sample()

    def upload(self, content: bytes, name: str) -> None:
        """Shows the visitor's own graph, or says what is wrong with the file."""
        name = name[:_QUOTED] or self._t("own")
        try:
            self._own = upload.read_edges(content, name)
        except upload.BadFile as error:
            self._refuse(self._t(f"upload.{error.reason}", **error.values))
            return
        except Exception as error:  # the visitor does not see the kernel's log
            self._refuse(self._t("error.graph"), f"{type(error).__name__}: {error}")
            return
        self._offer()
        if self.name.value == "own":
            self.ask()
        else:
            self.name.value = "own"

    def begin(self) -> None:
        """Offers the graphs on this machine, and shows the first. Imports the library."""
        import sampan.graph  # noqa: F401  loads it while the page waits

        self._offer()
        self.status.value = ""
        self._ready = True
        self.ask()

    def wait(self, timeout: float = 60.0) -> None:
        """Waits until the graph has its places (for tests)."""
        self._latest.wait(timeout)

    # ---- the graph

    def _offer(self) -> None:
        present, self._ready, ready = self.name.value, False, self._ready
        options = [(self._t(f"graph.{name}"), name) for name in data.available()]
        offer(self.name, [*options, *([(self._own.name, "own")] if self._own else [])], present)
        self._ready = ready

    def _file(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        if "too_large" in message:
            self._refuse(
                self._t("upload.bytes", count=f"{int(message['too_large']):,}", most=f"{upload.MOST_BYTES:,}")
            )
        elif self._ready:
            self.upload(self.file.content, self.file.name)

    def _load_or_say(self, name: str) -> None:
        try:
            self._load(name)
        except Exception as error:  # the visitor does not see the kernel's log
            self._refuse(self._t("error.graph"), f"{type(error).__name__}: {error}")
            self.status.value = ""

    def _load(self, name: str) -> None:
        self.message.value = ""
        self.status.value = bar("loading", self._t("reading"), None, self._t("reading"))
        shown = data.load(name) if name != "own" or self._own is None else self._own
        ends, count = shown.drawn()
        with self._lock:
            self.shown, self.found = shown, None
            self.about.value = show.about(shown, len(ends), count, self.lang)
            self.legend.value = show.groups_legend(shown, self.lang)
            self.again.disabled = True
            self.said.value = f'<p class="sp-muted">{self._t("sample.empty")}</p>'
            self.node.value, self.node.placeholder = "", self._t("hint.such", name=shown.names[0])
            with self.view.hold_sync():
                self.view.selected, self.view.marks = -1, {}
                self.view.names = shown.names
                self.view.points = self.view.ends = b""
                self.view.slots = show.slots_of(shown.groups, shown.graph.num_nodes)
                self.view.radii = show.radii_of(shown.graph)
            self.layout = Layout(ends, shown.graph.num_nodes, self._placed)
            self._ends = ends.tobytes()
        if self._latest.waits:
            return
        self.layout.start().join()
        self.status.value = ""
        if self.layout.state == "failed":
            self._refuse(self._t("error.layout"), self.layout.error)

    def _placed(self, layout: Layout) -> None:
        if layout is not self.layout or not len(layout.points):
            return
        with self.view.hold_sync():
            self.view.points, self.view.ends = layout.points.tobytes(), self._ends
            self.view.summary = self._t("view.summary", nodes=f"{len(layout.points):,}")
        self.status.value = bar("running", self._t("placing"), layout.fraction, self._t("placing"))

    def _stop_layout(self) -> None:
        if self.layout is not None:
            self.layout.cancel()

    # ---- a node's neighbourhood

    def _named(self) -> None:
        """The node whose name was typed."""
        with self._lock:
            wanted = self.node.value.strip()
            if not wanted or self.shown is None:
                return
            folded = wanted.casefold()
            exact = [i for i, name in enumerate(self.shown.names) if name.casefold() == folded]
            near = exact or [i for i, name in enumerate(self.shown.names) if folded in name.casefold()]
            if not near:
                self.message.value = notice(self._t("error.node", name=wanted[:_QUOTED]), bad=True)
                return
            self.message.value = ""
            self.choose(near[0])

    def _sample(self) -> None:
        with self._lock:
            node = self.view.selected
            if self.shown is None or not 0 <= node < self.shown.graph.num_nodes:
                self.found = None
                self.view.marks = {}
                self.legend.value = show.groups_legend(self.shown, self.lang) if self.shown else ""
                self.again.disabled = True
                self.said.value = f'<p class="sp-muted">{self._t("sample.empty")}</p>'
                return
            sizes = [field.value for field in self.fan_outs]
            sizes = (
                sizes[: sizes.index(0)] if 0 in sizes else sizes
            )  # a hop after none has nothing to begin with
            self.found = neighbourhood(self.shown.graph, node, sizes, self._draws)
            self.again.disabled = False
            self.layer.texts = [
                self._t("layer.none"),
                *(f"{n} / {len(sizes)}" for n in range(1, len(sizes) + 1)),
            ]
            self.layer.index = min(self.layer.index, len(sizes))
            self._say()

    def _say(self) -> None:
        """The sample, or the messages of the chosen layer, in the view and in words."""
        with self._lock:
            found, shown = self.found, self.shown
            if found is None or shown is None:
                return
            layer = min(self.layer.index, found.layers)
            self.view.marks, left = show.marks_of(found, layer)
            self.legend.value = show.hops_legend(found, self.view.marks, self.lang)
            sources, targets = found.messages(layer)
            name = shown.names[found.node]
            receivers = len(np.unique(targets))
            if not len(found.sources):
                sentence = self._t("said.alone", name=name)
            elif layer:
                key = "said.last" if layer == found.layers else "said.layer"
                sentence = self._t(
                    key, layer=layer, messages=f"{len(sources):,}", receivers=f"{receivers:,}", name=name
                )
            else:
                sentence = self._t(
                    "said.sample", name=name, edges=f"{len(found.sources):,}", nodes=f"{len(found.nodes):,}",
                    all=f"{int((np.asarray(shown.graph.targets) == found.node).sum()):,}",
                )  # fmt: skip
            if left:
                sentence += " " + self._t("said.left", count=f"{left:,}")
            verdict = f'<p class="sx-verdict" role="status">{show.escape(sentence)}</p>'
            self.said.value = (
                f'<div class="gr-sample" data-node="{found.node}" data-layer="{layer}" data-messages="{len(sources)}">'
                f"{verdict}{show.sample_table(found, shown.names, self.lang)}</div>"
            )

    def _refuse(self, sentence: str, detail: str = "") -> None:
        self.message.value = notice(sentence, bad=True, detail=detail, lang=self.lang)

    # ---- layout

    def _layout(self) -> widgets.Widget:
        apart = widgets.HTML(
            f'<h3>{self._t("heading.sample")}</h3><p class="sp-muted sp-small">{self._t("about.sample")}</p>'
        )
        rules = widgets.HTML(
            f'<p class="sp-muted sp-small">{self._t("upload.rules", edges=f"{upload.MOST_EDGES:,}")}</p>'
        )
        form = card(
            [
                self.name,
                self.about,
                self.file,
                rules,
                self.message,
                apart,
                self.node,
                *self.fan_outs,
                self.again,
            ],
            "sx-form",
        )
        seen = card([self.status, self.view, self.legend], "gr-card")
        return beside(form, [seen, card([self.layer, self.said], "gr-card")])

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)
