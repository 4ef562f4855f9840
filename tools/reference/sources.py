"""Where the source of a public name stands: for the pages of source that the reference links to.

Sphinx's viewcode looks names up in the text of the module that users import. Here most names come from other files, and
some functions are generated (`sampan.generated`), so it is told the file and the lines.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import sampan

from . import names

LIBRARY = Path(sampan.__file__).parent


class Source(NamedTuple):
    """The text of a page of source; for each name that it shows: its kind, its first line and its last."""

    text: str
    tags: dict[str, tuple[str, int, int]]


@cache
def pages() -> tuple[dict[tuple[str, str], str], dict[str, Source]]:
    """(module, name) -> page; page -> source. A page is a file of the library, or the generated functions of one kind."""
    page_of: dict[tuple[str, str], str] = {}
    found: dict[str, Source] = {}
    above: dict[str, int] = {}  # the lines above a generated text on its page
    for module, name, value in _values():
        place = _place(value)
        if place is None:
            continue
        file, first, last = place
        page, text = _page(file), "".join(linecache.getlines(file))
        source = found.setdefault(page, Source("" if file.startswith("<") else text, {}))
        if file.startswith("<"):  # one after the other
            if file not in above:
                above[file] = source.text.count("\n")
                found[page] = source = Source(f"{source.text}{text}\n", source.tags)
            first, last = first + above[file], last + above[file]
        source.tags[name] = ("class" if inspect.isclass(value) else "def", first, last)
        page_of[module, name] = page
    return page_of, found


def _values() -> Iterator[tuple[str, str, Any]]:
    """(module, name in it, value) of every entry, and of the public members of its classes."""
    for entry in names.entries().values():
        yield entry.module, entry.name, _function(entry.value)
        if inspect.isclass(entry.value):
            for name, member in vars(entry.value).items():
                if not name.startswith("_"):
                    yield entry.module, f"{entry.name}.{name}", _function(member)


def _function(value: Any) -> Any:
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    return inspect.unwrap(value) if callable(value) else value


def _place(value: Any) -> tuple[str, int, int] | None:
    """The file, first and last line of a function or class of the library; None for everything else."""
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return None  # a number, a dtype, or something of C
    file = str(inspect.getfile(value))
    if not file.startswith("<") and not Path(file).is_relative_to(LIBRARY):
        return None
    lines = _lines(file).get(value.__qualname__ if inspect.isclass(value) else value.__code__.co_firstlineno)
    return lines and (file, *lines)


@cache
def _lines(file: str) -> dict[str | int, tuple[int, int]]:
    """First and last line of each class, by its name, and of each function, by its first line.

    Python's `inspect` parses the file anew for every class, which takes half a minute for the whole library.
    """
    found: dict[str | int, tuple[int, int]] = {}

    def walk(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = inside
            if isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
                first = min(part.lineno for part in (child, *getattr(child, "decorator_list", ())))
                span = first, child.end_lineno or first
                if isinstance(child, ast.ClassDef):
                    found[inside + child.name] = span
                    name = f"{inside}{child.name}."
                else:
                    found.setdefault(first, span)
            walk(child, name)

    walk(ast.parse("".join(linecache.getlines(file))), "")
    return found


def _page(file: str) -> str:
    if file.startswith("<"):  # "<elementwise exp>"
        return f"generated.{file.strip('<>').split()[0]}"
    return ".".join(("sampan", *Path(file).relative_to(LIBRARY).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
