"""Which notebooks of the course use which public names: attribute chains on the library, read from the code cells."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import sampan

from . import names

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
MISSING = object()


def values_used(source: str) -> Iterator[Any]:
    """What a program takes from the library: `paddle.nn.Linear`, `F.relu` after an import of F, a slot's name."""
    tree = ast.parse(source)
    bound: dict[str, str] = {}  # the program's names for the library, its modules and their values
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "sampan":
                    bound[one.asname or "sampan"] = one.name if one.asname else "sampan"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sampan":
            bound |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            chain = ast.unparse(node).split(".")
            if chain[0] in bound:
                yield _value(f"{bound[chain[0]]}.{'.'.join(chain[1:])}".rstrip("."))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("learn.exercise"):
            yield _value(f"sampan.{ast.literal_eval(node.args[0])}")


def _value(name: str) -> Any:
    found: Any = sampan
    for part in name.split(".")[1:]:
        found = getattr(found, part, MISSING)
    return found


def code(notebook: Path) -> str:
    """The code cells as one program, without lines for IPython."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    lines = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code").split("\n")
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)


@cache
def users() -> dict[str, list[Path]]:
    """The notebooks that use a name, by its full main name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for notebook in sorted(FOLDER.glob("[0-9]*.ipynb")):
        used = (names.main_name(value) for value in values_used(code(notebook)))
        for full in {entry.full for entry in used if entry is not None}:
            found[full].append(notebook)
    return dict(found)


def title(notebook: Path) -> str:
    """Such as "03 Kernels"."""
    about = json.loads(notebook.read_text("utf-8"))["metadata"]["sampan"]
    return f"{notebook.stem.split('_')[0]} {about['title']}"
