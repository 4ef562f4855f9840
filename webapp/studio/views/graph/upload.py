"""A visitor's own graph: a list of edges as text. Independent of widgets.

The size is bounded before anything is made of it; what is wrong is said with its line.
"""

from __future__ import annotations

import csv
import re

import numpy as np

from .data import Shown

MOST_BYTES, MOST_EDGES, MOST_NODES, MOST_NAME = 4_000_000, 100_000, 20_000, 60
ENDINGS = ".csv,.tsv,.txt"
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_LOOKED_AT = 1_000  # lines that tell whether the first is a header
_HEADERS = {"source", "target", "from", "to", "src", "dst", "起点", "终点"}


class BadFile(ValueError):
    """`reason` is the end of a key of the page's sentences, `values` what the sentence names."""

    def __init__(self, reason: str, **values: object) -> None:
        super().__init__(f"{reason}: {values}")
        self.reason, self.values = reason, values


def read_edges(content: bytes, name: str = "") -> Shown:
    """The graph of a list of edges, both ways: two names a line, with a comma, semicolon, tab or blank between them,
    which a name in double quotes may have as well; further columns, empty lines, lines that begin with # and a header
    are left out. A header has the usual words, or words above numbers. Raises BadFile."""
    if len(content) > MOST_BYTES:
        raise BadFile("bytes", count=f"{len(content):,}", most=f"{MOST_BYTES:,}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("encoding", place=f"{error.start:,}") from error
    if "\0" in text:
        raise BadFile("encoding", place=f"{text.index(chr(0)):,}")
    edges: list[tuple[str, str]] = []
    place: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        ends = _ends(line.strip(), number)
        edges.append(ends)
        place.update((end, 0) for end in ends)
        if len(edges) > MOST_EDGES:
            raise BadFile("edges", most=f"{MOST_EDGES:,}")
        if len(place) > MOST_NODES:
            raise BadFile("nodes", most=f"{MOST_NODES:,}", line=f"{number:,}")
    if edges and _has_header(edges):
        del edges[0]
    if not edges:
        raise BadFile("empty")
    place = {}
    found = [[place.setdefault(end, len(place)) for end in ends] for ends in edges]
    return _graph(np.array(found, np.int64), list(place), name)


def _ends(line: str, number: int) -> tuple[str, str]:
    outside = _QUOTED.sub("", line)
    mark = next((mark for mark in "\t;," if mark in outside), " ")
    try:
        parts = next(csv.reader([line], delimiter=mark, skipinitialspace=True))
    except csv.Error as error:  # a field of more than 131,072 characters
        raise BadFile("line", line=f"{number:,}", text=line[:40]) from error
    ends = [part.strip() for part in parts if part or mark != " "][:2]
    if len(ends) < 2 or not all(ends):
        raise BadFile("line", line=f"{number:,}", text=line[:40])
    if max(map(len, ends)) > MOST_NAME:
        raise BadFile("name", line=f"{number:,}", most=MOST_NAME)
    return ends[0], ends[1]


def _has_header(edges: list[tuple[str, str]]) -> bool:
    """Whether the first line names the columns: with the usual words, or with words above numbers alone."""
    if {end.casefold() for end in edges[0]} <= _HEADERS:
        return True
    numbers = [all(map(_NUMBER.fullmatch, ends)) for ends in edges[:_LOOKED_AT]]
    return len(numbers) > 1 and all(numbers[1:]) and not any(map(_NUMBER.fullmatch, edges[0]))


def _graph(edges: np.ndarray, names: list[str], name: str) -> Shown:
    from sampan.graph import Graph

    loops = edges[:, 0] == edges[:, 1]
    return Shown(name, Graph(np.concatenate([edges, edges[~loops, ::-1]]), len(names)), names)
