"""The words that the page "Embeddings" shows before anything is trained: rows that come with the Studio.

`python -m studio.views.embeddings.shipped` trains them again, from Tiny Shakespeare, which must be on this machine. Their
card is `shakespeare/README.md`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from . import data
from .training import Table

FILE = Path(__file__).parent / "shakespeare" / "vectors.npz"
SOURCE, DIM, EPOCHS, WORDS = "tinyshakespeare", 48, 30, 1_500


@dataclass(frozen=True)
class ShippedRun:
    """Rows that were trained elsewhere, in the place of a run that has ended."""

    table: Table
    source: str = SOURCE
    state: str = "done"
    alive: bool = False
    rests: bool = True

    def cancel(self) -> None:
        """Nothing is running."""


@lru_cache(1)
def shipped() -> Table:
    """The rows of the file, the most frequent word first."""
    with np.load(FILE, allow_pickle=False) as file:
        labels = file["words"].tobytes().decode("utf-8").split("\n")
        return Table(labels, file["vectors"].astype(np.float32), file["counts"])


def packed(table: Table, most: int = WORDS) -> bytes:
    """The file of the `most` most frequent rows: float16 vectors, and the words as UTF-8, one a line."""
    buffer = io.BytesIO()
    words = np.frombuffer("\n".join(table.labels[:most]).encode(), np.uint8)
    vectors = table.vectors[:most].astype(np.float16)
    np.savez_compressed(buffer, words=words, vectors=vectors, counts=table.counts[:most].astype(np.int32))
    return buffer.getvalue()


def main() -> None:
    from sampan.text.word_vectors import WordVectors

    model = WordVectors(dim=DIM, epochs=EPOCHS, threads=1, seed=0)
    model.fit(data.sentences(SOURCE))
    FILE.write_bytes(packed(Table(list(model.words), np.array(model.vectors), np.array(model.counts))))
    print(f"{FILE}: {min(WORDS, len(model))} of {len(model)} words, {FILE.stat().st_size:,} bytes")
    for triple in (("he", "his", "she"), ("king", "man", "queen")):
        print(triple, [word for word, _ in model.analogy(*triple, most=5)])
    for word in ("king", "love", "rome"):
        print(word, [near for near, _ in model.similar(word, most=8)])


if __name__ == "__main__":
    main()
