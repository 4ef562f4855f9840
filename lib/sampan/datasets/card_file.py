"""A data set's card: its contents, source, and files.

A card is `<folder>/<name>/card.toml`. The project's own cards are in `datasets/`; a folder of `SAMPAN_DATA`
may hold further ones, and a data set described by a card is loaded without any new code.
"""

import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .readers import READERS


@dataclass(frozen=True)
class File:
    """One file of a layout. `url` of the official copy, "" if there is none."""

    path: str
    bytes: int
    sha256: str
    url: str = ""


@dataclass(frozen=True)
class Layout:
    """One storage layout of the data set: its reader, and its files by role, under
    `folder` (of the data set's name, if the card names none)."""

    reader: str
    title: str
    train: int
    test: int
    files: dict[str, File]
    folder: str

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())

    @property
    def downloadable(self) -> bool:
        return all(file.url for file in self.files.values())


@dataclass(frozen=True)
class Card:
    """Description of a data set.

    `origin` is "real" or "made" (by a program of ours); `scale` is the value that stands for 1.0;
    `schema` names each array with dtype and shape; `layouts` are in order of preference.
    """

    name: str
    title: str
    title_zh: str
    about: str
    origin: str
    source: str
    licence: str
    citation: str
    scale: int
    classes: tuple[str, ...]
    schema: dict[str, str]
    layouts: tuple[Layout, ...] = field(repr=False)
    licence_zh: str = ""
    about_zh: str = ""

    @property
    def sha256(self) -> dict[str, str]:
        """The checksums of the files of every layout."""
        return {file.path: file.sha256 for layout in self.layouts for file in layout.files.values()}

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits that follow from the checksums of its files."""
        files = "\n".join(f"{path} {digest}" for path, digest in sorted(self.sha256.items()))
        return hashlib.sha256(files.encode()).hexdigest()[:12]

    @property
    def size(self) -> dict[str, int]:
        """Items in each part of the largest layout."""
        return {"train": self.layouts[0].train, "test": self.layouts[0].test}


def _take(table: dict[str, Any], key: str, kind: type, where: str) -> Any:
    if key not in table:
        raise ValueError(f"{where} has no `{key}`")
    value = table.pop(key)
    if not isinstance(value, kind):
        raise ValueError(f"`{key}` in {where} is {type(value).__name__}, expected {kind.__name__}")
    return value


_FILE = {"path": str, "bytes": int, "sha256": str}
_LAYOUT = {"title": str, "train": int, "test": int}


def _layout(table: dict[str, Any], where: str) -> Layout:
    reader = _take(table, "reader", str, where)
    if reader not in READERS:
        raise ValueError(f"`reader` in {where} is {reader!r}, expected one of {', '.join(READERS)}")
    files = {}
    for role, entry in _take(table, "files", dict, where).items():
        facts = {key: _take(entry, key, kind, where) for key, kind in _FILE.items()}
        files[role] = File(**facts, url=entry.get("url", ""))
    roles = READERS[reader][0]
    if set(files) != set(roles):
        raise ValueError(f"the {reader} files in {where} are {sorted(files)}, expected {sorted(roles)}")
    facts = {key: _take(table, key, kind, where) for key, kind in _LAYOUT.items()}
    return Layout(reader, **facts, files=files, folder=table.get("folder", Path(where).parent.name))


def read_card(path: Path) -> Card:
    """The card in a `card.toml`; ValueError, naming the file and the key, if it is invalid."""
    where = str(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where} is not a card in TOML: {error}") from error
    layouts = _take(table, "layouts", list, where)
    if not layouts:
        raise ValueError(f"{where} names no layout")
    words = ("name", "title", "title_zh", "about", "origin", "source", "licence", "citation")
    card = Card(
        **{key: _take(table, key, str, where) for key in words},
        scale=_take(table, "scale", int, where),
        classes=tuple(_take(table, "classes", list, where)),
        schema=_take(table, "schema", dict, where),
        layouts=tuple(_layout(layout, where) for layout in layouts),
        licence_zh=table.pop("licence_zh", ""),
        about_zh=table.pop("about_zh", ""),
    )
    if card.name != path.parent.name:
        raise ValueError(f"{where} names the data set {card.name!r}, its folder says {path.parent.name!r}")
    if card.origin not in ("real", "made"):
        raise ValueError(f"`origin` in {where} is {card.origin!r}, expected 'real' or 'made'")
    if table:
        raise ValueError(f"{where} has unknown keys: {', '.join(sorted(table))}")
    return card
