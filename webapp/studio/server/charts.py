"""Small charts as plain numbers; templates/pages/charts.html draws them as SVG, coloured by the stylesheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

WIDTH, HEIGHT = 340.0, 126.0  # of the week
FLOOR, ROOF = 100.0, 20.0
CURVE_WIDTH, CURVE_HEIGHT = 240.0, 72.0
BARS_WIDTH, BARS_HEIGHT, BARS_FLOOR = 480.0, 150.0, 124.0
MOST_LABELS = 8  # below a row of bars
POINTS = 200  # of a curve that are drawn: more would not be visible


@dataclass(frozen=True)
class Bar:
    """One day. Sizes in SVG units; `weekday` counts from Monday = 0."""

    x: float
    y: float
    width: float
    height: float
    seconds: float
    weekday: int

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def week(days: Sequence[tuple[float, float]]) -> list[Bar]:
    """A bar for each (midnight UTC, seconds)."""
    most = max(
        [3600.0, *(seconds for _, seconds in days)]
    )  # of an hour and more: minutes would look too small
    step = WIDTH / max(1, len(days))
    return [
        Bar(
            x=round(i * step + step * 0.18, 1),
            y=round(FLOOR - (FLOOR - ROOF) * seconds / most, 1),
            width=round(step * 0.64, 1),
            height=round((FLOOR - ROOF) * seconds / most, 1),
            seconds=seconds,
            weekday=datetime.fromtimestamp(midnight, UTC).weekday(),
        )
        for i, (midnight, seconds) in enumerate(days)
    ]


@dataclass(frozen=True)
class Step:
    """One place on the horizontal axis: a bar for each series, as (x, y, width, height, value), and its label, which is
    not drawn for all of them."""

    middle: float
    label: str
    drawn: bool
    bars: tuple[tuple[float, float, float, float, float], ...]


def bars(labels: Sequence[str], *series: Sequence[float]) -> list[Step]:
    """Bars side by side for one or more series of values of at least 0, in a box of BARS_WIDTH by BARS_HEIGHT."""
    most = max((value for values in series for value in values), default=0.0) or 1.0
    step = BARS_WIDTH / max(1, len(labels))
    width = 0.76 * step / len(series)
    every = math.ceil(len(labels) / MOST_LABELS)
    found = []
    for place, label in enumerate(labels):
        drawn = []
        for number, values in enumerate(series):
            height = (BARS_FLOOR - ROOF) * values[place] / most
            x = place * step + 0.12 * step + number * width
            drawn.append(
                (round(x, 1), round(BARS_FLOOR - height, 1), round(width, 1), round(height, 1), values[place])
            )
        found.append(Step(round((place + 0.5) * step, 1), label, place % every == 0, tuple(drawn)))
    return found


@dataclass(frozen=True)
class Curve:
    """`points` for an SVG polyline in a box of CURVE_WIDTH by CURVE_HEIGHT; the rest is text around it."""

    name: str
    points: str
    low: str
    high: str
    last: str
    steps: int


def curve(name: str, values: Sequence[tuple[float, float]]) -> Curve | None:
    """One value over its steps; None when nothing of it can be drawn."""
    finite = [(x, y) for x, y in values if math.isfinite(x) and math.isfinite(y)]
    if not finite:
        return None
    every = math.ceil(len(finite) / POINTS)
    drawn = finite[::every] if (len(finite) - 1) % every == 0 else [*finite[::every], finite[-1]]
    xs, ys = [x for x, _ in finite], [y for _, y in finite]
    left, right, low, high = min(xs), max(xs), min(ys), max(ys)
    across, up = (right - left) or 1.0, (high - low) or 1.0
    points = " ".join(
        f"{4 + (x - left) / across * (CURVE_WIDTH - 8):.1f},{4 + (high - y) / up * (CURVE_HEIGHT - 8):.1f}"
        for x, y in drawn
    )
    return Curve(name, points, f"{low:.4g}", f"{high:.4g}", f"{ys[-1]:.4g}", len(finite))
