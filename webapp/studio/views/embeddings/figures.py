"""What the page "Embeddings" shows, in the visitor's language: the library's map with translated labels, and plain
HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.i18n import t

from ..common.figures import bar, duration
from .training import Table, VectorRun

NAMED, CANDIDATES, LABEL = (
    30,
    120,
    26,
)  # points with a label while none is marked, of so many; characters of a label
LABELLED = 6  # labelled points among the marked ones: more would overlap
DOT, LARGE, COLD, MARK = (
    3,
    9,
    6,
    8,
)  # pixels of the rarest point, of the most frequent, of a cold one, of one that is marked
EYE = np.array([1.2, -1.4, 0.7])  # from where the library's map is seen at first
HEIGHT = 460  # pixels
LONGEST = 1.6  # of the axes, as plotly measures a scene
INK = "#1f2a37"  # of light paper; static/plot.js has the theme's


def words(key: str, lang: str, **values: object) -> str:
    return t(f"embeddings.{key}", lang, **values)


# --- the map --------------------------------------------------------------------------------------------------


def map_of(
    table: Table,
    numbers: NDArray[np.int64],
    points: NDArray[np.float32],
    marked: Sequence[int],
    groups: Sequence[str] | None,
    tsne: bool,
    kind: str,
    lang: str,
) -> tuple[str, str]:
    """(the figure's JSON, what it shows): rows `numbers` of a table at `points` [n, 3]."""
    from sampan.visual.embeddings import OTHERS, vector_map

    labels = [table.labels[i] for i in numbers]
    place = {int(number): at for at, number in enumerate(numbers)}
    here = [place[number] for number in marked if number in place]
    drawn = vector_map(points, labels, None if groups is None else [groups[i] for i in numbers], here)
    drawn.update_layout(height=HEIGHT, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    sizes = _sizes(table.counts[numbers])
    members = [trace.customdata for trace in drawn.data]
    figure = json.loads(drawn.to_json())
    for trace, its in zip(figure["data"], members, strict=True):
        trace["customdata"] = [int(at) for at in its]
        if trace.get("name") == OTHERS:
            trace["name"] = words("map.others", lang)
        marks = trace["mode"] == "markers+text"
        trace["mode"] = "markers"
        trace["marker"]["size"] = MARK if marks else [sizes[at] for at in trace["customdata"]]
        if trace.get("name") == words("cold.group.cold", lang):  # few among many: easy to see
            trace["marker"] |= {"size": COLD, "opacity": 1}
    scene = figure["layout"]["scene"]
    spans = np.maximum(np.ptp(points, axis=0), 1e-9)
    wide = [
        float(span) for span in LONGEST * spans / spans.max()
    ]  # one scale for all axes, and all points inside the frame
    scene |= {"aspectmode": "manual", "aspectratio": dict(zip("xyz", wide, strict=True))}
    scene["annotations"] = [
        _name(points[at], labels[at]) for at in (here[:LABELLED] or _apart(points, labels, wide))
    ]
    said = [words(f"{kind}.map.shown", lang, shown=f"{len(numbers):,}", all=f"{len(table.labels):,}")]
    if tsne:
        said.append(words("map.tsne", lang))
    else:
        spread = float(table.vectors[numbers].var(0).sum())
        kept = float(points.var(0).sum()) / spread if spread > 0 else 1.0
        said.append(words("map.pca", lang, share=f"{100 * min(kept, 1):.0f} %"))
    if len(here) < len(marked):
        said.append(words("map.missing", lang, count=len(marked) - len(here)))
    return json.dumps(figure), " ".join(said)


def _sizes(counts: NDArray[np.int64]) -> list[float]:
    """Pixels of points, by the logarithm of how often each is in the data."""
    logs = np.log1p(counts.astype(np.float64))
    low, high = float(logs.min()), float(logs.max())
    return [round(float(size), 1) for size in np.interp(logs, [low, max(high, low + 1e-9)], [DOT, LARGE])]


def _apart(points: NDArray[np.float32], labels: Sequence[str], wide: Sequence[float]) -> list[int]:
    """The points to name: the most frequent ones, which come first, if their label overlaps none before it from where
    the map is seen at first."""
    x, y = _on_screen(points, np.array(wide))
    taken: list[tuple[float, float, float]] = []  # the middle of a label, and half its width
    chosen = []
    for at in range(min(CANDIDATES, len(points))):
        half = 3.4 * sum(2 if ord(letter) > 0x2E7F else 1 for letter in labels[at][:LABEL]) + 4
        if all(abs(x[at] - left) > half + other or abs(y[at] - top) > 17 for left, top, other in taken):
            taken.append((float(x[at]), float(y[at]), half))
            chosen.append(at)
            if len(chosen) == NAMED:
                break
    return chosen


def _on_screen(
    points: NDArray[np.float32], wide: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pixels from the middle of the picture, as plotly's camera shows the points: it looks at the middle of the box,
    whose sides are `wide`, through a lens of 45 degrees."""
    low, high = points.min(0), points.max(0)
    places = ((points - (low + high) / 2) / np.maximum(high - low, 1e-9)) * wide
    forward = -EYE / np.linalg.norm(EYE)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    seen = places - EYE
    scale = HEIGHT / 2 / (np.tan(np.pi / 8) * np.maximum(seen @ forward, 0.1))
    return (seen @ right) * scale, (seen @ np.cross(right, forward)) * scale


def _name(point: NDArray[np.float32], label: str) -> dict[str, Any]:
    """A label beside its point, of constant size."""
    said = label if len(label) <= LABEL else label[: LABEL - 1].rstrip() + "…"
    x, y, z = (float(value) for value in point)
    return {
        "x": x, "y": y, "z": z, "text": escape(said, quote=False), "showarrow": False, "yshift": 12, "opacity": 0.85,
        "bgcolor": "var(--sp-surface)", "borderpad": 1, "font": {"size": 11, "color": INK},
    }  # fmt: skip


# --- lists ----------------------------------------------------------------------------------------------------


def own(label: str, language: str, lang: str) -> str:
    """A name that comes from the data, marked where its language is not the page's."""
    said = escape(label)
    return (
        said
        if language == lang
        else f'<span lang="{"zh-Hans" if language == "zh" else language}">{said}</span>'
    )


def ranked(
    pairs: Sequence[tuple[str, float]],
    heading: str,
    kind: str,
    language: str,
    lang: str,
    cold: Iterable[str] = (),
) -> str:
    """A list of (label, cosine), nearest first, under its heading. cold: labels that are marked so."""
    rare = set(cold)
    lines = []
    for label, cosine in pairs:
        width = 100 * max(min(cosine, 1.0), 0.0)
        tag = f' <span class="sp-tag">{escape(words("cold.tag", lang))}</span>' if label in rare else ""
        lines.append(
            f'<li data-label="{escape(label, quote=True)}" data-cosine="{cosine:.4f}"><span>{own(label, language, lang)}{tag}</span>'
            f'<span class="sp-track"><span class="sp-bar" style="width:{width:.1f}%"></span></span>'
            f'<span class="sp-number">{cosine:.3f}</span></li>'
        )
    return (
        f'<div class="em-found" data-kind="{kind}" role="status"><p class="em-answer">{heading}</p>'
        f'<ol class="em-list">{"".join(lines)}</ol></div>'
    )


def films(
    heading: str, lines: Sequence[tuple[str, str, bool]], kind: str, language: str, lang: str, note: str = ""
) -> str:
    """A list of films (title, note, whether highlighted) under a heading."""
    items = "".join(
        f'<li class="{"is-hit" if hit else ""}"><span>{own(title, language, lang)}</span>'
        f'<span class="sp-number">{escape(said)}</span></li>'
        for title, said, hit in lines
    )
    below = f'<p class="sp-muted sp-small">{escape(note)}</p>' if note else ""
    return (
        f'<div class="em-found" data-kind="{kind}"><h3>{escape(heading)}</h3>'
        f'<ol class="em-list em-films">{items}</ol>{below}</div>'
    )


def ended_early(run: VectorRun, lang: str) -> str:
    """The sentence for a run without a map."""
    return words(f"train.{run.state}_early", lang)


# --- a run ----------------------------------------------------------------------------------------------------


def training(run: VectorRun, kind: str, figures: Sequence[tuple[str, str]], lang: str) -> str:
    """The bar with its sentence, and figures (key, value) under it."""
    left = run.seconds_left
    key = run.state if run.state != "running" or left is not None else "begun"
    if run.state == "loading":
        said = words(f"{kind}.loading", lang)
    elif run.table is None and run.state in ("cancelled", "failed"):
        said = ended_early(run, lang)
    else:
        said = words(
            f"train.{key}", lang, epoch=run.epoch, epochs=run.epochs, time=duration(run.seconds, lang),
            left="" if left is None else duration(left, lang),
        )  # fmt: skip
    named = [(name, words(f"figure.{name}", lang), text) for name, text in figures]
    return bar(
        run.state,
        said,
        None if run.state == "loading" else run.fraction,
        words("train.progress", lang),
        named,
    )
