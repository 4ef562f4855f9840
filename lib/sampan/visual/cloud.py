"""Points in space as a picture that turns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .style import COLORS, EMPTY, MUTED, figure, plotly

EDGE = {"color": "rgba(31, 42, 55, 0.35)", "width": 1}  # separates overlapping points
PALETTE = (*COLORS, "#F0E442", MUTED)  # for labels: still apart for the colour-blind
MOST_POINTS = 20_000  # what a browser still turns without a jerk


def thinned(count: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Which of `count` points are shown: all, or `most` of them drawn evenly, the same ones each time, in
    ascending order."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def cloud(
    places: ArrayLike,
    colours: ArrayLike | None = None,
    names: Sequence[str] | Mapping[int, str] | None = None,
    title: str = "",
) -> Any:
    """Figure of points [n, 3] (x, y, z, with z upwards), in equal scales, which turns under the pointer.

    colours: [n] integers are labels: a colour and an entry of the legend for each, called by `names` (by
    label). [n] of any other numbers are values, from dark to light, with their bar. The colours stay apart
    for the colour-blind. More than 20,000 points are thinned evenly, and the title says so. A point costs the
    page about 20 bytes.

    Raises ValueError for places that are not [n, 3] or not finite, colours of another length or not finite, a
    label without a name.
    """
    points = np.asarray(places)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"places: expected [points, 3], got shape {list(points.shape)}")
    if not np.isfinite(points).all():
        raise ValueError("places: expected finite numbers, got some that are not")
    marks = None if colours is None else np.asarray(colours)
    if marks is not None and marks.shape != (len(points),):
        raise ValueError(
            f"colours: expected one for each of {len(points)} points, got shape {list(marks.shape)}"
        )
    shown = thinned(len(points))
    if len(shown) < len(points):
        title = f"{title} ({len(shown):,} of {len(points):,} points)".lstrip()
    made = figure(title, height=460, showlegend=marks is not None)
    axis = {"title": {"text": ""}, "showticklabels": False, "showbackground": False, "gridcolor": EMPTY}
    axis |= {"zerolinecolor": EMPTY, "showspikes": False}
    camera = {"eye": {"x": 1.3, "y": -1.5, "z": 0.8}}
    made.update_layout(
        scene={"xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "data", "camera": camera},
        margin={"l": 0, "r": 0, "t": 48 if title else 8, "b": 0},
        legend={"itemsizing": "constant", "orientation": "h", "y": 0, "yanchor": "top"},
    )
    points = points[shown].astype(np.float32)
    size = float(np.clip(60 / max(len(points), 1) ** (1 / 3), 2.0, 7.0))
    if marks is None:
        made.add_trace(_points(points, {"size": size, "color": COLORS[0]}))
        return made
    if marks.dtype.kind not in "iub":
        if not np.isfinite(marks).all():
            raise ValueError("colours: expected finite numbers, got some that are not")
        bar = {"thickness": 14, "outlinewidth": 0, "tickfont": {"color": MUTED}}
        scale = {"color": marks[shown].astype(np.float32), "colorscale": "Cividis", "colorbar": bar}
        made.add_trace(_points(points, {"size": size, **scale}))
        made.update_layout(showlegend=False)
        return made
    marks = marks[shown].astype(np.int64)
    for label in np.unique(marks):
        at = marks == label
        marker = {"size": size, "color": PALETTE[int(label) % len(PALETTE)]}
        made.add_trace(_points(points[at], marker, _name(names, int(label))))
    return made


def _points(points: NDArray[np.float32], marker: dict[str, Any], name: str = "") -> Any:
    x, y, z = (np.ascontiguousarray(points[:, axis]) for axis in range(3))
    return plotly().Scatter3d(
        x=x,
        y=y,
        z=z,
        mode="markers",
        marker={"line": EDGE, **marker},
        name=name,
        hoverinfo="name" if name else "x+y+z",
    )


def _name(names: Sequence[str] | Mapping[int, str] | None, label: int) -> str:
    if names is None:
        return str(label)
    known = names.keys() if isinstance(names, Mapping) else range(len(names))
    if label not in known:
        raise ValueError(f"names: expected one for label {label}, got those of {list(known)}")
    return names[label]
