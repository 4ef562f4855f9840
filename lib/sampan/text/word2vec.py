"""Vectors of words in the file format of word2vec.c, which many programs read and write.

A line with the number of words and of columns; then each word, a space, and its numbers: as text, or as
float32 (little-endian). A newline ends each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..engine.tensor import InvalidArgument
from ..serialization import replacing


def write(path: str | os.PathLike[str], words: Sequence[str], rows: np.ndarray, binary: bool = False) -> None:
    """Write words and their rows [n, d]. An existing file is replaced atomically.

    Raises ValueError for a word with a blank in it, which the format cannot hold.
    """
    wrong = next((word for word in words if word.split() != [word]), None)
    if wrong is not None:
        raise InvalidArgument(f"save_word2vec: the format cannot hold a word with a blank, {wrong!r}")
    with replacing(path) as file:
        file.write(f"{len(words)} {rows.shape[1]}\n".encode())
        for word, row in zip(words, rows, strict=True):
            text = "" if binary else " ".join(f"{x:.9g}" for x in row.tolist())
            numbers = row.astype("<f4").tobytes() if binary else text.encode()
            file.write(word.encode() + b" " + numbers + b"\n")


def read(path: str | os.PathLike[str]) -> tuple[list[str], np.ndarray]:
    """(words, rows float32 [n, d]) of a file, text or binary, which is detected from its content.

    Raises ValueError for a truncated file, data after the end, holds a word twice or a number that is
    not finite, or is something else.
    """
    where = f"load_word2vec: {os.fspath(path)!r}"
    head, newline, rest = Path(path).read_bytes().partition(b"\n")
    try:
        count, dim = (int(part) for part in head.split())
    except ValueError:
        count = dim = 0
    if not newline or count < 1 or dim < 1:
        raise InvalidArgument(f"{where} does not begin with a number of words and of columns")
    try:
        words, rows = _text_rows(rest, count, dim) or _binary_rows(rest, count, dim)
    except ValueError as error:
        raise InvalidArgument(f"{where}: {error}") from error
    if len(set(words)) != count or not np.isfinite(rows).all():
        raise InvalidArgument(f"{where}: expected different words and finite numbers")
    return words, rows


def _text_rows(data: bytes, count: int, dim: int) -> tuple[list[str], np.ndarray] | None:
    """Words and rows [count, dim] of a text file's lines, or None for another format."""
    lines = data.splitlines() if data.count(b"\n") >= count - 1 else []
    fields = [line.split() for line in lines]
    if not fields or len(fields[0]) != dim + 1:
        return None
    try:
        float(fields[0][-1])
    except ValueError:
        return None
    if len(fields) != count or any(len(row) != dim + 1 for row in fields) or not data.endswith(b"\n"):
        raise InvalidArgument(
            f"expected {count} lines of a word and {dim} numbers, got {len(fields)} or shorter ones"
        )
    return [row[0].decode() for row in fields], np.array([row[1:] for row in fields]).astype(np.float32)


def _binary_rows(data: bytes, count: int, dim: int) -> tuple[list[str], np.ndarray]:
    """Words and rows [count, dim] of a binary file; a newline after a row may be there, as word2vec.c writes
    it."""
    words, rows, at = [], np.empty((count, dim), np.float32), 0
    for i in range(count):
        blank = data.find(b" ", at)
        end = blank + 1 + 4 * dim
        if blank < 0 or end > len(data):
            raise InvalidArgument(f"cut short: expected {count} words, found {i}")
        words.append(data[at:blank].lstrip(b"\n").decode())
        rows[i] = np.frombuffer(data, "<f4", dim, blank + 1)
        at = end
    if data[at:].strip(b"\n"):
        raise InvalidArgument(f"goes on after its {count} words")
    return words, rows
