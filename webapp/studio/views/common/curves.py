"""A curve of bounded size: however long a run is, a chart gets a few hundred points."""

from __future__ import annotations

import math


class Curve:
    """Means of neighbouring points. When `capacity` of them are full, pairs are merged and later means cover
    twice as many points; so memory and the bytes sent to the page are bounded, and noise averages out.
    """

    def __init__(self, capacity: int = 240) -> None:
        if capacity < 4 or capacity % 2:
            raise ValueError(f"capacity: expected an even number of at least 4, got {capacity}")
        self.capacity = capacity
        self.width = 1  # points per mean
        self._means: list[tuple[float, float]] = []
        self._open: list[tuple[float, float]] = []  # the points of the mean that is being filled

    @classmethod
    def of(cls, x: list[float], y: list[float]) -> Curve:
        """A curve of these points, each a mean already; later points are added beside them."""
        curve = cls()
        curve._means = [(float(a), float(b)) for a, b in zip(x, y, strict=True)][-curve.capacity :]
        return curve

    def add(self, x: float, y: float) -> None:
        """Appends a point. A y that is not finite is skipped."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        self._open.append((x, y))
        if len(self._open) < self.width:
            return
        self._means.append(_mean(self._open))
        self._open = []
        if len(self._means) == self.capacity:
            pairs = zip(self._means[::2], self._means[1::2], strict=True)
            self._means = [_mean(list(pair)) for pair in pairs]
            self.width *= 2

    def __len__(self) -> int:
        return len(self._means) + bool(self._open)

    def points(self) -> tuple[list[float], list[float]]:
        """(x values, y values), the last mean over the points so far."""
        means = list(self._means)
        rest = list(self._open)
        if rest:
            means.append(_mean(rest))
        return [x for x, _ in means], [y for _, y in means]


def _mean(points: list[tuple[float, float]]) -> tuple[float, float]:
    n = len(points)
    return sum(x for x, _ in points) / n, sum(y for _, y in points) / n
