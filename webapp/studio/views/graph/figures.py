"""What the page "Graph" shows, in the visitor's language: bytes for a GraphView, legends and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from studio.i18n import t

from ..common.figures import origin
from ..common.widgets import GraphView
from . import data
from .data import Shown
from .sample import Neighbourhood

SLOTS = 8  # colours of groups, see static/graph_view.js; slot 0 is for those without
HOP_SLOTS = (2, 1, 3, 5)  # of the chosen node, and of each hop
SILENT_SLOT = 6  # of nodes without a message in the layer
NAMED_GROUPS = {
    data.KARATE: ("instructor", "president"),
    data.TYPED: ("database", "data_mining", "ai", "retrieval"),
}
MOST_MARKS = 1_500  # edges that stand out
VIEW_WORDS = ("nearer", "farther", "reset", "keys")


def words(key: str, lang: str, **values: object) -> str:
    return t(f"graph.{key}", lang, **values)


def view(title: str, empty: str, lang: str, small: bool = False, choosable: bool = True) -> GraphView:
    made = GraphView(
        title=title,
        empty=empty,
        words={word: words(f"view.{word}", lang) for word in VIEW_WORDS},
        choosable=choosable,
    )
    if small:
        made.add_class("gr-small")
    return made


def slots_of(groups: Any, count: int) -> bytes:
    """A colour for each node: of its group, 0 for none; the first colour without groups."""
    if not len(groups):
        return bytes(np.ones(count, np.uint8))
    return bytes(np.where(groups < 0, 0, groups % SLOTS + 1).astype(np.uint8))


def radii_of(graph: Any) -> bytes:
    """Nodes with many edges are larger; in a large graph all are smaller."""
    degrees = np.bincount(graph.targets, minlength=graph.num_nodes) + np.bincount(
        graph.sources, minlength=graph.num_nodes
    )
    least = 7 if graph.num_nodes <= 300 else 4
    grown = least + 6 * np.sqrt(degrees / max(int(degrees.max(initial=0)), 1))
    return bytes(grown.astype(np.uint8))


def group_name(shown: Shown, group: int, lang: str) -> str:
    if group < 0:
        return words("group.none", lang)
    known = NAMED_GROUPS.get(shown.name, ())
    return (
        words(f"group.{known[group]}", lang) if group < len(known) else words("group", lang, number=group + 1)
    )


def legend(entries: Iterable[tuple[int, str]]) -> str:
    """entries: (slot, text)."""
    items = "".join(
        f'<li><span class="gr-swatch is-{slot}" aria-hidden="true"></span>{escape(text)}</li>'
        for slot, text in entries
    )
    return f'<ul class="gr-legend">{items}</ul>' if items else ""


def groups_legend(shown: Shown, lang: str) -> str:
    groups = np.unique(shown.groups).tolist()
    return legend((0 if g < 0 else g % SLOTS + 1, group_name(shown, g, lang)) for g in groups)


def hops_legend(found: Neighbourhood, marks: dict[str, Any], lang: str) -> str:
    """What the colours of `marks_of` say."""
    used = {slot for _, slot in marks["nodes"]}
    named = [words("legend.chosen", lang)]
    named += [words("legend.hop", lang, hop=hop) for hop in range(1, found.layers + 1)]
    entries = [*zip(HOP_SLOTS, named, strict=False), (SILENT_SLOT, words("legend.silent", lang))]
    return legend(entry for entry in entries if entry[0] in used)


def about(shown: Shown, drawn: int, count: int, lang: str) -> str:
    """Where a graph is from, how large it is, and how much of it is drawn."""
    sizes = words("facts", lang, nodes=f"{shown.graph.num_nodes:,}", edges=f"{shown.graph.num_edges:,}")
    if drawn < count:
        sizes += " " + words("facts.part", lang, drawn=f"{drawn:,}", count=f"{count:,}")
    attributes = (
        f'class="sx-about" data-graph="{escape(shown.name, quote=True)}" data-nodes="{shown.graph.num_nodes}"'
    )
    if shown.name in (*data.CITATIONS, data.RATINGS, data.TYPED):
        from sampan import datasets

        inner = origin(datasets.card(shown.name), sizes, words(f"about.{shown.name}", lang), lang)
    elif shown.name in data.BUNDLED:
        kind = "made" if shown.name == data.MADE else "real"
        tag = f'<span class="sp-tag">{escape(t(f"train.origin.{kind}", lang))}</span>'
        inner = f"<p>{tag} {escape(sizes)}</p><p>{escape(words(f'about.{shown.name}', lang))}</p>"
    else:
        tag = f'<span class="sp-tag">{escape(words("own", lang))}</span>'
        inner = f"<p>{tag} {escape(shown.name)}</p><p>{escape(sizes)}</p>"
    return f"<div {attributes}>{inner}</div>"


def marks_of(found: Neighbourhood, layer: int) -> tuple[dict[str, Any], int]:
    """(what stands out in a layer, how many edges were left out): nodes by hop, edges by the hop of their source."""
    hops = found.hops
    sources, targets = found.messages(layer)
    slot = {node: HOP_SLOTS[min(hop, len(HOP_SLOTS) - 1)] for node, hop in hops.items()}
    active = set(sources.tolist()) | set(targets.tolist()) | {found.node}
    shown_nodes = [
        [node, slot[node] if node in active else SILENT_SLOT] for node in found.nodes.tolist()[:MOST_MARKS]
    ]
    edges = [
        [a, b, slot[a]]
        for a, b in zip(sources[:MOST_MARKS].tolist(), targets[:MOST_MARKS].tolist(), strict=True)
    ]
    return {"nodes": shown_nodes, "edges": edges}, max(len(sources) - MOST_MARKS, 0)


def sample_table(found: Neighbourhood, names: Sequence[str], lang: str) -> str:
    """Hop after hop: the fan-out, the nodes found first there, the edges drawn, and some of the names."""
    rows = []
    ends = np.cumsum(found.node_counts)
    for hop, count in enumerate(found.node_counts):
        new = found.nodes[ends[hop] - count : ends[hop]].tolist()
        some = words("comma", lang).join(names[node] for node in new[:6]) + (" …" if len(new) > 6 else "")
        size = (
            "–" if not hop else words("all", lang) if found.fan_outs[hop - 1] < 0 else found.fan_outs[hop - 1]
        )
        edges = "–" if not hop else f"{found.edge_counts[hop - 1]:,}"
        slot = HOP_SLOTS[min(hop, len(HOP_SLOTS) - 1)]
        rows.append(
            f'<tr><th scope="row"><span class="gr-swatch is-{slot}" aria-hidden="true"></span>{hop}</th>'
            f'<td class="is-figure">{size}</td><td class="is-figure">{edges}</td><td class="is-figure">{count:,}</td>'
            f"<td>{escape(some)}</td></tr>"
        )
    heads = "".join(
        f'<th scope="col"{"" if key in ("hop", "names") else " class=is-figure"}>{escape(words(f"column.{key}", lang))}</th>'
        for key in ("hop", "fan_out", "edges", "new", "names")
    )
    return table(heads, rows, words("sample.table", lang))


def table(heads: str, rows: Sequence[str], label: str) -> str:
    return (
        f'<div class="sp-scroll" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">'
        f'<table class="sp-table"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def stats(figures: Sequence[tuple[str, str, str]]) -> str:
    """(key, name, value) as large figures."""
    inner = "".join(
        f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(name)}</span>'
        f'<span class="sp-value">{escape(text)}</span></div>'
        for key, name, text in figures
    )
    return f'<div class="sp-stats">{inner}</div>'
