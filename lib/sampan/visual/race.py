"""Optimizers racing on the same hill, as an animation."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .style import COLORS, figure, plotly

MOST_FRAMES = 60


def loss_surface_race(
    surface: Callable[[np.ndarray, np.ndarray], np.ndarray],
    paths: Mapping[str, Any],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    title: str = "Who finds the valley?",
) -> Any:
    """Animation of several paths over the contour lines of `surface`.

    `surface(x, y)` takes two float64 arrays of one shape and gives the loss in that shape. `paths` maps a
    name to an array [steps, 2] of the points visited; all start together, a shorter one waits at its end. A
    point that leaves the picture stays at its edge, and its name says "gone". Raises `ValueError` for paths
    that are not [steps, 2].
    """
    tracks = {name: _track(name, path) for name, path in paths.items()}
    if not tracks:
        raise ValueError("loss_surface_race: paths is empty; expected a name and an array [steps, 2] or more")
    go = plotly()
    x, y = np.linspace(*x_range, 80), np.linspace(*y_range, 80)
    height = np.asarray(surface(*np.meshgrid(x, y)), dtype=np.float64)
    if height.shape != (80, 80):
        raise ValueError(f"loss_surface_race: surface gave shape {list(height.shape)} for inputs of [80, 80]")
    made = figure(title, height=520, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    # Logarithmic heights: a valley floor would be one flat colour otherwise.
    blues = {"colorscale": "Blues", "reversescale": True, "showscale": False, "hoverinfo": "skip"}
    heights = np.log1p(height - height.min())
    made.add_trace(go.Contour(x=x, y=y, z=heights, ncontours=24, line={"width": 0.5}, **blues))
    steps = max(len(track) for track in tracks.values())
    shown = np.unique(np.linspace(1, steps, min(steps, MOST_FRAMES)).round().astype(int))
    made.add_traces(_lines(tracks, int(shown[0]), x_range, y_range, surface))
    which = list(range(1, 1 + len(tracks)))
    drawn = {step: _lines(tracks, int(step), x_range, y_range, surface) for step in shown}
    made.frames = [go.Frame(name=str(step - 1), data=data, traces=which) for step, data in drawn.items()]
    made.update_xaxes(range=list(x_range), showgrid=False, zeroline=False)
    made.update_yaxes(range=list(y_range), showgrid=False, zeroline=False)
    _controls(made, [int(step) - 1 for step in shown])
    return made


def _track(name: str, path: Any) -> np.ndarray:
    track = np.asarray(path, dtype=np.float64)
    if track.ndim != 2 or track.shape[1] != 2 or not len(track):
        raise ValueError(f"loss_surface_race: path {name!r} must be [steps, 2], got {list(track.shape)}")
    return track


def _lines(
    tracks: Mapping[str, np.ndarray], step: int, x_range: Any, y_range: Any, surface: Any
) -> list[Any]:
    made = []
    for color, (name, track) in zip(_colors(len(tracks)), tracks.items(), strict=True):
        seen = track[:step]
        inside = np.isfinite(seen).all(1) & _between(seen[:, 0], x_range) & _between(seen[:, 1], y_range)
        gone = not inside.all()
        seen = seen[: int(np.argmin(inside))] if gone else seen
        if len(seen):
            loss = float(surface(seen[-1:, 0], seen[-1:, 1])[0])
            label = f"{name}: gone" if gone else f"{name}: {loss:.3g}"
        else:
            label = f"{name}: gone"
        sizes = [0] * (len(seen) - 1) + [13] * min(1, len(seen))
        marker = {"size": sizes, "color": color, "line": {"color": "white", "width": 1.5}}
        look = {"mode": "lines+markers", "line": {"color": color, "width": 2.5}, "marker": marker}
        hover = f"{name}<br>%{{x:.3f}}, %{{y:.3f}}<extra></extra>"
        made.append(plotly().Scatter(x=seen[:, 0], y=seen[:, 1], name=label, hovertemplate=hover, **look))
    return made


def _colors(count: int) -> list[str]:
    warm = COLORS[1:] + COLORS[:1]  # blue last: the hill is blue
    return [warm[i % len(warm)] for i in range(count)]


def _between(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    inside: np.ndarray = (values >= limits[0]) & (values <= limits[1])
    return inside


def _controls(made: Any, steps: list[int]) -> None:
    # Redrawn in full: without it plotly drops the contour lines from the second frame on.
    play = {"frame": {"duration": 80, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    stop = {"frame": {"duration": 0, "redraw": True}, "mode": "immediate"}

    def animated(label: str, frames: Any, how: dict[str, Any]) -> dict[str, Any]:
        return {"label": label, "method": "animate", "args": [frames, how]}

    buttons = [animated("Play", None, play), animated("Pause", [None], stop)]
    menu = {"type": "buttons", "direction": "left", "x": 0, "y": -0.1, "xanchor": "left", "yanchor": "top"}
    marks = [animated(str(s), [str(s)], stop) for s in steps]
    slider = {"x": 0.2, "len": 0.8, "y": -0.1, "currentvalue": {"prefix": "step "}, "steps": marks}
    made.update_layout(updatemenus=[{**menu, "showactive": False, "buttons": buttons}], sliders=[slider])
    made.update_layout(margin={"t": 70, "b": 90})
