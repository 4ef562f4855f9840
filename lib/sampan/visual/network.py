"""Figures of graphs: nodes and edges in the plane, and quantities over a setting. Used by notebooks 07 and
08."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .style import COLORS, EMPTY, INK, MUTED, bare_axes, figure, plotly

MOST_EDGES = 20_000
NAMED_UP_TO = 60  # nodes: above it labels are only shown under the pointer
SHORT = 16  # characters: longer labels as well


def laid_out(edges: ArrayLike, num_nodes: int, seed: int = 0) -> NDArray[np.float64]:
    """Positions [num_nodes, 2] in which joined nodes are close together: networkx's spring layout.

    edges: [edges, 2] node ids. The same positions for the same seed. For up to a few thousand nodes: the
    time grows with the square of their number.
    Source: Fruchterman and Reingold, Graph drawing by force-directed placement, 1991.
    """
    import networkx

    joined = networkx.Graph()
    joined.add_nodes_from(range(num_nodes))
    joined.add_edges_from(_pairs("laid_out", edges, num_nodes).tolist())
    places = networkx.spring_layout(joined, seed=seed, iterations=60)
    return np.array([places[node] for node in range(num_nodes)]).reshape(num_nodes, 2)


def network(
    edges: ArrayLike,
    places: ArrayLike,
    groups: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    marked: Sequence[int] = (),
    title: str = "",
) -> Any:
    """Figure of a graph in the plane.

    edges: [edges, 2] node ids; places: [nodes, 2], for example of `laid_out`. groups: a colour and an entry
    of the legend for each, in the order of their names; a colour serves several where there are more than 7.
    labels: shown under the pointer, and short ones beside the nodes of a small graph. marked: numbers of
    edges that are drawn thick. Above 20,000 edges an even part of them is drawn, and the title says so.
    Raises ValueError for shapes and numbers that do not fit.
    """
    at = np.asarray(places, np.float64)
    if at.ndim != 2 or at.shape[1] != 2 or not np.isfinite(at).all():
        raise ValueError(f"network: places: expected finite numbers [nodes, 2], got shape {list(at.shape)}")
    pairs = _pairs("network", edges, len(at))
    for name, given in (("groups", groups), ("labels", labels)):
        if given is not None and len(given) != len(at):
            raise ValueError(f"network: {name}: expected one for each of {len(at)} nodes, got {len(given)}")
    thick = np.unique(np.asarray(marked, np.int64))
    if thick.size and not 0 <= thick[0] <= thick[-1] < len(pairs):
        raise ValueError(
            f"network: marked: expected numbers from 0 to {len(pairs) - 1}, got {thick.tolist()}"
        )
    if len(pairs) > MOST_EDGES:
        title = f"{title} ({MOST_EDGES:,} of {len(pairs):,} edges)".lstrip()
    made = figure(title, height=440, showlegend=groups is not None)
    bare_axes(made, _range(at[:, 0]), _range(at[:, 1]))
    thin = pairs[np.linspace(0, len(pairs) - 1, min(len(pairs), MOST_EDGES)).astype(np.int64)]
    made.add_trace(_lines(at, thin, MUTED if len(pairs) < 500 else EMPTY, 1))
    if thick.size:
        made.add_trace(_lines(at, pairs[thick], COLORS[4], 3))
    names = np.asarray(groups if groups is not None else [""] * len(at))
    words = np.asarray(labels if labels is not None else [str(node) for node in range(len(at))], object)
    for number, name in enumerate(sorted(set(names.tolist()))):
        made.add_trace(_nodes(at, words, np.flatnonzero(names == name), name, COLORS[number % len(COLORS)]))
    return made


def curves(table: Mapping[str, Sequence[float]], title: str = "", log: bool = False) -> Any:
    """Figure of lines over a setting.

    table: the setting's values first, then a name and values for each line. log: both axes are logarithmic.
    Raises ValueError for columns of different lengths, and for fewer than two.
    """
    columns = {name: np.asarray(values, np.float64) for name, values in table.items()}
    if len(columns) < 2 or len({column.shape for column in columns.values()}) != 1:
        shapes = {name: list(column.shape) for name, column in columns.items()}
        raise ValueError(f"curves: expected a setting and lines of one length, got {shapes}")
    setting, *lines = columns
    made = figure(title, height=340)
    for number, name in enumerate(lines):
        line = {"color": COLORS[number % len(COLORS)], "width": 2}
        made.add_trace(
            plotly().Scatter(x=columns[setting], y=columns[name], name=name, mode="lines+markers", line=line)
        )
    made.update_xaxes(title=setting)
    if log:
        made.update_xaxes(type="log", dtick=1)
        made.update_yaxes(type="log", dtick=1)
    made.update_layout(legend={"orientation": "h", "y": -0.25})
    made.update_layout(margin={"l": 50, "b": 50})
    return made


def _pairs(who: str, edges: ArrayLike, num_nodes: int) -> NDArray[np.int64]:
    pairs = np.asarray(edges, np.int64).reshape(-1, 2) if np.size(edges) == 0 else np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"{who}: edges: expected node ids [edges, 2], got {pairs.dtype} {list(pairs.shape)}")
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < num_nodes:
        raise ValueError(
            f"{who}: edges: expected ids from 0 to {num_nodes - 1}, got {pairs.min()} to {pairs.max()}"
        )
    return pairs.astype(np.int64)


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    margin = 0.09 * (high - low) + 1e-6
    return low - margin, high + margin


def _lines(at: NDArray[np.float64], pairs: NDArray[np.int64], color: str, width: int) -> Any:
    """All edges as one trace: a gap after each."""
    ends = np.full((2, len(pairs), 3), np.nan)
    ends[:, :, :2] = at[pairs].transpose(2, 0, 1)
    line = {"color": color, "width": width}
    drawn = plotly().Scattergl if len(pairs) > 2000 else plotly().Scatter
    return drawn(
        x=ends[0].ravel(), y=ends[1].ravel(), mode="lines", line=line, hoverinfo="skip", showlegend=False
    )


def _nodes(
    at: NDArray[np.float64], words: NDArray[Any], members: NDArray[np.int64], name: str, color: str
) -> Any:
    named = len(at) <= NAMED_UP_TO
    size = float(np.clip(150 / np.sqrt(max(len(at), 1)), 5, 20))
    drawn = plotly().Scattergl if len(at) > 2000 else plotly().Scatter
    return drawn(
        x=at[members, 0],
        y=at[members, 1],
        mode="markers+text" if named else "markers",
        text=[word if len(word) <= SHORT else "" for word in words[members]] if named else None,
        hovertext=words[members].tolist(),
        hoverinfo="text",
        textposition="top center",
        textfont={"size": 11, "color": INK},
        marker={"size": size, "color": color, "line": {"color": "white", "width": 1}},
        name=name,
    )
