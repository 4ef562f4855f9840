"""Recorded Programs as pictures: the memory of their results over time, and a race of engines."""

from collections.abc import Mapping, Sequence
from typing import Any

from .style import COLORS, INK, figure, plotly

WRONG = "#c0392b"
LEAST_NAMED = 0.04  # of the height of the figure: smaller rectangles have no room for a name
MOST_NAMED = 40


def arena(
    lives: Sequence[tuple[str, int, int, int]],
    places: Sequence[int],
    title: str = "",
    axes: tuple[str, str] = ("call", "kB"),
) -> Any:
    """Figure of values in an arena: a rectangle for each, as wide as its life and as high as its bytes.

    lives: (name, bytes, first call, last call) of each value. places: where each begins, in bytes.
    Values that overlap are red. Raises ValueError where there is not one place for each value.
    """
    if len(places) != len(lives):
        raise ValueError(f"arena: places: expected {len(lives)} offsets, got {len(places)}")
    boxes = [(born, last + 1, at, at + size) for (_, size, born, last), at in zip(lives, places, strict=True)]
    made = figure(title, height=420, showlegend=False)
    for number, ((name, size, born, last), box) in enumerate(zip(lives, boxes, strict=True)):
        wrong = size > 0 and any(i != number and _overlap(box, other) for i, other in enumerate(boxes))
        left, right, low, high = box
        color = WRONG if wrong else COLORS[number % len(COLORS)]
        shape = {"x": [left, left, right, right, left], "y": [v / 1e3 for v in (low, high, high, low, low)]}
        look = {"mode": "lines", "fill": "toself", "fillcolor": color, "opacity": 0.75, "name": name}
        text = f"{name}: {size:,} B<br>{born} - {last}<br>{low:,} - {high:,}"
        line = {"color": "white", "width": 1}
        made.add_trace(
            plotly().Scatter(**shape, **look, line=line, hoveron="fills", text=text, hoverinfo="text")
        )
    top = max((box[3] for box in boxes), default=0)
    for (name, *_), (left, right, low, high) in zip(lives, boxes, strict=True):
        if high - low >= LEAST_NAMED * top and len(lives) <= MOST_NAMED:
            at = {"x": (left + right) / 2, "y": (low + high) / 2e3}
            made.add_annotation(**at, text=name, showarrow=False, font={"size": 10, "color": INK})
    made.update_xaxes(title=axes[0], zeroline=False)
    made.update_yaxes(title=axes[1], rangemode="tozero")
    return made


def _overlap(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two boxes (left, right, low, high) share an area."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def bars(values: Mapping[str, float], title: str = "", unit: str = "ms") -> Any:
    """Figure of a bar for each runner, the first at the top, with its number and its share of the first.

    values: what was measured by name, positive. Raises ValueError for none, or one that is not positive.
    """
    if not values or not all(value > 0 for value in values.values()):
        raise ValueError(f"bars: values: expected positive numbers by name, got {dict(values)}")
    names, numbers = list(values), list(values.values())
    texts = [f"{value:.3g} {unit} ({value / numbers[0]:.2f})" for value in numbers]
    colors = [COLORS[i % len(COLORS)] for i in range(len(names))]
    made = figure(title, height=110 + 46 * len(names), showlegend=False)
    look = {"orientation": "h", "marker": {"color": colors}, "text": texts, "textposition": "auto"}
    made.add_trace(plotly().Bar(x=numbers, y=names, hoverinfo="skip", **look))
    made.update_yaxes(autorange="reversed")
    made.update_xaxes(title=unit, rangemode="tozero")
    return made
