"""Texts with a label each, from tables and from lines: `load_texts("hotel_reviews").train.texts`."""

import csv
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .card_file import Card, Layout
from .download import Progress, print_progress
from .readers import READERS, Arrays

__all__ = ["LabelledTexts", "Texts", "load_texts"]

PARTS = ("train_texts", "train_labels", "test_texts", "test_labels")
SHUFFLE, TESTED = 1953, 0.2  # the fixed split of a table without parts


@dataclass(frozen=True)
class Texts:
    """One part: `texts`, and `labels` int64 [N], indices into the card's classes."""

    texts: list[str]
    labels: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class LabelledTexts:
    """A loaded set: its card, the layout that was found, and its two parts."""

    card: Card
    layout: Layout
    train: Texts
    test: Texts


def load_texts(name: str, download: bool = False, progress: Progress = print_progress) -> LabelledTexts:
    """The labelled texts of this name, with search, checks and errors as in `load`."""
    from . import _arrays

    known, layout, arrays = _arrays(name, download, progress)
    if layout.reader not in LABELLED:
        raise ValueError(f"{name} is not a set of labelled texts: its layout is {layout.reader!r}")
    number = {text: i for i, c in enumerate(known.classes) for text in (c, str(i))}
    parts = []
    for part in ("train", "test"):
        labels, count = arrays[f"{part}_labels"], getattr(layout, part)
        if len(labels) != count:
            raise ValueError(f"{name}: the {part} part has {len(labels)} texts, its card says {count}")
        foreign = sorted({label for label in labels if label not in number})
        if foreign:
            raise ValueError(f"{name}: labels {foreign[:3]} are not among {', '.join(known.classes)}")
        numbers = np.array([number[label] for label in labels], np.int64)
        parts.append(Texts(list(arrays[f"{part}_texts"]), numbers))
    return LabelledTexts(known, layout, *parts)


def read_table(files: dict[str, Path]) -> Arrays:
    """A CSV table, plain or as the only file of a zip, whose first column is the label and the last the text.

    The official files have no parts: a fixed shuffle puts a fifth of the different texts into the test part,
    so that no text is in both.
    """
    path = files["table"]
    data = path.read_bytes()
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                data = archive.read(archive.namelist()[0])
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (zipfile.BadZipFile, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a table of texts in UTF-8: {error}") from error
    header, *rows = rows or [[]]
    short = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if len(header) < 2 or short is not None:
        where = f"row {short + 1} has {len(rows[short])} columns" if short is not None else "no two columns"
        raise ValueError(f"{path}: {where}, its header is {header}")
    labels, texts = [row[0] for row in rows], [row[-1].lstrip("\ufeff") for row in rows]
    _, same = np.unique(np.array(texts), return_inverse=True)
    chosen = np.random.RandomState(SHUFFLE).permutation(same.max(initial=-1) + 1) / max(same.max() + 1, 1)
    tested = chosen[same] < TESTED
    return _parts(*((texts, labels, np.flatnonzero(tested == part)) for part in (False, True)))


def read_lines(files: dict[str, Path]) -> Arrays:
    """Two files of lines, a text and its label with a tab between them."""
    parts = []
    for part in ("train", "test"):
        lines = files[part].read_text(encoding="utf-8").splitlines()
        pairs = [line.rpartition("\t") for line in lines]
        bare = next((i for i, (_, tab, _) in enumerate(pairs) if not tab), None)
        if bare is not None:
            raise ValueError(
                f"{files[part]}: line {bare + 1} has no tab before a label: {lines[bare][:40]!r}"
            )
        parts.append(([p[0] for p in pairs], [p[2] for p in pairs], range(len(pairs))))
    return _parts(*parts)


def _parts(*parts: tuple[list[str], list[str], Any]) -> Arrays:
    """Texts and labels of each part as arrays of strings."""
    arrays = [np.array([column[i] for i in kept], object) for *columns, kept in parts for column in columns]
    return dict(zip(PARTS, arrays, strict=True))


LABELLED = {"labelled-table": (("table",), read_table), "labelled-lines": (("train", "test"), read_lines)}
READERS.update(LABELLED)
