"""A program that answers questions about data sets, one JSON line for each: `{"ask": "cards"}` and `{"ask": "look",
"name": "mnist"}`. It imports the library, which the server does not.

A look is a list of blocks, each with a `kind`: "images", "table", "texts", "sounds", "bars" and "points".
"""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from sampan import datasets
from sampan.datasets import point_clouds
from sampan.datasets.card_file import Card
from sampan.graph import Graph

Block = dict[str, Any]
PICTURES, ROWS, TEXTS, SOUNDS, SHAPES, MOST_LETTERS = 24, 8, 6, 6, 6, 240
MOST_BARS = 24


def cards() -> list[dict[str, Any]]:
    """What the page of all data sets shows of each."""
    present = set(datasets.available())
    return [_card(card, card.name in present) for card in datasets.cards().values()]


def _card(card: Card, present: bool) -> dict[str, Any]:
    layout = card.layouts[0]
    words = ("name", "title", "title_zh", "about", "origin", "source", "licence", "citation", "version")
    return {
        **{word: getattr(card, word) for word in words},
        "licence_zh": card.licence_zh or card.licence,
        "schema": card.schema,
        "train": layout.train,
        "test": layout.test,
        "bytes": layout.bytes,
        "classes": list(card.classes),
        "present": present,
        "line": f'sampan.datasets.{datasets.LOADERS[layout.reader]}("{card.name}")',
    }


def look(name: str) -> list[Block]:
    """The blocks of a data set that is on this machine. Raises what its loader raises."""
    card = datasets.card(name)
    return LOOKS[datasets.LOADERS[card.layouts[0].reader]](card)


def _images(card: Card) -> list[Block]:
    part = datasets.load(card.name).train
    chosen = _spread(len(part), PICTURES)
    items = [(part.images[i], card.classes[part.labels[i]]) for i in chosen]
    scale = 255 / card.scale
    pictures = [
        {"png": _png((image * scale).astype(np.uint8)), "label": str(label)} for image, label in items
    ]
    return [{"kind": "images", "items": pictures}, _bars("classes", _counts(part.labels, card.classes))]


def _text(card: Card) -> list[Block]:
    return [{"kind": "texts", "items": [{"text": datasets.load_text(card.name).train[:1200], "label": ""}]}]


def _texts(card: Card) -> list[Block]:
    part = datasets.load_texts(card.name).train
    chosen = _spread(len(part), TEXTS)
    items = [
        {"text": part.texts[i][:MOST_LETTERS], "label": str(card.classes[part.labels[i]])} for i in chosen
    ]
    return [
        {"kind": "texts", "items": items},
        _bars("classes", _counts(part.labels, card.classes)),
        _histogram("lengths", [len(text) for text in part.texts]),
    ]


def _recordings(card: Card) -> list[Block]:
    found = datasets.load_recordings(card.name)
    chosen = _spread(len(found.train), SOUNDS)
    items = []
    for recording in (found.train[i] for i in chosen):
        kind = "audio/mpeg" if recording.name.endswith(".mp3") else "audio/wav"
        waveform, rate = recording.load()
        items.append(
            {
                "url": f"data:{kind};base64,{base64.b64encode(recording.bytes()).decode()}",
                "label": f"{recording.label} · {recording.speaker}",
                "seconds": waveform.shape[-1] / rate,
                "wave": _wave(waveform.numpy().mean(0)),
            }
        )
    speakers = [recording.speaker for recording in (*found.train, *found.test, *found.other)]
    names, counts = np.unique(speakers, return_counts=True)
    return [
        {"kind": "sounds", "items": items},
        _bars("speakers", list(zip(names.tolist(), counts.tolist(), strict=True))),
    ]


def _graph(card: Card) -> list[Block]:
    found = datasets.load_graph(card.name)
    graph = found.graph
    blocks = []
    rows = [[kind or "", f"{len(names):,}", ", ".join(names[:4])] for kind, names in found.names.items()]
    rows.append(["", f"{graph.num_nodes:,} / {graph.num_edges:,}", ""])
    if isinstance(graph, Graph):  # a graph with types has edges of several kinds
        sources = np.asarray(graph.edges)[:, 0]
        blocks.append(_histogram("degrees", np.bincount(sources, minlength=graph.num_nodes)))
    if len(found.labels):
        blocks.append(_bars("classes", _counts(found.labels[found.labels >= 0], card.classes)))
    return [{"kind": "table", "head": "graph", "rows": rows}, *blocks]


def _ratings(card: Card) -> list[Block]:
    log = datasets.load_ratings(card.name)
    rows = [
        [f"{log.users[i]}", log.title(int(log.items[i])), f"{log.values[i]:g}", f"{log.times[i]}"]
        for i in range(ROWS)
    ]
    values, counts = np.unique(log.values, return_counts=True)
    return [
        {"kind": "table", "head": "ratings", "rows": rows},
        _bars("ratings", [(f"{value:g}", int(count)) for value, count in zip(values, counts, strict=True)]),
        _histogram("rated", np.bincount(log.items)),
    ]


def _shapes(card: Card) -> list[Block]:
    shapes = point_clouds.load_shapes(card.name)
    chosen = _spread(len(shapes.labels), SHAPES)
    items = [
        {
            "points": _projected(np.argwhere(shapes.grids[i])),
            "label": str(card.classes[int(shapes.labels[i])]),
        }
        for i in chosen
    ]
    return [
        {"kind": "points", "items": items},
        _bars("classes", _counts(shapes.labels, card.classes)),
    ]


def _meshes(card: Card) -> list[Block]:
    meshes = point_clouds.load_meshes(card.name)
    items = [
        {"points": _projected(mesh.vertices), "label": name} for name, mesh in list(meshes.items())[:SHAPES]
    ]
    return [{"kind": "points", "items": items}]


LOOKS: dict[str, Callable[[Card], list[Block]]] = {
    "load": _images,
    "load_text": _text,
    "load_texts": _texts,
    "load_recordings": _recordings,
    "load_graph": _graph,
    "load_ratings": _ratings,
    "point_clouds.load_shapes": _shapes,
    "point_clouds.load_meshes": _meshes,
}


def _spread(count: int, most: int) -> range:
    """At most so many of the places 0 to count - 1, evenly."""
    return range(0, count, max(1, count // most))[:most]


def _png(image: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _wave(samples: np.ndarray, width: int = 120) -> list[float]:
    """The largest absolute sample of each of `width` stretches, as parts of the largest of all."""
    parts = np.array([np.abs(part).max(initial=0) for part in np.array_split(samples, width)])
    return [round(float(peak), 3) for peak in parts / max(parts.max(), 1e-9)]


def _projected(points: np.ndarray, most: int = 900) -> list[list[float]]:
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


def _counts(labels: np.ndarray, classes: Sequence[str]) -> list[tuple[str, int]]:
    counts = np.bincount(np.asarray(labels).reshape(-1), minlength=len(classes))
    return [(str(name), int(count)) for name, count in zip(classes, counts, strict=True)]


def _bars(title: str, items: Sequence[tuple[str, int]]) -> Block:
    """The bars with the most if there are more than can be read."""
    if len(items) > MOST_BARS:
        items = sorted(items, key=lambda item: -item[1])[:MOST_BARS]
    return {"kind": "bars", "title": title, "items": [[str(name), int(count)] for name, count in items]}


def _histogram(title: str, values: Any) -> Block:
    """Counts of integers, in classes that double: 0, 1, 2 to 3, 4 to 7, ..."""
    values = np.asarray(values, np.int64)
    classes = np.where(values > 0, np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) + 1, 0)
    items = []
    for number, count in enumerate(np.bincount(classes)):
        first, last = (2 ** (number - 1), 2**number - 1) if number else (0, 0)
        items.append((f"{first:,}" if first == last else f"{first:,} – {last:,}", int(count)))
    return _bars(title, items)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        found = cards() if question["ask"] == "cards" else look(question["name"])
    except (ValueError, OSError, KeyError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"answer": found}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
