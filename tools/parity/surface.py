"""The public names: the list, the lookup in a library, and signatures."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import types
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "parity"
# Areas that are classes; the others are modules.
CLASSES = {
    "Tensor": "paddle.Tensor",
    "Layer": "paddle.nn.Layer",
    "Optimizer": "paddle.optimizer.Optimizer",
    "Model": "paddle.Model",
}
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "position",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "**",
}
MISSING = object()


@functools.cache
def areas() -> dict[str, list[str]]:
    """Area -> its names, from tests/parity/names.txt."""
    found: dict[str, list[str]] = {}
    area = ""
    for line in (FOLDER / "names.txt").read_text().splitlines():
        if line.startswith("["):
            area = line.strip("[]")
            found[area] = []
        elif not line.startswith("#"):
            found.setdefault(area, []).extend(line.split())
    return {area: listed for area, listed in found.items() if listed}


def names() -> list[str]:
    return [f"{area}.{name}" for area, listed in areas().items() for name in listed]


def area_of(name: str) -> str:
    return name.rpartition(".")[0]


def find(library: types.ModuleType, name: str) -> Any:
    """The object with a full name in a library, or MISSING."""
    area, _, last = name.rpartition(".")
    owner: Any = library
    for part in CLASSES.get(area, area).split(".")[1:]:
        try:
            owner = getattr(owner, part, None) or importlib.import_module(f"{owner.__name__}.{part}")
        except (ImportError, AttributeError):
            return MISSING
    return getattr(owner, last, MISSING)


def signature(library: types.ModuleType, name: str) -> Any:
    """[[parameter, kind, default], ...]; "value" for what is not called; None if Python does not know it; or MISSING.

    The first parameter of a method has any name, so it is left out.
    """
    found = find(library, name)
    if found is MISSING:
        return MISSING
    if not callable(found) or isinstance(found, enum.EnumMeta):
        return "value"
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return None
    if area_of(name) in CLASSES:
        parameters = parameters[1:]
    return [[p.name, KINDS[p.kind], _default(p.default)] for p in parameters]


def same(theirs: Any, ours: Any) -> bool:
    """Whether ours takes every call that theirs takes, with the same defaults. It may take more, at the end or by
    keyword. theirs: "missing" where this build of PaddlePaddle lacks the name; a bare `*args, **kwargs` matches anything."""
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return theirs in (None, "missing") or theirs == ours
    stars = [kind for _, kind, _ in theirs if kind in ("*", "**")]
    if theirs and len(stars) == len(theirs):
        return True
    placed = [[n, d] for n, k, d in theirs if k in ("", "position")]
    named = {n: d for n, k, d in theirs if k == "keyword"}
    left = list(ours)
    for wanted in placed:
        if not left or left[0][1] not in ("", "position"):
            return False
        name, _, default = left.pop(0)
        if name != wanted[0] or (default != wanted[1] and wanted[1] is not None):
            return False
    found = {n: d for n, k, d in left if k in ("", "keyword")}
    more = [d for n, d in found.items() if n not in named]
    there = {kind for _, kind, _ in left}
    keywords = "**" in there or all(found.get(n, MISSING) == d for n, d in named.items())
    return keywords and None not in more and there.issuperset(stars)


def _default(value: Any) -> Any:
    """A default as text that both libraries agree on: 1 and 1.0 are the same, a dtype is its name."""
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value))
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(_default(v)) for v in value) + "]"
    text = str(value).rpartition(".")[2]
    return text if "dtype" in type(value).__name__.lower() else type(value).__name__


def shown(listed: Any) -> str:
    """A recorded signature for people."""
    if not isinstance(listed, list):
        return str(listed)
    parts = []
    starred = False
    for name, kind, default in listed:
        if kind == "keyword" and not starred:
            parts.append("*")
        starred = starred or kind in ("keyword", "*")
        mark = kind if kind in ("*", "**") else ""
        parts.append(mark + name + ("" if default is None else f"={default}"))
    return "(" + ", ".join(parts) + ")"
