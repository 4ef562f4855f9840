"""Tables of vectors as pictures: a map that turns, neighbours, what a table costs as it grows, how often a
cache hits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cloud import EDGE, MOST_POINTS
from .style import COLORS, EMPTY, INK, MUTED, figure, plotly

PALETTE = (
    *COLORS,
    "#F0E442",
)  # for groups: apart for the colour-blind; more groups than these are called others
OTHERS = "others"
METHODS = ("pca", "tsne")
SIDES = ("top center", "bottom center", "middle right", "middle left")
LONGEST = 24  # characters of a label drawn beside its point
Columns = dict[str, NDArray[np.float64]]


def projected(vectors: ArrayLike, method: str = "pca", seed: int = 0) -> NDArray[np.float32]:
    """Vectors [n, d] in three dimensions, [n, 3], for `vector_map`.

    method: "pca", the three directions in which they spread most (scikit-learn's PCA; distances and
    directions keep a meaning), or "tsne", in which neighbours stay neighbours and distances mean nothing (van
    der Maaten and Hinton 2008; about 10 s for 1,000 vectors). Fewer than three directions are filled with
    zeros. The same seed gives the same picture. Raises ValueError for another method, another shape, or
    vectors that are not finite.
    """
    points = np.asarray(vectors, np.float32)
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if points.ndim != 2:
        raise ValueError(f"vectors: expected [n, d], got shape {list(points.shape)}")
    if not np.isfinite(points).all():
        raise ValueError("vectors: expected finite numbers, got some that are not")
    try:
        from sklearn.decomposition import PCA
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ImportError("sampan.visual projects with scikit-learn: pip install 'sampan[data]'") from error
    made = np.zeros((len(points), 3), np.float32)
    if len(points) < 2 or not points.shape[1]:
        return made
    if method == "tsne" and len(points) > 4:  # for fewer it has no neighbours to keep
        near, begin = min(30.0, (len(points) - 1) / 3), "pca" if points.shape[1] > 2 else "random"
        made[:] = TSNE(3, perplexity=near, init=begin, random_state=seed).fit_transform(points)
        return made
    axes = min(3, *points.shape)
    made[:, :axes] = PCA(axes, svd_solver="full").fit_transform(points)
    return made


def vector_map(
    points: ArrayLike,
    labels: Sequence[str],
    groups: Sequence[str] | None = None,
    marked: Sequence[int] | None = None,
    title: str = "",
) -> Any:
    """Figure of points [n, 3] in equal scales, which turns under the pointer and says a point's label under
    it.

    labels: one for each point. groups: a colour and an entry of the legend for each of the 8 most frequent;
    the rest are grey and called "others". marked: the numbers of the highlighted ones, large and with the
    label (24 characters of it) beside them. Each trace's `customdata` holds the numbers of its points. More
    than 20,000 points are thinned evenly, and the title says so; marked ones stay. Replacing the figure's
    data leaves the view as it was turned.

    Raises ValueError for points that are not [n, 3] or not finite, labels or groups of another length, a
    marked number that no point has.
    """
    at = np.asarray(points)
    if at.ndim != 2 or at.shape[1] != 3:
        raise ValueError(f"points: expected [n, 3], got shape {list(at.shape)}")
    if not np.isfinite(at).all():
        raise ValueError("points: expected finite numbers, got some that are not")
    for name, given in (("labels", labels), ("groups", groups)):
        if given is not None and len(given) != len(at):
            raise ValueError(f"{name}: expected one for each of {len(at)} points, got {len(given)}")
    chosen = np.array(sorted(set(marked or ())), np.int64)
    if chosen.size and not 0 <= chosen[0] <= chosen[-1] < len(at):
        raise ValueError(f"marked: expected numbers from 0 to {len(at) - 1}, got {chosen.tolist()}")
    shown = _shown(len(at), chosen)
    if len(shown) < len(at) - len(chosen):
        title = f"{title} ({len(shown) + len(chosen):,} of {len(at):,} points)".lstrip()
    made = figure(title, height=520, showlegend=groups is not None)
    axis = {"title": {"text": ""}, "showticklabels": False, "showbackground": False, "gridcolor": EMPTY}
    axis |= {"zerolinecolor": EMPTY, "showspikes": False}
    camera = {"eye": {"x": 1.2, "y": -1.4, "z": 0.7}}
    made.update_layout(
        scene={"xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "data", "camera": camera},
        scene_uirevision="map",
        margin={"l": 0, "r": 0, "t": 48 if title else 8, "b": 0},
        legend={"itemsizing": "constant", "orientation": "h", "y": 0, "yanchor": "top"},
    )
    at, size = at.astype(np.float32), float(np.clip(32 / max(len(shown), 1) ** (1 / 3), 2.0, 6.0))
    faint = 0.35 if chosen.size else 0.9
    for name, color, members in _grouped(groups, shown):
        marker = {"size": size, "color": color, "opacity": faint, "line": EDGE}
        made.add_trace(_dots(at, members, labels, marker, name))
    if chosen.size:
        marker = {
            "size": size + 4,
            "color": COLORS[4],
            "symbol": "diamond",
            "line": {"color": INK, "width": 1},
        }
        trace = _dots(at, chosen, labels, marker, "")
        words = [_short(str(labels[i])) for i in chosen]
        sides = [SIDES[k % len(SIDES)] for k in range(len(chosen))]  # they are often close together
        trace.update(mode="markers+text", text=words, textposition=sides, showlegend=False)
        trace.update(textfont={"size": 11, "color": INK})
        made.add_trace(trace)
    return made


def _shown(count: int, marked: NDArray[np.int64]) -> NDArray[np.int64]:
    """The points that are drawn beside the marked ones, in ascending order: the same ones each time."""
    others = np.setdiff1d(np.arange(count), marked)
    most = max(MOST_POINTS - len(marked), 0)
    if len(others) <= most:
        return others
    return np.sort(np.random.default_rng(0).choice(others, most, replace=False))


def _grouped(
    groups: Sequence[str] | None, shown: NDArray[np.int64]
) -> list[tuple[str, str, NDArray[np.int64]]]:
    """(name, colour, numbers) of each group of the points shown, the most frequent first."""
    if groups is None:
        return [("", COLORS[0], shown)]
    names, which, counts = np.unique(
        np.array([str(groups[i]) for i in shown], object).astype(str), return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    first, rest = order[: len(PALETTE)], order[len(PALETTE) :]
    found = [(str(names[k]), color, shown[which == k]) for color, k in zip(PALETTE, first, strict=False)]
    if rest.size:
        found.append((OTHERS, MUTED, shown[np.isin(which, rest)]))
    return found


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def _dots(
    at: NDArray[np.float32],
    members: NDArray[np.int64],
    labels: Sequence[str],
    marker: dict[str, Any],
    name: str,
) -> Any:
    x, y, z = (np.ascontiguousarray(at[members, axis]) for axis in range(3))
    return plotly().Scatter3d(
        x=x,
        y=y,
        z=z,
        mode="markers",
        marker=marker,
        name=name,
        customdata=members,
        hovertext=[str(labels[i]) for i in members],
        hoverinfo="text+name" if name else "text",
    )


def neighbours(pairs: Sequence[tuple[str, float]], title: str = "") -> Any:
    """Figure of the nearest ones as bars, the nearest at the top. pairs: (label, how near), in any order; at
    most 30.

    Raises ValueError for none, more than 30, or a number that is not finite.
    """
    if not 1 <= len(pairs) <= 30:
        raise ValueError(f"pairs: expected 1 to 30, got {len(pairs)}")
    near = np.array([score for _, score in pairs], np.float64)
    if not np.isfinite(near).all():
        raise ValueError("pairs: expected finite numbers, got some that are not")
    order = np.argsort(-near, kind="stable")
    names = [str(pairs[i][0]) for i in order]
    made = figure(title, height=80 + 24 * len(pairs), showlegend=False)
    y = list(range(len(names)))  # by number: two of them may have one name
    words = {"text": [f"{near[i]:.3g}" for i in order], "textposition": "auto", "hovertext": names}
    bar = {"orientation": "h", "marker": {"color": COLORS[0]}, "hoverinfo": "text"}
    made.add_trace(plotly().Bar(x=near[order], y=y, **words, **bar))
    made.update_yaxes(range=[len(y) - 0.5, -0.5], tickvals=y, ticktext=names, automargin=True)
    made.update_xaxes(zeroline=True, zerolinecolor=MUTED)
    return made


def ablation_curve(ablation: Any, title: str = "") -> Any:
    """Figure of scores over the width of a table, from `embedding.ablation.ablate_dimension`: each run a dot,
    their mean a line with its standard deviation, and a dotted line at the narrowest width that is as good as
    the best.

    A width with a run that ended in NaN has no mean, and the line a gap. Raises ValueError where no run has a
    score.
    """
    curve, runs = ablation.curve(), [run for run in ablation.runs if math.isfinite(run.score)]
    if not runs:
        raise ValueError("ablation: expected a run with a score, every one is NaN")
    made = figure(title, height=380, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    bars = {"type": "data", "array": curve["std"], "color": COLORS[0], "thickness": 1.5}
    line = {
        "mode": "lines+markers",
        "line": {"color": COLORS[0]},
        "error_y": bars,
        "name": "mean and deviation",
    }
    made.add_trace(plotly().Scatter(x=curve["dim"], y=curve["mean"], **line))
    dots = {"mode": "markers", "marker": {"color": MUTED, "size": 6}, "name": "runs"}
    hover = [f"width {run.dim}, seed {run.seed}: {run.score:.4g} in {run.seconds:.1f} s" for run in runs]
    x, y = [run.dim for run in runs], [run.score for run in runs]
    made.add_trace(plotly().Scatter(x=x, y=y, hovertext=hover, hoverinfo="text", **dots))
    if np.isfinite(curve["mean"]).any():
        made.add_vline(x=ablation.best(), line={"color": MUTED, "dash": "dot"})
    widths = [int(dim) for dim in curve["dim"]]
    made.update_xaxes(
        type="log", title="width of the table", tickvals=widths, ticktext=list(map(str, widths))
    )
    made.update_yaxes(title="score")
    return made


GROWS = (("seconds", "time of a step"), ("bytes", "memory of the gradient"))


def growth(table: Mapping[str, Sequence[float]], title: str = "") -> Any:
    """Figure of what a step costs as the table grows, both axes logarithmic: time on the left, memory on the
    right.

    table: columns of one length: "rows" (ascending), "dense seconds", "sparse seconds", "dense bytes",
    "sparse bytes". Raises ValueError for a missing column, or one that is not of positive numbers.
    """
    names = ["rows", *(f"{kind} {unit}" for unit, _ in GROWS for kind in ("dense", "sparse"))]
    columns = _columns("growth", table, names)
    rows = _ascending("growth", "rows", columns)
    for name, column in columns.items():
        if not (column > 0).all():
            raise ValueError(f"growth: {name} must hold positive numbers only")
    made = figure(title, height=400, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    for number, (unit, what) in zip(("", "2"), GROWS, strict=True):
        sides = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": not number}
        for kind, color, dash in (("sparse", COLORS[0], "solid"), ("dense", COLORS[1], "dash")):
            look = {"mode": "lines+markers", "line": {"color": color, "dash": dash}, "legendgroup": kind}
            y = columns[f"{kind} {unit}"]
            made.add_trace(plotly().Scatter(x=rows, y=y, name=kind, **look, **sides))
        axis = {
            "type": "log",
            "title": "rows of the table",
            "anchor": f"y{number}",
            "tickformat": "~s",
            "dtick": 1,
        }
        axis["domain"] = [0.56, 1] if number else [0, 0.44]
        side = {
            "type": "log",
            "title": f"{what}, {unit}",
            "anchor": f"x{number}",
            "tickformat": "~s",
            "dtick": 1,
        }
        made.update_layout({f"xaxis{number}": axis, f"yaxis{number}": side})
    return made


def hits(table: Mapping[str, Sequence[float]], title: str = "", at: float | None = None) -> Any:
    """Figure of a cache's hit rate over the skew of the ids (the exponent of
    Zipf's law).

    table: the column "skew", ascending, and one or more others of hit rates, 0 to 1, each called by its name:
    "1 % of the rows". at: a skew that a dotted line marks. Raises ValueError for missing columns, other
    lengths, or rates outside.
    """
    names = ["skew", *(name for name in table if name != "skew")]
    columns = _columns("hits", table, names)
    skew = _ascending("hits", "skew", columns)
    if len(names) == 1:
        raise ValueError("hits: table must have a column of hit rates beside skew, there is none")
    made = figure(title, height=380, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    for color, name in zip(COLORS * len(names), names[1:], strict=False):
        if not ((columns[name] >= 0) & (columns[name] <= 1)).all():
            raise ValueError(f"hits: {name} must hold rates from 0 to 1")
        look = {"mode": "lines+markers", "line": {"color": color}, "name": name}
        made.add_trace(plotly().Scatter(x=skew, y=columns[name], **look))
    if at is not None:
        made.add_vline(x=at, line={"color": MUTED, "dash": "dot"})
    made.update_xaxes(title="skew of the ids")
    made.update_yaxes(title="hit rate", range=[0, 1.02], tickformat=".0%")
    return made


def popularity(counts: ArrayLike, title: str = "") -> Any:
    """Figure of the frequency of each id, the most frequent first, both axes logarithmic: a straight line is
    Zipf's law.

    counts: [n], occurrences of each id; zeros are left out. The title adds the share of the most frequent
    1 %, and a dotted line marks their end. Raises ValueError for anything but counts, or where
    all are 0.
    """
    came = np.asarray(counts)
    if came.ndim != 1 or came.dtype.kind not in "iu" or (came < 0).any() or not came.any():
        raise ValueError(
            f"counts: expected [n] integers of at least 0, one above, got {came.dtype} {list(came.shape)}"
        )
    sizes = np.sort(came[came > 0])[::-1].astype(np.int64)
    top = max(math.ceil(len(sizes) / 100), 1)
    share = sizes[:top].sum() / sizes.sum()
    facts = f"{len(sizes):,} ids, {top:,} of them {share:.0%} of the time"
    made = figure(f"{title}: {facts}" if title else facts, height=360, showlegend=False)
    shown = np.unique(np.geomspace(1, len(sizes), min(len(sizes), 400)).round().astype(np.int64))  # ranks
    line = {"color": COLORS[0], "shape": "hv"}
    hover = "rank %{x:,}: %{y:,} times<extra></extra>"
    made.add_trace(
        plotly().Scatter(x=shown, y=sizes[shown - 1], mode="lines", line=line, hovertemplate=hover)
    )
    made.add_vline(x=top, line={"color": MUTED, "dash": "dot"})
    made.update_xaxes(type="log", title="rank, the most frequent first", tickformat="~s", dtick=1)
    made.update_yaxes(type="log", title="occurrences", tickformat="~s", dtick=1)
    return made


def _columns(who: str, table: Mapping[str, Sequence[float]], names: Sequence[str]) -> Columns:
    """The named columns as arrays of one length and of finite numbers."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"{who}: table must have the columns {list(names)}, {missing} are missing")
    columns = {name: np.asarray(table[name], np.float64) for name in names}
    for name, column in columns.items():
        if column.ndim != 1 or not column.size or column.shape != columns[names[0]].shape:
            raise ValueError(f"{who}: {name} must be as long as {names[0]}, got shape {list(column.shape)}")
        if not np.isfinite(column).all():
            raise ValueError(f"{who}: {name} must hold finite numbers only")
    return columns


def _ascending(who: str, name: str, columns: Columns) -> NDArray[np.float64]:
    column = columns[name]
    if (np.diff(column) <= 0).any() or column[0] < 0:
        raise ValueError(f"{who}: {name} must ascend, from 0 or above")
    return column
