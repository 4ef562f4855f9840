"""Which submissions of a class are alike beyond what the exercise itself makes alike.

Each learner's own code becomes the preorder walk of its syntax tree without names, literals and docstrings; every
sequence of `GRAM` nodes is a fingerprint (the k-grams of Schleimer, Wilkerson and Aiken, "Winnowing", SIGMOD 2003,
on trees instead of text). Fingerprints of the released stub are ignored, and one that many share has little weight:
log2(class / sharers) bits. So the common one-line solution is not suspicious, while an unusual detour that two have
in common is.

Why not a library: pycode-similar 1.4 compares pairs alone (no stub, no class) and uses `ast.Str`, which Python 3.12
removed; copydetect 0.5 compares tokens, not trees, and depends on matplotlib.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from studio.grading.cells import parse

GRAM = 12  # nodes in one fingerprint: about two lines
LEAST_NODES = 25  # shorter code is not compared
LEAST_ALIKE = 0.5  # of the smaller one's own weight
LEAST_BITS = 4.0
MAGIC = re.compile(r"^\s*[%!?]|\?\s*$")

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of one learner's code: where each fingerprint was seen, as (first, last) lines counted from
    1."""

    source: str
    places: Mapping[Gram, tuple[tuple[int, int], ...]]
    nodes: int


@dataclass(frozen=True)
class Pair:
    """Two learners. `alike` is the shared part of the smaller one's own code, by weight, 0 to 1; `bits` says how
    unlikely the shared part is in this class."""

    first: str
    second: str
    alike: float
    bits: float


@dataclass(frozen=True)
class SideBySide:
    """One of the two sources: its lines, each with whether it is in what both share."""

    name: str
    lines: tuple[tuple[str, bool], ...]


def fingerprints(cells: Iterable[str]) -> Fingerprints:
    """Reads code cells. A cell that is not valid Python stays in the text and is ignored."""
    text: list[str] = []
    places: dict[Gram, list[tuple[int, int]]] = {}
    count = 0
    for cell in cells:
        lines = ["" if MAGIC.search(line) else line for line in cell.split("\n")]
        try:
            walked = list(_walk(parse("\n".join(lines))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            walked = []
        count += len(walked)
        for start in range(len(walked) - GRAM + 1):
            part = walked[start : start + GRAM]
            numbers = [line + len(text) for _, line in part if line]
            gram = tuple(label for label, _ in part)
            if numbers:
                places.setdefault(gram, []).append((min(numbers), max(numbers)))
        text += [*cell.split("\n"), ""]
    return Fingerprints("\n".join(text[:-1]), {gram: tuple(seen) for gram, seen in places.items()}, count)


def _walk(node: ast.AST, line: int = 0) -> Iterable[tuple[str, int]]:
    """(what kind of node, its line), parents first. Attributes keep their names, as they show which library
    functions are used."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or another constant that does nothing
    if isinstance(node, (ast.expr_context, ast.alias, ast.Import, ast.ImportFrom)):
        return
    line = getattr(node, "lineno", line)
    label = type(node).__name__
    yield (f"{label}.{node.attr}" if isinstance(node, ast.Attribute) else label), line
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, line)


def compare(learners: Mapping[str, Fingerprints], stub: Fingerprints) -> list[Pair]:
    """The pairs of a class that are alike, the least likely first."""
    own = {name: prints.places.keys() - stub.places.keys() for name, prints in learners.items()}
    own = {name: grams for name, grams in own.items() if len(grams) + GRAM - 1 >= LEAST_NODES}
    sharers = Counter(gram for grams in own.values() for gram in grams)
    bits = {gram: math.log2((len(own) + 1) / count) for gram, count in sharers.items()}
    weight = {name: sum(bits[gram] for gram in grams) for name, grams in own.items()}
    found = []
    for first, second in combinations(sorted(own), 2):
        shared = sum(bits[gram] for gram in own[first] & own[second])
        alike = shared / min(weight[first], weight[second])
        told = shared / GRAM  # neighbours overlap: each fingerprint adds one node to the one before
        if alike >= LEAST_ALIKE and told >= LEAST_BITS:
            found.append(Pair(first, second, min(1.0, alike), told))
    return sorted(found, key=lambda pair: (-pair.bits, -pair.alike, pair.first, pair.second))


def side_by_side(
    names: tuple[str, str], both: tuple[Fingerprints, Fingerprints], stub: Fingerprints
) -> tuple[SideBySide, SideBySide]:
    """Both sources with the lines that they share, the stub's own left out."""
    shared = (both[0].places.keys() & both[1].places.keys()) - stub.places.keys()
    first, second = (_marked(name, prints, shared) for name, prints in zip(names, both, strict=True))
    return first, second


def _marked(name: str, prints: Fingerprints, shared: Iterable[Gram]) -> SideBySide:
    numbers = {n for gram in shared for first, last in prints.places[gram] for n in range(first, last + 1)}
    lines = prints.source.split("\n")
    return SideBySide(
        name, tuple((line, n in numbers and bool(line.strip())) for n, line in enumerate(lines, 1))
    )
