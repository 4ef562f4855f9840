"""The part "Meta-paths" of the page "Graph": a path through the types of a graph, and how often it occurs."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from ..common.figures import duration_short, notice
from ..common.pieces import beside, button, card, choice, offer, text_field
from ..common.work import Latest
from . import data
from . import figures as show
from .walks import MOST_PAIRS, MOST_TEXT, BadPath, Count, check_begin, count, next_steps, parsed

FIRST = {
    data.TYPED: ("author → paper → author", "author → paper → venue → paper → author", "author → paper → term → paper → author"),
    data.MADE_TYPED: ("author → paper → author", "author → paper → venue → paper → author", "paper → cites → paper"),
}  # fmt: skip
_QUOTED = 60


class PathsPart:
    """`root` is the widget. `begin()` counts the first path; call it in a thread after the page is shown."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.count: Count | None = None
        self._ready = False
        self._latest: Latest[str] = Latest(self._count_or_say, name="paths")
        self.name = choice(self._t("field.typed"), [(self._t("loading"), "")], "")
        self.about = widgets.HTML()
        self.example = choice(self._t("field.example"), [("–", "")], "")
        self.path = text_field(self._t("field.path"), hint="author → paper → author")
        self.path.add_class("is-wide")
        self.step = choice(self._t("field.step"), [("–", "")], "")
        self.add = button(self._t("path.add"), self.append)
        self.remove = button(self._t("path.remove"), self.shorten)
        self.node = text_field(self._t("field.start"))
        self.message = self.status = widgets.HTML(notice(self._t("loading")))
        self.result = widgets.HTML()
        self.name.observe(lambda _: self._chosen(), "value")
        self.example.observe(lambda change: self._example(change["new"]), "value")
        self.path.observe(lambda _: self.ask(), "value")
        self.node.observe(lambda _: self.ask(), "value")
        self.root = self._layout()

    # ---- what the visitor does

    def ask(self) -> None:
        """Counts the present path."""
        if self._ready:
            self._latest.ask(self.path.value)

    def append(self) -> None:
        """One step more."""
        if self.step.value:
            self.path.value = (
                f"{self.path.value} → {self.step.value}" if self.path.value.strip() else self.step.value
            )

    def shorten(self) -> None:
        """One step less; a relation goes with the type that it leads to."""
        graph, _ = data.typed(self.name.value)
        names = parsed(self.path.value[:MOST_TEXT], graph)[:-1]
        while names and names[-1] not in graph.node_types:
            names = names[:-1]
        self.path.value = " → ".join(names)

    def begin(self) -> None:
        """Offers the graphs with types. Imports the library."""
        import sampan.graph  # noqa: F401  loads it while the page waits

        names = data.typed_available()
        offer(self.name, [(self._t(f"typed.{name}"), name) for name in names], names[0])

    def wait(self, timeout: float = 60.0) -> None:
        """Waits until no path is counted (for tests)."""
        self._latest.wait(timeout)

    # ---- the count

    def _chosen(self) -> None:
        if not self.name.value:
            return
        self._ready = False
        graph, names = data.typed(self.name.value)
        kinds = ", ".join(f"{kind} {size:,}" for kind, size in graph.node_types.items())
        edges = ", ".join(
            f"{' '.join(kind)} {relation.num_edges:,}" for kind, relation in graph.relations.items()
        )
        self.about.value = (
            f'<div class="sx-about"><p>{escape(self._t(f"typed.about.{self.name.value}"))}</p>'
            f"<p>{escape(self._t('typed.nodes', kinds=kinds))}</p><p>{escape(self._t('typed.edges', edges=edges))}</p></div>"
        )
        self.node.value = ""
        self.node.placeholder = names["author"][0]
        examples = FIRST[self.name.value]
        offer(self.example, [(path, path) for path in examples], examples[0])
        self._ready = True
        if self.path.value == examples[0]:
            self.ask()
        else:
            self.path.value = examples[0]

    def _example(self, path: str) -> None:
        if path and self._ready:
            self.path.value = path

    def _count_or_say(self, text: str) -> None:
        try:
            graph, names = data.typed(self.name.value)
            path = parsed(text, graph)
            self._offer_steps(graph, path)
            found = self._counted(graph, names, path)
        except BadPath as error:
            shown = text if len(text) <= _QUOTED else f"{text[:_QUOTED]} …"
            self._refuse(
                self._t("error.path", path=shown), more=self._t(f"path.{error.reason}", **error.values)
            )
            return
        except Exception as error:  # the visitor does not see the kernel's log
            self._refuse(self._t("error.graph"), f"{type(error).__name__}: {error}")
            return
        if found is not None:
            self.count, self.message.value = found, ""
            self.result.value = self._shown(found, names)

    def _counted(self, graph: Any, names: dict[str, list[str]], path: list[str]) -> Count | None:
        wanted, node = self.node.value.strip().casefold(), 0
        check_begin(graph, path)
        if wanted:
            own = names[path[0]]
            near = [i for i, name in enumerate(own) if name.casefold() == wanted]
            near = near or [i for i, name in enumerate(own) if wanted in name.casefold()]
            if not near:
                self._refuse(self._t("error.start", name=self.node.value[:_QUOTED], kind=path[0]))
                return None
            node = near[0]
        return count(graph, path, node)

    def _offer_steps(self, graph: Any, path: list[str]) -> None:
        """The steps that lead on from the end of the path, or its possible beginnings."""
        last = path[-1] if path else ""
        if last in graph.node_types:
            steps = next_steps(graph, last)
            kinds = [kind for _, kind in steps]
            found = [
                (f"{relation} → {kind}", kind if kinds.count(kind) == 1 else f"{relation} → {kind}")
                for relation, kind in steps
            ]
        else:
            found = [(kind, kind) for kind in graph.node_types]
        self.step.options = list(dict.fromkeys(found)) or [("–", "")]

    def _refuse(self, sentence: str, detail: str = "", more: str = "") -> None:
        self.message.value = notice(sentence, bad=True, more=more, detail=detail, lang=self.lang)
        self.result.value, self.count = "", None

    def _shown(self, found: Count, names: dict[str, list[str]]) -> str:
        begins, ends = names[found.path[0]], names[found.path[-1]]
        pairs = f"> {MOST_PAIRS:,}" if found.pairs is None else f"{found.pairs:,}"
        instances = f"{found.instances:,.0f}" if found.instances < 1e15 else f"{found.instances:.3g}"
        figures = [
            ("instances", self._t("figure.instances"), instances),
            ("pairs", self._t("figure.pairs"), pairs if found.pairs is not None else self._t("figure.many")),
            ("seconds", self._t("figure.time"), duration_short(found.seconds)),
        ]
        top = found.top()
        most = max((number for _, number in top), default=1)
        rows = [
            f'<li data-label="{escape(ends[node], quote=True)}"><span>{escape(ends[node])}</span>'
            f'<span class="sp-track" aria-hidden="true"><span class="sp-bar" style="width:{100 * number / most:.0f}%"></span></span>'
            f'<span class="sp-number">{number:,}</span></li>'
            for node, number in top
        ]
        key = "path.top" if top else "path.nowhere"
        heading = escape(self._t(key, name=begins[found.node], kind=found.path[-1]))
        return (
            f'<div class="gr-count" data-instances="{found.instances:.0f}" data-pairs="{found.pairs}">'
            f'<p class="gr-path">{escape(" → ".join(found.path))}</p>{show.stats(figures)}'
            f'<h3>{heading}</h3><ol class="em-list">{"".join(rows)}</ol></div>'
        )

    # ---- layout

    def _layout(self) -> widgets.Widget:
        form = card([self.name, self.about, self.example, self.node], "sx-form")
        row = widgets.Box([self.path])
        more = widgets.Box([self.step, self.add, self.remove])
        for box in (row, more):
            box.add_class("gr-row")
        lead = widgets.HTML(f'<p class="sp-muted sp-small">{self._t("path.rules")}</p>')
        return beside(form, [card([row, more, lead, self.message, self.result], "gr-card")])

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)
