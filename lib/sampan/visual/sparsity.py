"""Sparse matrices as pictures: where their entries are, what a sparse convolution joins, and when all this
pays."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sparse import SparseTensor
from ..sparse import rulebook as rulebooks
from .style import COLORS, EMPTY, INK, MUTED, bare_axes, figure, plotly

MOST_ENTRIES = 40  # of a cloud whose rulebook is drawn
MOST_OFFSETS = 25
BLUES = [[0, "#cfe3f2"], [1, COLORS[0]]]


def spy(matrix: Any, title: str = "", largest: int = 256) -> Any:
    """Figure of where a matrix has entries: row 0 at the top; drag over a part to look closer.

    matrix: a SparseTensor [rows, columns] or a matrix of SciPy's. Above `largest` rows or columns a cell
    represents many positions, and its colour for the share of them that have an entry, on a logarithmic
    scale. Raises TypeError for anything else, ValueError for other shapes.
    """
    rows, cols, (height, width) = _entries(matrix)
    if largest < 1:
        raise ValueError(f"largest: expected 1 or more, got {largest}")
    down, across = (max(-(-n // largest), 1) for n in (height, width))  # places of one cell, each way
    tall, wide = (max(-(-n // step), 1) for n, step in ((height, down), (width, across)))
    cells = np.bincount(rows // down * wide + cols // across, minlength=tall * wide).reshape(tall, wide)
    share = rows.size / max(height * width, 1)
    facts = f"{height:,} x {width:,}, {rows.size:,} entries, {_percent(share)} of all places"
    made = figure(f"{title}: {facts}" if title else facts, height=460, showlegend=False)
    y, x = np.arange(tall) * down + (down - 1) / 2, np.arange(wide) * across + (across - 1) / 2
    look: dict[str, Any] = {"x": x, "y": y, "colorscale": BLUES, "xgap": 0, "ygap": 0}
    empty = cells == 0
    if down == across == 1:
        shown = np.where(empty, np.nan, 1.0)
        look |= {
            "showscale": False,
            "zmin": 0,
            "zmax": 1,
            "hovertemplate": "row %{y}, column %{x}<extra></extra>",
        }
    else:
        lengths = [
            np.minimum(step, n - np.arange(count) * step)
            for step, n, count in ((down, height, tall), (across, width, wide))
        ]
        density = cells / np.maximum(np.outer(*lengths), 1)
        shown = np.log10(np.where(empty, np.nan, density))
        found = shown[~empty]
        decades = range(math.floor(found.min()), math.ceil(found.max()) + 1) if found.size else [0]
        marks = np.array([math.log10(step) + decade for decade in decades for step in (1, 2, 5)])
        ticks = {"tickvals": marks, "ticktext": [_percent(10.0**m) for m in marks]}
        look |= {
            "colorbar": {"thickness": 14, "outlinewidth": 0, "title": {"text": "filled"}, **ticks},
            "customdata": cells,
            "hovertemplate": "near row %{y:.0f}, column %{x:.0f}<br>"
            f"%{{customdata}} entries in {down} x {across} places"
            "<extra></extra>",
        }
    made.add_trace(plotly().Heatmap(z=shown, **look))
    line = {"showgrid": False, "zeroline": False, "linecolor": MUTED, "mirror": True, "constrain": "domain"}
    for update, length in ((made.update_xaxes, width), (made.update_yaxes, height)):
        update(**({"dtick": 1} if length <= 20 else {}))
    made.update_xaxes(title="column", range=[-0.5, max(width, 1) - 0.5], **line)
    made.update_yaxes(title="row", range=[max(height, 1) - 0.5, -0.5], **line)
    if 0.25 <= height / max(width, 1) <= 4:
        made.update_yaxes(scaleanchor="x")
    return made


def _entries(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int]]:
    """(rows, columns, shape) of a matrix's entries."""
    if isinstance(matrix, SparseTensor):
        if matrix.ndim != 2 or matrix.dense_dim():
            raise ValueError(f"spy: matrix must be [rows, columns], got {list(matrix.shape)}")
        rows, cols = matrix.to_sparse_coo().indices().numpy()
    elif hasattr(matrix, "tocoo"):
        found = matrix.tocoo()
        if len(found.shape) != 2:
            raise ValueError(f"spy: matrix must be [rows, columns], got {list(found.shape)}")
        rows, cols = found.row, found.col
    else:
        raise TypeError(f"spy: matrix must be a SparseTensor or one of SciPy's, got {type(matrix).__name__}")
    return rows.astype(np.int64), cols.astype(np.int64), (int(matrix.shape[0]), int(matrix.shape[1]))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def rulebook(pattern: Any, kernel: int | Sequence[int] = 3, dilation: int = 1, title: str = "") -> Any:
    """Figure of a submanifold convolution over a small cloud in the plane: a panel for each offset of the
    kernel.

    pattern: bool [height, width], or a SparseTensor [height, width]; its entries are numbered in order of
    rows. An arrow goes from each entry to the one for which this offset reads it; the entries that find a
    neighbour are filled. Raises ValueError for another shape, more than 40 entries, more than 25 offsets, or
    a kernel of an even length.
    """
    if isinstance(pattern, SparseTensor):
        there = np.zeros(tuple(pattern.shape), bool)
        if there.ndim == 2:
            there[tuple(pattern.to_sparse_coo().indices().numpy())] = True
    else:
        there = np.asarray(pattern).astype(bool)
    if there.ndim != 2 or not 1 <= there.sum() <= MOST_ENTRIES:
        raise ValueError(
            f"rulebook: pattern must be [height, width] with 1 to {MOST_ENTRIES} entries, got shape "
            f"{list(there.shape)} with {int(there.sum())}"
        )
    lengths = (kernel, kernel) if isinstance(kernel, int) else tuple(kernel)
    if len(lengths) != 2 or any(n < 1 or n % 2 == 0 for n in lengths) or math.prod(lengths) > MOST_OFFSETS:
        raise ValueError(
            f"rulebook: kernel must have odd lengths, {MOST_OFFSETS} places at most, got {kernel}"
        )
    rows, cols = np.nonzero(there)
    steps = [(i - lengths[0] // 2, j - lengths[1] // 2) for i, j in itertools.product(*map(range, lengths))]
    offsets = np.array([(0, dilation * i, dilation * j) for i, j in steps], np.int64)
    places = np.stack([0 * rows, 0 * rows, rows, cols]).astype(np.int64)
    near = np.asarray(rulebooks.neighbours(places, offsets, (1, 1, *there.shape)))
    height, width = there.shape
    pairs = int((near >= 0).sum())
    facts = f"{rows.size} entries, {len(steps)} offsets, {pairs} pairs"
    span_x, span_y = width + 1.2, height + 1.9
    made = figure(f"{title}: {facts}" if title else facts, height=int(70 + lengths[0] * span_y * 26))
    made.update_layout(showlegend=False)
    for number, found in enumerate(near):
        top, left = number // lengths[1] * span_y, number % lengths[1] * span_x
        _panel(made, tuple(offsets[number, 1:]), found, rows, cols, top, left, there.shape)
    bare_axes(
        made, (-0.8, lengths[1] * span_x - 0.9), (lengths[0] * span_y - 1.6, -1.4), square=True
    )  # y downwards
    return made


def _panel(
    made: Any, offset: tuple[int, int], found: Any, rows: Any, cols: Any, top: float, left: float, shape: Any
) -> None:
    height, width = shape
    head = f"offset ({offset[0]}, {offset[1]}): {int((found >= 0).sum())} pairs"
    label = {"showarrow": False, "xanchor": "left", "font": {"size": 12, "color": INK}}
    made.add_annotation(x=left - 0.5, y=top - 0.95, text=head, **label)
    frame = {"x0": left - 0.5, "x1": left + width - 0.5, "y0": top - 0.5, "y1": top + height - 0.5}
    made.add_shape(type="rect", line={"color": EMPTY}, layer="below", **frame)
    colors = [COLORS[0] if e >= 0 else "#b9c2cd" for e in found]
    hover = [
        f"entry {i} reads entry {e}" if e >= 0 else f"entry {i}: no entry there" for i, e in enumerate(found)
    ]
    marker = {"symbol": "square", "size": 20, "color": colors, "line": {"color": "white", "width": 1}}
    inks = ["white" if e >= 0 else INK for e in found]
    words = {"text": [str(i) for i in range(rows.size)], "textfont": {"size": 10, "color": inks}}
    look = {"mode": "markers+text", "marker": marker, "hovertext": hover, "hoverinfo": "text", **words}
    made.add_trace(plotly().Scatter(x=left + cols, y=top + rows, **look))
    if not any(offset):
        return  # each meets itself
    for i, e in enumerate(found):
        if e >= 0:
            tail, tip = (left + cols[e], top + rows[e]), (left + cols[i], top + rows[i])
            head_x, head_y = (0.68 * b + 0.32 * a for a, b in zip(tail, tip, strict=True))
            tail_x, tail_y = (0.32 * b + 0.68 * a for a, b in zip(tail, tip, strict=True))
            made.add_annotation(
                x=head_x,
                y=head_y,
                ax=tail_x,
                ay=tail_y,
                xref="x",
                yref="y",
                axref="x",
                ayref="y",
                text="",
                showarrow=True,
                arrowhead=2,
                arrowsize=1,
                arrowwidth=1.6,
                arrowcolor=COLORS[1],
            )


COSTS = (("seconds", "time"), ("bytes", "memory"))


def costs(table: Mapping[str, Sequence[float]], title: str = "") -> Any:
    """Figure of what sparse and dense cost over the density, both axes logarithmic: time on the left, memory
    on the right.

    table: columns of one length: "density" (0 to 1, ascending), "sparse seconds", "dense seconds", "sparse
    bytes", "dense bytes". A dotted line marks the crossing: left of it sparse pays. Raises ValueError
    for a missing column, or one that is not of positive numbers.
    """
    names = ["density", *(f"{kind} {unit}" for unit, _ in COSTS for kind in ("sparse", "dense"))]
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"costs: table must have the columns {names}, {missing} are missing")
    columns = {name: np.asarray(table[name], np.float64) for name in names}
    for name, column in columns.items():
        if column.shape != columns["density"].shape or column.ndim != 1 or not column.size:
            raise ValueError(f"costs: {name} must be as long as density, got shape {list(column.shape)}")
        if not (np.isfinite(column) & (column > 0)).all():
            raise ValueError(f"costs: {name} must hold positive numbers only")
    density = columns["density"]
    if (np.diff(density) <= 0).any():
        raise ValueError("costs: density must ascend")
    made = figure(title, height=400, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    span = [math.log10(density[0]) - 0.1, math.log10(density[-1]) + 0.1]
    for number, (unit, what) in zip(("", "2"), COSTS, strict=True):
        sides = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": not number}
        for kind, color, dash in (("sparse", COLORS[0], "solid"), ("dense", COLORS[1], "dash")):
            look = {"mode": "lines+markers", "line": {"color": color, "dash": dash}}
            y = columns[f"{kind} {unit}"]
            made.add_trace(plotly().Scatter(x=density, y=y, name=kind, **look, **sides))
        axis: dict[str, Any] = {
            "type": "log",
            "title": "density",
            "range": span,
            "tickformat": "~%",
            "anchor": f"y{number}",
        }
        axis |= {"domain": [0.56, 1] if number else [0, 0.44], "dtick": 1}
        side = {
            "type": "log",
            "title": f"{what}, {unit}",
            "anchor": f"x{number}",
            "tickformat": "~s",
            "dtick": 1,
        }
        made.update_layout({f"xaxis{number}": axis, f"yaxis{number}": side})
        where = crossing(density, columns[f"sparse {unit}"], columns[f"dense {unit}"])
        if where is not None:
            refs = {"xref": f"x{number}", "yref": f"y{number} domain"}
            made.add_shape(
                type="line", x0=where, x1=where, y0=0, y1=1, line={"color": MUTED, "dash": "dot"}, **refs
            )
            words = f"sparse pays below {100 * where:.2g} % "
            place = {"x": math.log10(where), "y": 0.02, "xanchor": "right", "yanchor": "bottom"}
            made.add_annotation(text=words, showarrow=False, font={"size": 12, "color": INK}, **place, **refs)
    return made


def crossing(density: Any, sparse: Any, dense: Any) -> float | None:
    """The density at which sparse costs as much as dense, between two measurements by a power law; None where
    they never cross. All three of one length, positive, density ascending. Of several crossings the last:
    above it dense is cheaper."""
    x, gap = np.log(np.asarray(density)), np.log(np.asarray(sparse) / np.asarray(dense))
    for i in range(len(x) - 1, 0, -1):
        if gap[i - 1] < 0 <= gap[i]:
            return float(np.exp(x[i - 1] - gap[i - 1] * (x[i] - x[i - 1]) / (gap[i] - gap[i - 1])))
    return None
