"""A program that answers questions about data sets, one JSON line for each: `{"ask": "cards"}` and `{"ask": "look",
"name": "mnist"}`. It imports the library, which the server does not.

A look is a list of blocks, see blocks.py.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from sampan import datasets
from sampan.datasets import point_clouds
from sampan.datasets.card_file import Card
from sampan.graph import Graph

from .blocks import (
    MOST_LETTERS,
    PICTURES,
    ROWS,
    SHAPES,
    SOUNDS,
    TEXTS,
    Block,
    bars,
    counts,
    histogram,
    png,
    projected,
    spread,
    wave,
)


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
        "about_zh": card.about_zh or card.about,
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
    chosen = spread(len(part), PICTURES)
    items = [(part.images[i], card.classes[part.labels[i]]) for i in chosen]
    scale = 255 / card.scale
    pictures = [{"png": png((image * scale).astype(np.uint8)), "label": str(label)} for image, label in items]
    return [{"kind": "images", "items": pictures}, bars("classes", counts(part.labels, card.classes))]


def _text(card: Card) -> list[Block]:
    return [{"kind": "texts", "items": [{"text": datasets.load_text(card.name).train[:1200], "label": ""}]}]


def _texts(card: Card) -> list[Block]:
    part = datasets.load_texts(card.name).train
    chosen = spread(len(part), TEXTS)
    items = [
        {"text": part.texts[i][:MOST_LETTERS], "label": str(card.classes[part.labels[i]])} for i in chosen
    ]
    return [
        {"kind": "texts", "items": items},
        bars("classes", counts(part.labels, card.classes)),
        histogram("lengths", [len(text) for text in part.texts]),
    ]


def _recordings(card: Card) -> list[Block]:
    found = datasets.load_recordings(card.name)
    chosen = spread(len(found.train), SOUNDS)
    items = []
    for recording in (found.train[i] for i in chosen):
        kind = "audio/mpeg" if recording.name.endswith(".mp3") else "audio/wav"
        waveform, rate = recording.load()
        items.append(
            {
                "url": f"data:{kind};base64,{base64.b64encode(recording.bytes()).decode()}",
                "label": f"{recording.label} · {recording.speaker}",
                "seconds": waveform.shape[-1] / rate,
                "wave": wave(waveform.numpy().mean(0)),
            }
        )
    speakers = [recording.speaker for recording in (*found.train, *found.test, *found.other)]
    names, counts = np.unique(speakers, return_counts=True)
    return [
        {"kind": "sounds", "items": items},
        bars("speakers", list(zip(names.tolist(), counts.tolist(), strict=True))),
    ]


def _graph(card: Card) -> list[Block]:
    found = datasets.load_graph(card.name)
    graph = found.graph
    blocks = []
    rows = [[kind or "", f"{len(names):,}", ", ".join(names[:4])] for kind, names in found.names.items()]
    rows.append(["", f"{graph.num_nodes:,} / {graph.num_edges:,}", ""])
    if isinstance(graph, Graph):  # a graph with types has edges of several kinds
        sources = np.asarray(graph.edges)[:, 0]
        blocks.append(histogram("degrees", np.bincount(sources, minlength=graph.num_nodes)))
    if len(found.labels):
        blocks.append(bars("classes", counts(found.labels[found.labels >= 0], card.classes)))
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
        bars("ratings", [(f"{value:g}", int(count)) for value, count in zip(values, counts, strict=True)]),
        histogram("rated", np.bincount(log.items)),
    ]


def _shapes(card: Card) -> list[Block]:
    shapes = point_clouds.load_shapes(card.name)
    chosen = spread(len(shapes.labels), SHAPES)
    items = [
        {
            "points": projected(np.argwhere(shapes.grids[i])),
            "label": str(card.classes[int(shapes.labels[i])]),
        }
        for i in chosen
    ]
    return [
        {"kind": "points", "items": items},
        bars("classes", counts(shapes.labels, card.classes)),
    ]


def _meshes(card: Card) -> list[Block]:
    meshes = point_clouds.load_meshes(card.name)
    items = [
        {"points": projected(mesh.vertices), "label": name} for name, mesh in list(meshes.items())[:SHAPES]
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
