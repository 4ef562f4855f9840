"""Loading uploaded data sets by name and version: `load` is a source of `sampan.datasets.load`, as the entry point "uploads" of
the group "sampan.datasets".

They are in `<folder>/<name>/<version>/`: `card.json` and the file as it was uploaded. A version is the first
twelve digits of the file's sha256. Files were examined when they were added; no code from them is run.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from sampan import Tensor
from sampan.datasets.checksums import verify
from sampan.io import Dataset

__all__ = ["Images", "Sounds", "Table", "find", "folders", "load"]
_LARGEST_CELL = 1 << 20


class Table(Dataset):
    """A table by columns: `columns["age"]` is int64, float64 (NaN: an empty cell), bool or object (text),
    [rows]. An item is a dict of the values of one row."""

    def __init__(self, columns: dict[str, np.ndarray[Any, Any]]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self.columns.items()}


class _Files(Dataset):
    """The files of an upload. classes: names of the folders, sorted; labels: int64 [N], indices."""

    def __init__(self, path: Path, card: dict[str, Any]) -> None:
        self.names: list[str] = card["members"]
        folders = [PurePosixPath(name).parent.name for name in self.names]
        self.classes = tuple(sorted(set(folders)))
        self.labels = np.array([self.classes.index(folder) for folder in folders], np.int64)
        self._path, self._card = path, card

    def __len__(self) -> int:
        return len(self.names)

    def bytes(self, index: int) -> bytes:
        """The file as it was uploaded."""
        if self._card["format"] != "zip":
            return self._path.read_bytes()
        with zipfile.ZipFile(self._path) as archive:
            return archive.read(self.names[index])


class Images(_Files):
    """Images, a folder for each class. An item is (float32 [channels, H, W] in 0..1, int64 [1])."""

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        from PIL import Image

        picture = Image.open(io.BytesIO(self.bytes(index)), formats=("PNG", "JPEG"))
        pixels = np.asarray(picture.convert("L" if self._card["channels"] == 1 else "RGB"), np.float32) / 255
        return np.moveaxis(pixels.reshape(*pixels.shape[:2], -1), 2, 0), self.labels[index, None]


class Sounds(_Files):
    """WAV files. An item is (float32 [channels, samples], sample rate in Hz, label)."""

    def __getitem__(self, index: int) -> tuple[Tensor, int, int]:
        from sampan.speech import files

        waveform, rate = files.load(io.BytesIO(self.bytes(index)))
        return waveform, rate, int(self.labels[index])


def folders() -> list[Path]:
    """Those of SAMPAN_UPLOADS, which the Studio sets, like PATH; else datasets/ in the workspace (SAMPAN_HOME, else
    ~/sampan-work)."""
    given = os.environ.get("SAMPAN_UPLOADS") or f"{os.environ.get('SAMPAN_HOME') or '~/sampan-work'}/datasets"
    return [Path(part).expanduser() for part in given.split(os.pathsep) if part]


def find(name: str, version: str | None = None) -> tuple[Path, dict[str, Any]] | None:
    """Folder and card of an uploaded set; None if there is none of that name. version: None is the one that
    was added last; ValueError for one that is not there."""
    cards: list[tuple[Path, dict[str, Any]]] = []
    for place in folders():
        cards += [
            (path.parent, json.loads(path.read_text("utf-8"))) for path in (place / name).glob("*/card.json")
        ]
        if cards:
            break
    else:
        return None
    cards.sort(key=lambda item: item[1]["added"])
    if version is None:
        return cards[-1]
    known = {card["version"]: (folder, card) for folder, card in cards}
    if version not in known:
        raise ValueError(f"version: expected one of {', '.join(known)} of {name}, got {version!r}")
    return known[version]


def load(name: str, version: str | None = None) -> Any:
    """What was uploaded, after its checksum: a Table, or a dict of them if a zip holds several; a dict of arrays; Images;
    Sounds. None if there is no set of that name; ValueError as `find`, and for a file that was changed."""
    found = find(name, version)
    if found is None:
        return None
    folder, card = found
    path = folder / card["file"]
    verify(path, card["sha256"])
    if card["kind"] in ("images", "sounds"):
        return (Images if card["kind"] == "images" else Sounds)(path, card)
    if card["format"] != "zip":
        with path.open("rb") as stream:
            if card["kind"] == "arrays":
                return {"array": np.lib.format.read_array(stream, allow_pickle=False)}
            return _table(stream, *card["tables"].values())
    with zipfile.ZipFile(path) as archive:
        if card["kind"] == "arrays":
            return {name[:-4]: _array(archive, name) for name in card["members"]}
        tables = {name: _table(io.BytesIO(archive.read(name)), form) for name, form in card["tables"].items()}
    return tables if len(tables) > 1 else next(iter(tables.values()))


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    with archive.open(name) as stream:
        values: np.ndarray[Any, Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return values


def _table(stream: BinaryIO, form: dict[str, Any]) -> Table:
    """form: "columns", dtype by name; of CSV also "encoding" and "delimiter"."""
    if "encoding" not in form:
        read = importlib.import_module("pyarrow.parquet").read_table(stream)
        return Table(
            {name: _column(read[name].to_pylist(), dtype) for name, dtype in form["columns"].items()}
        )
    csv.field_size_limit(_LARGEST_CELL)
    text = io.TextIOWrapper(stream, form["encoding"], newline="")
    rows = [row for row in csv.reader(text, delimiter=form["delimiter"], strict=True) if row][1:]
    text.detach()
    columns = zip(*rows, strict=True) if rows else [()] * len(form["columns"])
    named = zip(form["columns"].items(), columns, strict=True)
    return Table({name: _column(values, dtype) for (name, dtype), values in named})


def _column(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "float64":
        return np.array([np.nan if value in ("", None) else float(value) for value in values], dtype)
    if dtype == "object":
        return np.array(["" if value is None else str(value) for value in values], object)
    return np.array([int(value) for value in values], np.int64).astype(dtype)
