"""What the page "Sparse" shows, in the visitor's language: the library's figures with translated labels, and plain
HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from studio.i18n import t

from ..common.figures import bar, duration, duration_short
from ..common.figures import percent as percent
from ..common.figures import size as size
from .matrices import Matrix
from .measure import Measurement, Row, Side
from .shapes import Shape
from .training import Standing

# The page's colours, which change with its theme (static/plot.js): from almost empty to full, sparse and dense.
SCALE = [[0, "var(--sp-water)"], [1, "var(--sp-accent)"]]
LINES = {"sparse": "var(--sp-run-1)", "dense": "var(--sp-run-2)"}

ALIKE = 1.1  # ratios closer to one than this count as equal


def words(key: str, lang: str, **values: object) -> str:
    return t(f"sparse.{key}", lang, **values)


def share(density: float) -> str:
    """0.00002 -> "0.002 %", 0.5 -> "50 %", with a no-break space."""
    return f"{100 * density:.3g}\u00a0%" if density >= 1e-6 else f"{100 * density:.1g}\u00a0%"


def large(number: float) -> str:
    """13,935; larger numbers as 2.1e9."""
    return f"{number:,.0f}" if number < 1e9 else f"{number:.2g}"


def ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


# --- a matrix and what it costs -------------------------------------------------------------------------------


def facts(matrix: Matrix, lang: str) -> str:
    """The origin and size of a matrix."""
    rows, columns = matrix.csr.shape
    line = words(
        "facts",
        lang,
        rows=f"{rows:,}",
        columns=f"{columns:,}",
        entries=f"{matrix.csr.nnz:,}",
        share=share(matrix.density),
    )
    good, origin = (" is-good", "real") if matrix.real else ("", "made")
    return (
        f'<div class="sx-about" data-matrix="{matrix.name}" data-entries="{matrix.csr.nnz}"><p><span class="sp-tag{good}">'
        f"{escape(words(f'origin.{origin}', lang))}</span> {escape(line)}</p>"
        f"<p>{escape(words(f'about.{matrix.name}', lang))}</p></div>"
    )


def pattern(matrix: Matrix, lang: str) -> tuple[str, str]:
    """(the figure's JSON, what it shows): where the entries are."""
    from sampan.visual.sparsity import spy

    drawn = spy(matrix.csr)
    drawn.update_layout(margin={"l": 8, "r": 8, "t": 8, "b": 8}, height=460)
    drawn.update_xaxes(title=words("axis.column", lang))
    drawn.update_yaxes(title=words("axis.row", lang))
    (map_,) = drawn.data
    map_.z = np.asarray(map_.z, np.float32)
    many = max(matrix.csr.shape) > 256
    if many:
        map_.customdata = np.asarray(map_.customdata).astype(np.int32)
        below = {"orientation": "h", "y": -0.24, "yanchor": "top", "len": 0.7, "thickness": 12}
        low, high = float(np.nanmin(map_.z)), float(np.nanmax(map_.z))
        marks = [low, *(m for m in range(-9, 1) if low + 0.3 < m < high - 0.3), high]
        ticks = {"tickvals": marks, "ticktext": [share(float(f"{10.0**m:.2g}")) for m in marks]}
        map_.colorbar.update(**below, **ticks, title={"text": words("axis.filled", lang), "side": "top"})
        map_.hovertemplate = words("hover.many", lang) + "<extra></extra>"
    else:
        map_.hovertemplate = words("hover.one", lang) + "<extra></extra>"
    figure = json.loads(drawn.to_json())  # plotly in Python refuses CSS variables as colours
    figure["data"][0]["colorscale"] = SCALE
    return json.dumps(figure), words("pattern.many" if many else "pattern.one", lang)


def progress(measurement: Measurement, lang: str) -> str:
    """The bar and its sentence while something is measured, and how it ended if it was not finished."""
    state = measurement.state
    left = measurement.seconds_left
    if state == "running" and left is not None:
        sentence = words("state.running", lang, left=duration(left, lang))
    else:
        sentence = words(
            f"state.{'begun' if state == 'running' else state}",
            lang,
            time=duration(measurement.seconds, lang),
        )
    return bar(state, sentence, measurement.fraction, words("progress", lang))


def verdict(row: Row, lang: str) -> str:
    """The comparison of time and memory in words."""
    if row.sparse is None or row.dense is None:
        return words(f"refused.{row.refused}", lang, needs=_needs(row), most=_most(row))
    time = row.dense.seconds / row.sparse.seconds
    memory = row.dense.matrix / row.sparse.matrix
    return words(
        "sentence", lang, time=_compared("time", time, lang), memory=_compared("memory", memory, lang)
    )


def _compared(what: str, value: float, lang: str) -> str:
    if 1 / ALIKE < value < ALIKE:
        return words(f"{what}.alike", lang)
    key = "better" if value > 1 else "worse"
    return words(f"{what}.{key}", lang, ratio=ratio(max(value, 1 / value)))


def _needs(row: Row) -> str:
    return size(row.needs) if row.refused.endswith("bytes") else large(row.needs)


def _most(row: Row) -> str:
    from . import measure as limits

    most = getattr(limits, row.refused.upper())
    return size(most) if row.refused.endswith("bytes") else large(most)


def comparison(row: Row, layout: str, threads: int, rounds: int, lang: str) -> str:
    """The verdict, the figures side by side with bars, and how they were measured."""
    head = (
        f'<p class="sx-verdict" role="status">{escape(verdict(row, lang))}</p>'
        if row.sparse is None or row.dense is not None
        else f'<p class="sx-verdict" role="status">{escape(words("only_sparse", lang))} {escape(verdict(row, lang))}</p>'
    )
    if row.sparse is None:
        return f'<div class="sx-result" data-refused="{row.refused}">{head}</div>'
    lines = []
    for key, of, show in (
        ("seconds", lambda side: side.seconds, duration_short),
        ("matrix", lambda side: float(side.matrix), size),
        ("kept", lambda side: float(side.kept), size),
        ("result", lambda side: float(side.result), size),
    ):
        lines.append(_line(key, row.sparse, row.dense, of, show, lang))
    method = words("method", lang, rounds=rounds, threads=threads)
    if row.error is not None:
        key = "agree_exactly" if row.error == 0 else "agree" if row.error < 1e-3 else "differ"
        method += " " + words(key, lang, error=f"{row.error:.1g}")
    columns = "".join(
        f'<th scope="col">{escape(text)}</th>'
        for text in (words("column.sparse", lang, layout=layout.upper()), words("column.dense", lang))
    )
    corner = escape(words("column.what", lang))
    return (
        f'<div class="sx-result" data-refused="{row.refused}">{head}<div class="sp-scroll"><table class="sp-table sx-table">'
        f'<caption class="sp-hidden">{escape(words("caption", lang))}</caption>'
        f'<thead><tr><th scope="col"><span class="sp-hidden">{corner}</span></th>{columns}</tr></thead>'
        f'<tbody>{"".join(lines)}</tbody></table></div><p class="sp-muted sp-small">{escape(method)}</p></div>'
    )


def _line(key: str, sparse: Side, dense: Side | None, of: Any, show: Any, lang: str) -> str:
    values = [of(sparse), None if dense is None else of(dense)]
    most = max(value for value in values if value is not None) or 1
    cells = []
    for kind, value in zip(("sparse", "dense"), values, strict=True):
        if value is None:
            cells.append(f"<td>{escape(words('not_measured', lang))}</td>")
            continue
        width = max(100 * value / most, 0.5)
        cells.append(
            f'<td data-side="{kind}" data-value="{value:.6g}"><span class="sp-number">{escape(show(value))}</span>'
            f'<span class="sx-bar is-{kind}" style="width:{width:.1f}%"></span></td>'
        )
    return f'<tr data-line="{key}"><th scope="row">{escape(words(f"line.{key}", lang))}</th>{"".join(cells)}</tr>'


def curve(rows: Sequence[Row], lang: str) -> tuple[str, str]:
    """(the figure's JSON, the crossing point in words) of the rows that were measured in both formats; ("", "") for
    fewer than two."""
    from sampan.visual.sparsity import costs, crossing

    both = [row for row in rows if row.sparse is not None and row.dense is not None]
    if len(both) < 2:
        return "", ""
    table = {"density": [row.density for row in both]}
    for kind in ("sparse", "dense"):
        sides = [getattr(row, kind) for row in both]
        table[f"{kind} seconds"] = [side.seconds for side in sides]
        table[f"{kind} bytes"] = [float(side.matrix) for side in sides]
    drawn = costs(table)
    where = {
        unit: crossing(table["density"], table[f"sparse {unit}"], table[f"dense {unit}"])
        for unit in ("seconds", "bytes")
    }
    found = [at for at in where.values() if at is not None]
    kept = [[float(getattr(row, kind).kept) for row in both] for kind in ("sparse", "dense")]
    where["kept"] = crossing(table["density"], *kept)
    drawn.update_yaxes(
        _seconds_axis(table["sparse seconds"] + table["dense seconds"]), selector={"anchor": "x"}
    )
    for note, at in zip(drawn.layout.annotations, found, strict=True):
        note.text = words("curve.pays", lang, share=share(at))
    drawn.update_layout(
        xaxis_title=words("curve.density", lang), xaxis2_title=words("curve.density", lang),
        yaxis_title=words("curve.time", lang), yaxis2_title=words("curve.memory", lang),
        margin={"l": 8, "r": 8, "t": 30, "b": 8}, height=360,
    )  # fmt: skip
    said = [
        words(
            f"crossing.{unit}" if at is not None else f"no_crossing.{unit}",
            lang,
            share="" if at is None else share(at),
        )
        for unit, at in where.items()
    ]
    if len(both) < len(rows):
        said.append(words("curve.left_out", lang, count=len(rows) - len(both)))
    figure = json.loads(drawn.to_json())
    for trace in figure["data"]:
        trace["line"]["color"] = LINES[trace["name"]]
        trace["name"] = words(f"curve.{trace['name']}", lang)
    return json.dumps(figure), " ".join(said)


def _seconds_axis(seconds: Sequence[float]) -> dict[str, Any]:
    """Ticks of a logarithmic axis at powers of ten, with units: 10 µs, 1 ms."""
    decades = range(math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds))) + 1)
    units = {0: "s", -3: "ms", -6: "µs", -9: "ns"}
    texts = []
    for decade in decades:
        unit = min(max(3 * (decade // 3), -9), 0)
        texts.append(f"{10.0 ** (decade - unit):g} {units[unit]}")
    return {"tickmode": "array", "tickvals": [10.0**decade for decade in decades], "ticktext": texts}


# --- shapes ---------------------------------------------------------------------------------------------------


def shape_facts(shown: Shape, lang: str) -> str:
    """The origin of a shape, and the share of voxels that it fills."""
    filled, places = int(shown.grid.sum()), shown.grid.size
    good, origin = (" is-good", "real") if shown.real else ("", "made")
    line = words(
        "shape.facts", lang, filled=f"{filled:,}", places=f"{places:,}", share=share(filled / places)
    )
    tag = f'<span class="sp-tag{good}">{escape(words(f"origin.{origin}", lang))}</span>'
    about = f"<p>{escape(words(f'shape.{shown.name}', lang))}</p>" if shown.real else ""
    return f'<div class="sx-about" data-shape="{shown.name}" data-filled="{filled}"><p>{tag} {escape(line)}</p>{about}</div>'


def shape_cloud(shown: Shape, parts: Any, lang: str) -> tuple[str, str]:
    """(the figure's JSON, what it shows): the shape's filled voxels, coloured by `parts`, or by height if they are
    None."""
    from sampan.datasets.point_clouds import PARTS
    from sampan.visual.cloud import MOST_POINTS, cloud, thinned

    places = shown.places
    kept = thinned(len(places))
    names = [words(f"part.{part}", lang) for part in PARTS]
    colours = places[:, 2].astype(np.float32) if parts is None else parts
    drawn = cloud(places[kept], colours[kept], names)
    drawn.update_layout(height=400, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    drawn.update_traces(marker_showscale=False)
    said = words("cloud.height" if parts is None else "cloud.parts", lang)
    if len(kept) < len(places):
        said += " " + words("cloud.thinned", lang, shown=f"{MOST_POINTS:,}", all=f"{len(places):,}")
    return drawn.to_json(), said


def shape_verdict(found: Any, parts: Any, lang: str) -> str:
    """The share of correct points of one shape."""
    from sampan.models.point_cloud import part_iou

    if parts is None:
        return words("found.unknown", lang)
    iou = float(np.mean(list(part_iou(found, parts).values())))
    right = float((found == parts).mean())
    return words("found.verdict", lang, right=percent(right), iou=percent(iou))


def training(standing: Standing, limit: float, lang: str) -> str:
    """The bar with its sentence, and the figures under it."""
    values = {
        "time": duration(standing.seconds, lang),
        "left": duration(max(limit - standing.seconds, 0), lang),
    }
    sentence = words(f"train.{standing.state}", lang, steps=f"{standing.steps:,}", **values)
    figures = [
        ("loss", "–" if standing.loss is None else f"{standing.loss:.3f}"),
        ("right", "–" if standing.right is None else percent(standing.right)),
        ("iou", "–" if standing.iou is None else percent(standing.iou)),
    ]
    named = [(key, words(f"figure.{key}", lang), text) for key, text in figures]
    done = None if standing.state == "loading" else standing.fraction
    return bar(standing.state, sentence, done, words("train.progress", lang), named)
