"""What a machine makes of a loop: where it reads, and how near it comes to what the machine can do."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .style import COLORS, INK, MUTED, figure, plotly


def reads(orders: Mapping[str, Sequence[int]], title: str = "") -> Any:
    """Figure of the addresses that loops read, in bytes, one after the other: a line that climbs slowly uses
    what a cache line brings, one that jumps fetches anew for every number. Raises `ValueError` when there is
    nothing to draw."""
    if not any(len(addresses) for addresses in orders.values()):
        raise ValueError("reads: at least one address is expected")
    made = figure(title, height=360)
    for color, (name, addresses) in zip(COLORS, orders.items(), strict=False):
        line = {"color": color}
        made.add_trace(plotly().Scatter(y=list(addresses), name=name, mode="lines+markers", line=line))
    made.update_xaxes(title="read number")
    made.update_yaxes(title="bytes from the matrix's beginning")
    return made


def roofline(
    points: Mapping[str, tuple[float, float]], peak: float, bandwidth: float, title: str = ""
) -> Any:
    """Figure of what programs reach below what the machine allows (Williams, Waterman and Patterson 2009).

    points: name to (operations for each byte that moves, operations a second). The roof is the lower of
    `peak`, operations a second, and `bandwidth`, bytes a second, times operations for a byte. Raises
    `ValueError` unless all are positive.
    """
    numbers = [peak, bandwidth, *(number for point in points.values() for number in point)]
    if not points or not all(math.isfinite(number) and number > 0 for number in numbers):
        raise ValueError("roofline: points, peak and bandwidth must be positive numbers")
    edge = peak / bandwidth
    left = min(edge, *(x for x, _ in points.values())) / 4
    right = max(edge, *(x for x, _ in points.values())) * 4
    made = figure(title, height=420, showlegend=False)
    roof = {"x": [left, edge, right], "y": [left * bandwidth, peak, peak]}
    made.add_trace(plotly().Scatter(**roof, mode="lines", line={"color": INK, "width": 3}, hoverinfo="skip"))
    x, y = zip(*points.values(), strict=True)
    marker = {"size": 11, "color": [COLORS[i % len(COLORS)] for i in range(len(points))]}
    look = {"mode": "markers+text", "textposition": "bottom center", "marker": marker}
    made.add_trace(plotly().Scatter(x=x, y=y, text=list(points), **look))
    made.add_vline(x=edge, line={"color": MUTED, "dash": "dot"})
    made.update_xaxes(type="log", title="operations for each byte that moves")
    made.update_yaxes(type="log", title="operations a second")
    return made
