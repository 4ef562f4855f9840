"""Intended differences (tests/parity/differences.py), and missing names (tests/parity/missing.txt)."""

from __future__ import annotations

import functools
import importlib.util
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .surface import FOLDER


@dataclass(frozen=True)
class Difference:
    """One intended difference.

    names: full names, separated by spaces; `*` matches anything.
    kind: "missing" (left out), "signature", "answer", or "aliasing" (what shares memory).
    reason: why, for a reader who knows PaddlePaddle.
    call, text: for answers and aliasing, regular expressions that are found in the call and in how the answers differ.
    """

    names: str
    kind: str
    reason: str
    call: str = ""
    text: str = ""

    def names_it(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.names.split())

    def covers(self, name: str, kind: str, call: Any = "", text: str = "") -> bool:
        found = re.search(self.call, repr(call)) and re.search(self.text, text)
        return self.kind == kind and found is not None and self.names_it(name)


@functools.cache
def differences() -> list[Difference]:
    spec = importlib.util.spec_from_file_location("parity_differences", FOLDER / "differences.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.DIFFERENCES)


def reasoned(name: str, kind: str, call: Any = "", text: str = "") -> Difference | None:
    return next((d for d in differences() if d.covers(name, kind, call, text)), None)


@functools.cache
def not_yet() -> set[tuple[str, str]]:
    """(name, kind) that are still to be done; kinds as in `Difference`."""
    lines = (FOLDER / "missing.txt").read_text().splitlines()
    return {(line.split()[1], line.split()[0]) for line in lines if line.strip() and not line.startswith("#")}


def write_not_yet(found: set[tuple[str, str]]) -> None:
    """Replace the list."""
    head = "# What is still to be done: a kind and a name. `make parity` takes out what is done; nothing is added.\n"
    lines = sorted(f"{kind} {name}" for name, kind in found)
    (FOLDER / "missing.txt").write_text(head + "".join(f"{line}\n" for line in lines))
    not_yet.cache_clear()
