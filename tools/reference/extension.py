"""The Sphinx extension of the reference: its pages, the text of an entry, and the source that it links to."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from . import names, notebooks, sources
from .docstrings import to_rst

FOLDER = "reference"  # of the generated pages, inside the folder of Sphinx's sources
UP = "../../../notebooks"  # from a built page to the notebooks


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value(
        "reference_only", "", "env", [str]
    )  # one page, for a quick look; all where it is empty
    app.connect(
        "builder-inited", lambda app: write_pages(Path(app.srcdir) / FOLDER, app.config.reference_only)
    )
    app.connect("autodoc-process-docstring", entry_text)
    app.connect("doctree-read", lambda app, doctree: unlink_plain_types(doctree))
    app.connect("viewcode-follow-imported", lambda app, module, name: sources.pages()[0].get((module, name)))
    app.connect("viewcode-find-source", lambda app, page: sources.pages()[1].get(page))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def entry_text(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """In place of a docstring: the docstring as reStructuredText, where else it is, and the notebooks that use it."""
    entry = names.entries().get(name)
    main = entry and names.main_name(entry.value)
    if entry and main and main.full != entry.full:
        lines[:] = [f"The same as :py:obj:`{main.full}`."]
        return
    lines[:] = to_rst("\n".join(lines), _parameters(value), linked)
    used = notebooks.users().get(name, [])
    if used:
        links = ", ".join(f"`{notebooks.title(path)} <{UP}/{path.name}>`__" for path in used)
        lines += ["", f"Used in the course: {links}.", ""]


def unlink_plain_types(doctree: nodes.document) -> None:
    """`int` and `type` in a signature are Python's; a link would lead to the dtype or method of that name."""
    for signature in doctree.findall(addnodes.desc_signature):
        for link in [
            link for link in signature.findall(addnodes.pending_xref) if "." not in link["reftarget"]
        ]:
            link.replace_self(link.children)


def _parameters(value: Any) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


def linked(name: str) -> str:
    """The public name that a text in backticks means: `paddle.add`, `nn.Linear`, `Tensor.sum`. Words without a dot are
    arguments more often than functions."""
    if "." not in name:
        return ""
    inside = name.removeprefix("paddle.").removeprefix("sampan.")
    full = f"sampan.{inside}"
    return full if full in names.entries() or full in names.modules() else ""


def write_pages(folder: Path, only: str = "") -> None:
    """Write the reference's sources; a page that did not change keeps its time, so that Sphinx need not read it."""
    folder.mkdir(exist_ok=True)
    pages = [page for page in names.pages() if only in ("", page)]
    texts = {"index": "\n".join(_index(pages))} | {page: "\n".join(_page(page)) for page in pages}
    for path in folder.glob("*.rst"):
        if path.stem not in texts:
            path.unlink()
    for page, text in texts.items():
        path = folder / f"{page}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _index(pages: list[str]) -> Iterable[str]:
    yield from _title("Reference")
    yield f"{len(names.entries()):,} names, by the module from which a program imports them."
    yield ""
    yield "Examples begin with ``import sampan as paddle``."
    yield ""
    whole = [page for page in pages if "-" not in page]
    for caption, seldom in (("Modules", False), ("Rarely used modules", True)):
        yield from _contents((page for page in whole if names.is_seldom(page) is seldom), caption)


def _contents(pages: Iterable[str], caption: str = "") -> list[str]:
    options = [f"   :caption: {caption}"] if caption else []
    return [".. toctree::", "   :maxdepth: 1", *options, "", *(f"   {page}" for page in pages), ""]


def _page(page: str) -> Iterable[str]:
    room, _, family = page.partition("-")
    listed = names.pages()[page]
    yield from _title(f"{room}: {family}" if family else room)
    if family:
        yield from _lead(_defining(listed)) if family not in ("constants", "more") else []
    elif room in names.modules():
        yield from [f".. py:module:: {room}", ""]
        yield from _lead(names.modules()[room])
    parts = [other for other in names.pages() if other.startswith(f"{room}-")] if not family else []
    for part in parts:
        yield from _title(part.partition("-")[2], "-")
        yield from _list(names.pages()[part])
    if parts:
        yield from _contents(parts)
    if len(listed) > 5:
        yield from _list(listed)
    for entry in listed:
        yield from _entry(entry)


def _list(listed: list[names.Entry]) -> list[str]:
    """Links to the entries of a page."""
    return [", ".join(f":py:obj:`{e.name.rpartition('.')[2]} <{e.full}>`" for e in listed), ""]


def _title(text: str, line: str = "=") -> list[str]:
    return [text, line * len(text), ""]


def _lead(module: Any) -> list[str]:
    return [*to_rst(inspect.getdoc(module) or "", link=linked), ""]


def _defining(listed: list[names.Entry]) -> Any:
    """The module whose file defines the names of a page."""
    value = listed[0].value
    return inspect.getmodule(value.fget if isinstance(value, property) else inspect.unwrap(value))


def _entry(entry: names.Entry) -> list[str]:
    value, main = entry.value, names.main_name(entry.value)
    if isinstance(value, float) or (
        not callable(value) and not isinstance(value, property | classmethod | staticmethod)
    ):
        return [f".. py:data:: {entry.full}", "", f"   ``{value!r}``", ""]
    path = f"{entry.module}::{entry.name}"
    if inspect.isclass(value):
        same = main is not None and main.full != entry.full
        if same:
            return [f".. py:class:: {entry.full}", "", f"   The same as :py:obj:`{main.full}`.", ""]
        members = [] if value.__name__ == "Tensor" else ["   :members:"]
        return [f".. autoclass:: {path}", *members, ""]
    if not entry.name.startswith("Tensor."):
        return [f".. autofunction:: {path}", ""]
    kind = "property" if isinstance(value, property) else "method"
    return [f".. auto{kind}:: {path}", ""]
