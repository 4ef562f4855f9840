"""Graphs by name: citations (Cora, Citeseer), an academic network with types (DBLP), a knowledge graph
(WN18RR) and a stream of ratings (Bitcoin OTC).

`load_graph("cora")` gives the graph, its labels and the parts of the public split. Used in notebooks 07
and 08.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..graph import Graph, HeteroGraph
from .card_file import Card
from .download import Progress, print_progress
from .readers import READERS, Arrays, read_npz

__all__ = ["GraphSet", "load_graph"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class GraphSet:
    """A graph with what is to be learned from it.

    labels: int64, a class for each node (of the type `labelled` in a graph with types), -1 where there is
    none. train, valid, test: ids of nodes, or of edges in a knowledge graph; empty where the source has no
    parts. names: of nodes by type ("" in a graph without types), of relations under "relation".
    """

    graph: Any
    card: Card
    labels: Array = field(default_factory=lambda: np.empty(0, np.int64))
    labelled: str = ""
    train: Array = field(default_factory=lambda: np.empty(0, np.int64))
    valid: Array = field(default_factory=lambda: np.empty(0, np.int64))
    test: Array = field(default_factory=lambda: np.empty(0, np.int64))
    names: dict[str, list[str]] = field(default_factory=dict)


def load_graph(name: str, download: bool = False, progress: Progress = print_progress) -> GraphSet:
    """The graph of this name, found, checked and refused as `datasets.load` does it."""
    from . import _arrays

    known, layout, arrays = _arrays(name, download, progress)
    if layout.reader not in MADE:
        raise ValueError(f"{name}: expected a graph, one read by {', '.join(MADE)}, got {layout.reader!r}")
    made = MADE[layout.reader](arrays, known)
    sizes = len(made.train) or made.graph.num_edges, len(made.test)
    if sizes != (layout.train, layout.test):
        raise ValueError(
            f"{name}: expected {layout.train:,} and {layout.test:,} items as its card says, got "
            f"{sizes[0]:,} and {sizes[1]:,}"
        )
    return made


# --- citations ----------------------------------------------------------------------------------------------

_CITATIONS = {
    "crows": 1, "cols": 1, "values": 1, "num_features": 0, "labels": 1, "edge_index": 2, "train": 1, "val": 1,
    "test": 1,
}  # fmt: skip


def read_citations(files: dict[str, Path]) -> Arrays:
    """An .npz file: words of each paper in compressed rows, citations in both directions, classes, parts."""
    path = files["arrays"]
    arrays = read_npz(path, _CITATIONS)
    wrong = [key for key, axes in _CITATIONS.items() if arrays[key].ndim != axes]
    if wrong:
        raise ValueError(
            f"{path}: {wrong[0]}: expected {_CITATIONS[wrong[0]]} axes, got {arrays[wrong[0]].ndim}"
        )
    return arrays


def _citations(arrays: Arrays, card: Card) -> GraphSet:
    """Features are float32 [papers, words], each row divided by its sum, as the published results have it."""
    count, words = len(arrays["labels"]), int(arrays["num_features"])
    rows = np.repeat(np.arange(count), np.diff(arrays["crows"]))
    features = np.zeros((count, words), np.float32)
    features[rows, arrays["cols"]] = arrays["values"]
    features /= np.maximum(features.sum(1, keepdims=True), 1.0)
    graph = Graph((arrays["edge_index"][0], arrays["edge_index"][1]), count, {"x": features})
    labels = arrays["labels"].astype(np.int64)
    return GraphSet(graph, card, labels, "", arrays["train"], arrays["val"], arrays["test"])


# --- an academic network ------------------------------------------------------------------------------------

_DBLP = {"paper": "paper", "author": "author", "venue": "conf", "term": "term"}
_LINKS = {
    ("author", "writes", "paper"): "paper_author",
    ("paper", "published_in", "venue"): "paper_conf",
    ("paper", "contains", "term"): "paper_term",
}
_DBLP_FILES = (*_DBLP, *("paper_author", "paper_conf", "paper_term", "author_label"))


def _columns(path: Path, count: int, encoding: str) -> list[list[str]]:
    """The first `count` columns of each line of a table with tabs."""
    rows = []
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            parts = line.rstrip("\r\n").split("\t")
            if len(parts) < count:
                raise ValueError(f"{path}, line {number}: expected {count} columns, got {len(parts)}")
            rows.append(parts[:count])
    return rows


def _numbers(path: Path, count: int, encoding: str) -> Array:
    rows = _columns(path, count, encoding)
    try:
        return np.array([[int(part) for part in row] for row in rows], np.int64).reshape(-1, count)
    except ValueError as error:
        raise ValueError(f"{path}: expected whole numbers: {error}") from error


def read_dblp(files: dict[str, Path]) -> Arrays:
    """The files of the four-area set: id and name of each node, pairs of ids, id and area of authors."""
    arrays: Arrays = {}
    for kind in _DBLP:
        names = [row[1] for row in _columns(files[kind], 2, "latin-1")]
        arrays[kind] = _numbers(files[kind], 1, "latin-1")[:, 0]
        arrays[f"{kind}_names"] = np.array(names, object)
    for link in _LINKS.values():
        arrays[link] = _numbers(files[link], 2, "latin-1")
    arrays["author_label"] = _numbers(files["author_label"], 2, "latin-1")
    return arrays


def _dblp(arrays: Arrays, card: Card) -> GraphSet:
    """Nodes are those with a link, in the order of the source's ids."""
    used = {
        "paper": np.concatenate([arrays[link][:, 0] for link in _LINKS.values()]),
        "author": arrays["paper_author"][:, 1],
        "venue": arrays["paper_conf"][:, 1],
        "term": arrays["paper_term"][:, 1],
    }
    found = {kind: np.unique(values) for kind, values in used.items()}
    edges = {}
    for link_type, link in _LINKS.items():
        other = link_type[0] if link_type[2] == "paper" else link_type[2]
        papers = np.searchsorted(found["paper"], arrays[link][:, 0])
        others = np.searchsorted(found[other], arrays[link][:, 1])
        edges[link_type] = (papers, others) if link_type[0] == "paper" else (others, papers)
    names = {}
    for kind, ids in found.items():
        known = dict(zip(arrays[kind].tolist(), arrays[f"{kind}_names"], strict=True))
        names[kind] = [known.get(number, str(number)) for number in ids.tolist()]
    labels = np.full(len(found["author"]), -1, np.int64)
    place = np.searchsorted(found["author"], arrays["author_label"][:, 0])
    here = found["author"][np.minimum(place, len(labels) - 1)] == arrays["author_label"][:, 0]
    labels[place[here]] = arrays["author_label"][here, 1]
    graph = HeteroGraph({kind: len(ids) for kind, ids in found.items()}, edges)
    return GraphSet(graph, card, labels, "author", names=names)


# --- a knowledge graph --------------------------------------------------------------------------------------


def read_triples(files: dict[str, Path]) -> Arrays:
    """train, valid and test: head, relation and tail of each line, strings [triples, 3]."""
    return {
        part: np.array(_columns(files[part], 3, "utf-8"), object).reshape(-1, 3)
        for part in ("train", "valid", "test")
    }


def _triples(arrays: Arrays, card: Card) -> GraphSet:
    """One edge a triple, with the edge feature "relation"; entities and relations are numbered by name."""
    whole = np.concatenate([arrays[part] for part in ("train", "valid", "test")])
    entities, ends = np.unique(whole[:, [0, 2]].astype(str), return_inverse=True)
    relations, kinds = np.unique(whole[:, 1].astype(str), return_inverse=True)
    ends = ends.reshape(-1, 2)
    graph = Graph((ends[:, 0], ends[:, 1]), len(entities), None, {"relation": kinds.astype(np.int64)})
    bounds = np.cumsum([len(arrays[part]) for part in ("train", "valid", "test")])
    parts = np.split(np.arange(len(whole)), bounds[:-1])
    names = {"": entities.tolist(), "relation": relations.tolist()}
    return GraphSet(graph, card, train=parts[0], valid=parts[1], test=parts[2], names=names)


# --- a stream of ratings ------------------------------------------------------------------------------------


def read_trust(files: dict[str, Path]) -> Arrays:
    """Who rated whom, how (-10 to 10) and when (seconds), a line each, with or without a header."""
    path = files["ratings"]
    with open(path, encoding="utf-8") as file:
        header = not file.readline()[:1].isdigit()
    try:
        table = np.loadtxt(path, np.float64, delimiter=",", skiprows=int(header), ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if table.shape[1] != 4 or not np.isfinite(table).all():
        raise ValueError(f"{path}: expected 4 finite numbers a line, got shape {list(table.shape)}")
    return {"pairs": table[:, :2].astype(np.int64), "rating": table[:, 2], "time": table[:, 3]}


def _trust(arrays: Arrays, card: Card) -> GraphSet:
    """Edges in the order of time, with the edge features "rating" and "time"."""
    order = np.argsort(arrays["time"], kind="stable")
    people, ends = np.unique(arrays["pairs"][order], return_inverse=True)
    ends = ends.reshape(-1, 2)
    features = {"rating": arrays["rating"][order].astype(np.float32), "time": arrays["time"][order]}
    graph = Graph((ends[:, 0], ends[:, 1]), len(people), None, features)
    return GraphSet(graph, card, names={"": [str(number) for number in people.tolist()]})


READERS["citations"] = (("arrays",), read_citations)
READERS["dblp"] = (_DBLP_FILES, read_dblp)
READERS["triples"] = (("train", "valid", "test"), read_triples)
READERS["trust"] = (("ratings",), read_trust)
MADE: dict[str, Callable[[Arrays, Card], GraphSet]] = {
    "citations": _citations,
    "dblp": _dblp,
    "triples": _triples,
    "trust": _trust,
}
