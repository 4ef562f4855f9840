"""The models on this machine: those that the library ships, and what the learner saved under `models/` in the workspace.

A saved model is a folder `models/<name>/` with weights or a card (README.md), or one file of weights in `models/`. Nothing
here imports the library or opens a pickle: of a file the header is read at most.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

WEIGHTS = (".safetensors", ".pdparams", ".int8", ".npz", ".onnx")
CARD, CONFIG = "README.md", "config.json"
MOST_MODELS, MOST_FILES = 200, 500
MOST_CARD, MOST_CONFIG, MOST_HEADER = 200_000, 200_000, 20_000_000  # bytes that are read
MOST_ZIP = 500_000_000  # bytes of the files of a download
# What a kind of model takes (`model_type` of config.json): the parts of the page "try" are called so.
INPUTS = {
    "keyword": "sound", "conformer": "sound", "recurrent": "sound", "activity": "sound", "speaker": "sound",
    "mandarin_synthesis": "speech", "mlp": "digit", "lenet": "digit", "word_vectors": "word",
}  # fmt: skip  # a table


class TooLarge(ValueError):
    """More bytes than a download may have."""


@dataclass(frozen=True)
class Model:
    """One model. origin: "shipped" or "saved". path: its folder, or its only file."""

    name: str
    origin: str
    path: Path = field(repr=False)

    @cached_property
    def files(self) -> list[Path]:
        """Its regular files, sorted; links are left out."""
        if not self.path.is_dir():
            return [self.path]
        found = sorted(path for path in self.path.rglob("*") if path.is_file() and not path.is_symlink())
        return found[:MOST_FILES]

    @cached_property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    @cached_property
    def card(self) -> str:
        """Its card without the YAML at the beginning; "" if it has none."""
        return re.sub(r"\A---\n.*?\n---\n", "", self._card, flags=re.S)

    @property
    def lead(self) -> str:
        """What the heading of the card says after the name, else the first sentence of its text."""
        heading = re.match(r"#\s+(.+)", self.card.lstrip())
        said = heading[1].partition(":")[2].strip() if heading else ""
        return said or re.split(r"(?<=[.:])\s", self.text.strip(), maxsplit=1)[0].rstrip(":")

    @property
    def text(self) -> str:
        """The card without its heading."""
        return re.sub(r"\A\s*#\s+.+\n", "", self.card)

    @property
    def licence(self) -> str:
        """As the YAML of the card says it, or its line on the licence; "" if neither does."""
        named = re.search(r"\A---\n(?:.*\n)*?license:\s*(\S.*)\n", self._card)
        line = re.search(r"^\W*Licence\b[^:\n]*:\W*\s*([^,.;(\n]+(?:\.\d[^,.;(\n]*)?)", self.card, flags=re.M)
        found = named or line
        return found[1].strip() if found else ""

    @property
    def config(self) -> dict[str, Any]:
        if not self.path.is_dir():
            return {}
        try:
            found = json.loads(_text(self.path / CONFIG, MOST_CONFIG) or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def kind(self) -> str:
        """`model_type` of its configuration, or ""."""
        kind = self.config.get("model_type", "")
        return kind if isinstance(kind, str) else ""

    @property
    def input(self) -> str:
        """What it takes: "sound", "speech", "digit", "word", or "" if that is not known."""
        return INPUTS.get(self.kind, "")

    @cached_property
    def parameters(self) -> int | None:
        """How many parameters its card names, else how many numbers the headers of its files tell; None if neither does."""
        said = re.search(r"\b(\d{1,3}(?:,\d{3})+|\d{4,}) parameters\b", self.card)
        if said:
            return int(said[1].replace(",", ""))
        counts = [count for path in self.files if (count := _counted(path)) is not None]
        return sum(counts) if counts else None

    @cached_property
    def _card(self) -> str:
        return _text(self.path / CARD, MOST_CARD) if self.path.is_dir() else ""

    def pack(self, into: BinaryIO) -> None:
        """Its files as a zip, in one folder of its name. Raises TooLarge before anything is written."""
        if self.bytes > MOST_ZIP:
            raise TooLarge(self.name)
        base = self.path if self.path.is_dir() else self.path.parent
        folder = self.path.stem if self.path.is_file() else self.name
        with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in self.files:
                archive.write(path, f"{folder}/{path.relative_to(base).as_posix()}")


def all_models(workspace: Path) -> list[Model]:
    """The shipped models, then the saved ones, each by name."""
    return [*_in(shipped_folder(), "shipped"), *_in(workspace / "models", "saved")]


def shipped_folder() -> Path:
    """Where the library keeps its models; it is found without importing it."""
    spec = find_spec("sampan")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "models" / "data"


def _in(folder: Path, origin: str) -> Iterator[Model]:
    try:
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:  # the learner has not saved any
        return
    found = (Model(path.name, origin, path) for path in entries if _is_model(path))
    for _, model in zip(range(MOST_MODELS), found, strict=False):
        yield model


def _is_model(path: Path) -> bool:
    if path.is_symlink():
        return False
    if path.is_file():
        return path.suffix in WEIGHTS
    inside = [one for one in path.iterdir() if one.is_file()] if path.is_dir() else []
    return any(one.suffix in WEIGHTS or one.name in (CARD, CONFIG) for one in inside)


def _text(path: Path, most: int) -> str:
    """At most `most` bytes of a text file; "" if there is none."""
    if path.is_symlink():
        return ""
    try:
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _counted(path: Path) -> int | None:
    """The numbers of a safetensors file: its header is JSON, after the 8 bytes of its length."""
    if path.suffix != ".safetensors":
        return None
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > MOST_HEADER:
                return None
            header = json.loads(file.read(length))
        shapes = [about["shape"] for name, about in header.items() if name != "__metadata__"]
        return sum(math.prod(int(n) for n in shape) for shape in shapes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # damaged, or of another format
        return None
