"""The blocks of a look inside a data set, each a dict with a `kind`: "images", "table", "texts", "sounds", "bars" and
"points". It imports no library of ours: the process that examines foreign files uses it too.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

Block = dict[str, Any]
PICTURES, ROWS, TEXTS, SOUNDS, SHAPES, MOST_LETTERS = 24, 8, 6, 6, 6, 240
MOST_BARS = 24


def spread(count: int, most: int) -> range:
    """At most so many of the places 0 to count - 1, evenly."""
    return range(0, count, max(1, count // most))[:most]


def png(image: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def wave(samples: np.ndarray, width: int = 120) -> list[float]:
    """The largest absolute sample of each of `width` stretches, as parts of the largest of all."""
    parts = np.array([np.abs(part).max(initial=0) for part in np.array_split(samples, width)])
    return [round(float(peak), 3) for peak in parts / max(parts.max(), 1e-9)]


def projected(points: np.ndarray, most: int = 900) -> list[list[float]]:
    """Points seen from the front and a little from above, in a square from 0 to 100; nearer ones last."""
    points = np.asarray(points, np.float64)
    points = points[np.random.default_rng(0).permutation(len(points))[:most]]
    points = points - (points.min(0) + points.max(0)) / 2
    around, above = np.radians(35), np.radians(20)
    x = points[:, 0] * np.cos(around) - points[:, 1] * np.sin(around)
    depth = points[:, 0] * np.sin(around) + points[:, 1] * np.cos(around)
    y = points[:, 2] * np.cos(above) + depth * np.sin(above)
    size = max(np.ptp(x), np.ptp(y), 1e-9)
    flat = np.stack([50 + 90 * (x - x.mean()) / size, 50 - 90 * (y - y.mean()) / size], 1)
    return [[round(float(value), 1) for value in row] for row in flat[np.argsort(-depth)]]


def counts(labels: np.ndarray, classes: Sequence[str]) -> list[tuple[str, int]]:
    counts = np.bincount(np.asarray(labels).reshape(-1), minlength=len(classes))
    return [(str(name), int(count)) for name, count in zip(classes, counts, strict=True)]


def bars(title: str, items: Sequence[tuple[str, int]]) -> Block:
    """The bars with the most if there are more than can be read."""
    if len(items) > MOST_BARS:
        items = sorted(items, key=lambda item: -item[1])[:MOST_BARS]
    return {"kind": "bars", "title": title, "items": [[str(name), int(count)] for name, count in items]}


def histogram(title: str, values: Any) -> Block:
    """Counts of integers, in classes that double: 0, 1, 2 to 3, 4 to 7, ..."""
    values = np.asarray(values, np.int64)
    classes = np.where(values > 0, np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) + 1, 0)
    items = []
    for number, count in enumerate(np.bincount(classes)):
        first, last = (2 ** (number - 1), 2**number - 1) if number else (0, 0)
        items.append((f"{first:,}" if first == last else f"{first:,} – {last:,}", int(count)))
    return bars(title, items)
