"""Rows of a table that are divided among shards: the way of a batch, and the load of each shard. Used by
notebook 14."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..distributed.parameter_server import client
from .style import COLORS, INK, MUTED, bare_axes, figure, plotly

MOST = 32  # ids: with more, their numbers overlap


def shards(
    ids: ArrayLike,
    count: int,
    title: str = "",
    words: tuple[str, str, str] = ("batch", "each id once", "shard"),
) -> Any:
    """Figure of a pull: the ids of a batch, each different id once, and the shard that has its row, by
    `distributed.parameter_server.client.divided`. What belongs to one shard has one colour.

    ids: integers [n], at most 32. count: of shards. words: the titles of the columns; the last one also
    names a shard. Raises ValueError for other ids.
    """
    batch = np.asarray(ids, np.int64)
    if batch.ndim != 1 or not 1 <= batch.size <= MOST:
        raise ValueError(f"shards: ids: expected 1 to {MOST} ids in one dimension, got {list(batch.shape)}")
    different, inverse = np.unique(batch, return_inverse=True)
    order, bounds = (np.asarray(part) for part in client.divided(different, count))
    owner = np.repeat(np.arange(count), np.diff(bounds))
    height = {"batch": _heights(batch.size), "row": np.zeros(len(different)), "shard": _heights(count)}
    height["row"][order] = _heights(len(different))
    colors = np.empty(len(different), object)
    colors[order] = [COLORS[one % len(COLORS)] for one in owner]
    made = figure(title, height=120 + 20 * batch.size, showlegend=False)
    for place, row in enumerate(inverse):
        _line(made, (0, height["batch"][place]), (1, height["row"][row]), colors[row], 1)
    for place, one in zip(order, owner, strict=True):
        _line(made, (1, height["row"][place]), (2, height["shard"][one]), colors[place], 2)
    _marks(made, 0, height["batch"], [str(one) for one in batch], colors[inverse].tolist(), 16)
    _marks(made, 1, height["row"], [str(one) for one in different], colors.tolist(), 16)
    names = [f"{words[2]} {one}" for one in range(count)]
    paints = [COLORS[one % len(COLORS)] for one in range(count)]
    _marks(made, 2, height["shard"], names, paints, 30)
    for x, word in enumerate(words):
        made.add_annotation(x=x, y=-0.09, text=word, showarrow=False, font={"color": MUTED})
    bare_axes(made, (-0.3, 2.4), (1.05, -0.14))
    return made


def loads(
    table: Mapping[str, ArrayLike], title: str = "", words: tuple[str, str] = ("shard", "max / mean")
) -> Any:
    """Figure of how many ids each shard has: a group of bars for each shard, a colour for each rule.

    table: a rule's name and its counts [shards]. words: the title of the axis, and what the number beside a
    name is: the largest count over the mean. Raises ValueError for counts of different lengths, or none.
    """
    columns = {name: np.asarray(counts, np.float64) for name, counts in table.items()}
    sizes = {column.shape for column in columns.values()}
    if len(sizes) != 1 or any(not column.size or column.sum() <= 0 for column in columns.values()):
        given = {name: list(column.shape) for name, column in columns.items()}
        raise ValueError(f"loads: table: expected counts [shards] of one length, not all 0, got {given}")
    made = figure(title, height=340)
    for number, (name, column) in enumerate(columns.items()):
        label = f"{name}: {words[1]} {column.max() / column.mean():.2f}"
        paint = {"color": COLORS[number % len(COLORS)]}
        made.add_trace(plotly().Bar(x=np.arange(column.size), y=column, name=label, marker=paint))
    made.update_xaxes(title=words[0], dtick=1)
    made.update_layout(barmode="group", legend={"orientation": "h", "y": -0.25})
    made.update_layout(margin={"l": 50, "b": 50})
    return made


def _heights(count: int) -> np.ndarray:
    """Equal distances from 0 to 1, in their middles."""
    return (np.arange(count) + 0.5) / count


def _line(made: Any, begin: tuple[float, float], end: tuple[float, float], color: str, width: int) -> None:
    across = {"x": [begin[0], end[0]], "y": [begin[1], end[1]], "mode": "lines", "hoverinfo": "skip"}
    made.add_trace(plotly().Scatter(line={"color": color, "width": width}, opacity=0.6, **across))


def _marks(made: Any, x: float, y: np.ndarray, texts: list[str], colors: list[str], size: int) -> None:
    look = {"symbol": "square", "size": size, "color": colors}
    font = {"color": INK, "size": 12}
    made.add_trace(
        plotly().Scatter(
            x=[x] * len(y),
            y=y,
            mode="markers+text",
            marker=look,
            text=[f"  {text}  " for text in texts],
            textposition="middle left" if x == 0 else "middle right",
            textfont=font,
            hoverinfo="skip",
        )
    )
