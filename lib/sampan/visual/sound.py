"""Pictures and players of sound, and matrices over time: spectrograms, posteriors, masks. Used by notebooks
09 and 10."""

import base64
import html
import io
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .style import COLORS, figure, plotly

MOST_POINTS = 8_000  # of a drawn wave: a longer one is drawn as the range of each piece
PEAK = 0.9  # the loudest sample of a player, of 1


def waves(sounds: Mapping[str, ArrayLike], rate: float, title: str = "") -> Any:
    """Figure of waveforms over seconds, one below the other; sounds: samples [time] by name, rate in Hz.

    Raises ValueError for samples with another number of axes, and for no sound.
    """
    made = figure(title, height=90 + 130 * len(sounds), showlegend=False)
    made.set_subplots(rows=_some("waves", sounds), cols=1, shared_xaxes=True, subplot_titles=list(sounds))
    for row, (name, given) in enumerate(sounds.items(), 1):
        samples = _samples("waves", name, given)
        size = -(-len(samples) // (MOST_POINTS // 2))
        if size > 1:  # the lowest and the highest of each piece
            pieces = np.pad(samples, (0, -len(samples) % size), mode="edge").reshape(-1, size)
            samples = np.stack([pieces.min(1), pieces.max(1)], 1).ravel()
        at = np.arange(len(samples)) * (size / 2 if size > 1 else 1) / rate
        line = {"width": 1, "color": COLORS[(row - 1) % len(COLORS)]}
        made.add_trace(plotly().Scatter(x=at, y=samples, mode="lines", line=line, name=name), row=row, col=1)
    made.update_xaxes(title="s", row=len(sounds), col=1)
    return made


def heat(
    values: ArrayLike,
    x: Sequence[Any] | None = None,
    y: Sequence[Any] | None = None,
    title: str = "",
    axes: tuple[str, str] = ("", ""),
    path: Sequence[float] | None = None,
) -> Any:
    """Figure of a matrix [rows, columns] as colours, row 0 at the bottom.

    x, y: what the columns and rows stand for, numbers or words. axes: the titles of x and y. path: a line
    over the columns, a number or word of y for each. Raises ValueError for another number of axes, and for x,
    y or a path of another length.
    """
    matrix = np.asarray(values, np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"heat: values: expected [rows, columns], got shape {list(matrix.shape)}")
    rows, columns = matrix.shape
    for name, given, expected in (("x", x, columns), ("y", y, rows), ("path", path, columns)):
        if given is not None and len(given) != expected:
            raise ValueError(f"heat: {name}: expected {expected} entries, got {len(given)}")
    made = figure(title, height=340)
    made.add_trace(plotly().Heatmap(z=matrix, x=x, y=y, colorscale="Viridis", hoverongaps=False))
    if path is not None:
        at = list(range(matrix.shape[1])) if x is None else list(x)
        line = {"color": COLORS[4], "width": 3}
        made.add_trace(plotly().Scatter(x=at, y=list(path), mode="lines", line=line, showlegend=False))
    made.update_xaxes(title=axes[0])
    made.update_yaxes(title=axes[1])
    made.update_layout(margin={"l": 60, "b": 50})
    return made


class Players:
    """What a notebook shows as one line for each sound: its name and a player."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def _repr_html_(self) -> str:
        return "".join(self.lines)


def players(sounds: Mapping[str, ArrayLike], rate: float) -> Players:
    """Players of sounds, to listen to in a notebook; sounds: samples [time] by name, rate in Hz.

    Each is as loud as the others: its loudest sample becomes 0.9. Raises ValueError as `waves` does.
    """
    _some("players", sounds)
    lines = []
    for name, given in sounds.items():
        samples = _samples("players", name, given)
        scaled = samples * (PEAK * 32767 / max(float(np.abs(samples).max(initial=0.0)), 1e-9))
        stored = io.BytesIO()
        with wave.open(stored, "wb") as held:
            held.setnchannels(1)
            held.setsampwidth(2)
            held.setframerate(int(rate))
            held.writeframes(scaled.astype("<i2").tobytes())
        data, label = base64.b64encode(stored.getvalue()).decode(), html.escape(name, quote=True)
        lines.append(
            f'<div>{label}<br><audio controls aria-label="{label}" '
            f'src="data:audio/wav;base64,{data}"></audio></div>'
        )
    return Players(lines)


def _some(who: str, sounds: Mapping[str, ArrayLike]) -> int:
    if not sounds:
        raise ValueError(f"{who}: sounds: expected at least one, got none")
    return len(sounds)


def _samples(who: str, name: str, given: ArrayLike) -> Any:
    """float64 [time]; ValueError for another number of axes."""
    samples = np.asarray(given, np.float64)
    if samples.ndim != 1:
        raise ValueError(f"{who}: {name}: expected samples [time], got shape {list(samples.shape)}")
    return samples
