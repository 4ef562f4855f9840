"""Chairs, tables, lamps and monitors made by a program: shapes that need no file."""

from typing import Any

import numpy as np

from .voxels import PARTS, Array, Shapes

KINDS = ("chair", "table", "lamp", "monitor")  # of made_shapes


class _Canvas:
    """A cube from -1 to 1 with z up, in which parts are drawn turned by an angle about z."""

    def __init__(self, size: int, angle: float) -> None:
        axis = (np.arange(size, dtype=np.float32) + 0.5) * (2 / size) - 1
        x, y = axis[:, None], axis[None, :]
        self.x = (np.cos(angle) * x + np.sin(angle) * y)[:, :, None]
        self.y = (np.cos(angle) * y - np.sin(angle) * x)[:, :, None]
        self.z = axis[None, None, :]
        self.thin = 1.02 / size  # half a voxel: nothing thinner would leave a trace
        self.parts = np.full((size, size, size), -1, np.int64)

    def box(self, part: str, x: float, y: float, z: float, w: float, d: float, h: float) -> None:
        """A box about (x, y, z); w, d, h: half its width, depth and height."""
        w, d, h = (max(v, self.thin) for v in (w, d, h))
        self._draw(part, (abs(self.x - x) <= w) & (abs(self.y - y) <= d) & (abs(self.z - z) <= h))

    def cone(self, part: str, z: float, h: float, below: float, above: float, wall: float = 2.0) -> None:
        """An upright cone about the middle, from radius `below` to `above`; h: half its height. Equal radii:
        a cylinder.

        wall: how thick it is where it is hollow.
        """
        h = max(h, self.thin)
        radius = below + (above - below) * np.clip((self.z - z + h) / (2 * h), 0, 1)
        away = np.sqrt(self.x**2 + self.y**2)
        inside = (away <= np.maximum(radius, 1.42 * self.thin)) & (away >= radius - wall)
        self._draw(part, inside & (abs(self.z - z) <= h))

    def _draw(self, part: str, where: Array) -> None:
        self.parts[where & (self.parts < 0)] = PARTS.index(part)  # what was drawn first stays


def _legs(c: _Canvas, rng: Any, w: float, d: float, low: float, high: float) -> None:
    """Four legs at the corners of 2w by 2d, or one on a foot, from the height `low` up to `high`."""
    middle, half = (low + high) / 2, (high - low) / 2
    if rng.random() < 0.7:
        thick = rng.uniform(0.03, 0.09)
        for x in (-1, 1):
            for y in (-1, 1):
                c.box("leg", x * (w - thick), y * (d - thick), middle, thick, thick, half)
    else:
        foot = rng.uniform(0.03, 0.06)
        c.cone("foot", low + foot, foot, *(rng.uniform(0.6, 0.9) * min(w, d),) * 2)
        c.cone("leg", middle, half, *(rng.uniform(0.05, 0.12),) * 2)


def _chair(c: _Canvas, rng: Any) -> None:
    w, d = rng.uniform(0.4, 0.6, 2)
    low, high, seat = rng.uniform(-0.95, -0.8), rng.uniform(0.7, 0.95), rng.uniform(-0.25, 0.1)
    thick, back = rng.uniform(0.04, 0.1), rng.uniform(0.04, 0.09)
    c.box("seat", 0, 0, seat, w, d, thick)
    c.box("back", 0, d - back, (seat + high) / 2, w * rng.uniform(0.8, 1), back, (high - seat) / 2)
    if rng.random() < 0.5:
        up, arm = rng.uniform(0.25, 0.4), rng.uniform(0.04, 0.08)
        for x in (-1, 1):
            c.box("arm", x * (w - arm), -0.1 * d, seat + up, arm, 0.8 * d, arm)
            c.box("arm", x * (w - arm), -0.8 * d, seat + up / 2, arm, arm, up / 2)
    _legs(c, rng, w, d, low, seat)


def _table(c: _Canvas, rng: Any) -> None:
    w, d = rng.uniform(0.45, 0.7, 2)
    low, high, thick = rng.uniform(-0.8, -0.5), rng.uniform(0.1, 0.6), rng.uniform(0.03, 0.08)
    if rng.random() < 0.3:
        d = w
        c.cone("top", high, thick, w, w)
        _legs(c, rng, 0.7 * w, 0.7 * w, low, high)
    else:
        c.box("top", 0, 0, high, w, d, thick)
        _legs(c, rng, w, d, low, high)


def _lamp(c: _Canvas, rng: Any) -> None:
    low, high, foot = rng.uniform(-0.95, -0.7), rng.uniform(0.6, 0.95), rng.uniform(0.03, 0.08)
    tall, wide = rng.uniform(0.2, 0.4), rng.uniform(0.3, 0.65)
    c.cone("foot", low + foot, foot, *(rng.uniform(0.25, 0.5),) * 2)
    c.cone("shade", high - tall, tall, wide, wide * rng.uniform(0.3, 1), 3 * c.thin)
    c.cone("pole", (low + high) / 2 - tall / 2, (high - tall - low) / 2, *(rng.uniform(0.04, 0.09),) * 2)


def _monitor(c: _Canvas, rng: Any) -> None:
    w, h, thick = rng.uniform(0.5, 0.68), rng.uniform(0.3, 0.5), rng.uniform(0.04, 0.15)
    low = rng.uniform(-0.8, -0.6)
    middle, foot = low + rng.uniform(0.2, 0.4) + h, rng.uniform(0.03, 0.06)
    c.box("screen", 0, 0, middle, w, thick, h)
    if rng.random() < 0.5:
        c.box("foot", 0, 0, low + foot, w * rng.uniform(0.4, 0.8), rng.uniform(0.25, 0.4), foot)
    else:
        c.cone("foot", low + foot, foot, *(rng.uniform(0.25, 0.4),) * 2)
    c.cone("pole", (low + middle) / 2, (middle - low) / 2, *(rng.uniform(0.05, 0.1),) * 2)


_MAKERS = (_chair, _table, _lamp, _monitor)


def made_shapes(count: int, size: int = 32, seed: int = 0) -> Shapes:
    """Shapes made by a program, not real ones: chairs, tables, lamps, monitors in random proportions, turned
    about z.

    labels: numbers of KINDS, in turn, so that the kinds are equally frequent; parts: numbers of PARTS. The
    same seed makes the same shapes. Raises ValueError for a count below 0 or a size below 8.
    """
    if count < 0 or size < 8:
        raise ValueError(f"count, size: expected 0 or more and 8 or more, got {count} and {size}")
    labels = np.arange(count, dtype=np.int64) % len(KINDS)
    grids, parts = np.zeros((count, size, size, size), bool), []
    for i, label in enumerate(labels):
        rng = np.random.default_rng([seed, i])
        canvas = _Canvas(size, rng.uniform(0, 2 * np.pi))
        _MAKERS[label](canvas, rng)
        grids[i] = canvas.parts >= 0
        parts.append(canvas.parts[grids[i]])
    return Shapes(grids, labels, parts)
