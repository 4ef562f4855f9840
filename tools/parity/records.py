"""PaddlePaddle's signatures and answers as committed: compressed JSON under tests/parity/recorded."""

from __future__ import annotations

import functools
import gzip
import json
from typing import Any

from .surface import FOLDER

LIMIT = 500_000  # bytes of one file
ALIASING = "{}.aliasing"  # of a case table: which arrays of its calls share memory


def read(stem: str) -> dict[str, Any]:
    """The record of a case table, or of the "signatures"; empty where there is none."""
    path = FOLDER / "recorded" / f"{stem}.json.gz"
    return dict(json.loads(gzip.decompress(path.read_bytes()))) if path.exists() else {}


def aliasing(stem: str) -> dict[str, Any]:
    """Name -> call -> which of its arrays share memory: the texts of aliasing.py, None for what is refused."""
    return read(ALIASING.format(stem))


@functools.cache
def signatures() -> dict[str, Any]:
    return read("signatures")


def write(stem: str, record: dict[str, Any]) -> bool:
    """Write a record if it says something new; whether it did."""
    if record == read(stem):
        return False
    path = FOLDER / "recorded" / f"{stem}.json.gz"
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    data = gzip.compress(text.encode(), mtime=0)
    if len(data) > LIMIT:
        raise ValueError(f"{path}: {len(data)} bytes; split the case table {stem}.py")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    signatures.cache_clear()
    return True
