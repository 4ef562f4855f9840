"""The matrices of the page "Sparse": generated ones of a chosen size and density, and real ones.

All are SciPy CSR matrices, float32, without duplicates or stored zeros. Independent of widgets.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MADE = ("uniform", "powerlaw", "banded", "blocks")
SIZES = tuple(2**k for k in range(7, 17))  # 128 to 65,536
DENSITIES = tuple(
    round(m * 10.0**k, 12) for k in range(-5, 0) for m in (1, 2, 5)
) + (0.7, 1.0)  # fmt: skip
MOST_ENTRIES = 2_000_000
BLOCK = 16  # rows and columns of a block
_BY_KEYS = 2**24  # cells up to which every cell gets a random key
_SEED = 20


class TooManyEntries(ValueError):
    """A request for `count` entries, more than `MOST_ENTRIES`."""

    def __init__(self, count: int) -> None:
        super().__init__(f"density: expected at most {MOST_ENTRIES:,} entries, got {count:,}")
        self.count = count


@dataclass(frozen=True)
class Matrix:
    """A matrix and its origin: `name` is one of MADE or REAL."""

    name: str
    csr: Any  # scipy.sparse.csr_matrix, float32

    @property
    def real(self) -> bool:
        return self.name not in MADE

    @property
    def density(self) -> float:
        rows, columns = self.csr.shape
        return float(self.csr.nnz / (rows * columns))


def made(name: str, size: int, density: float, seed: int = _SEED) -> Matrix:
    """A matrix [size, size] with density x size^2 entries (at least one), as near as its kind allows.

    uniform: all places equally likely. powerlaw: row i and column j with probability proportional to 1 / sqrt(i j),
    so that few have many. banded: all places near the diagonal. blocks: whole blocks of 16 x 16. Values are normal.
    TooManyEntries beyond two million; ValueError for an unknown name, a density outside 0 to 1.
    """
    from scipy import sparse

    if name not in MADE:
        raise ValueError(f"name: expected one of {', '.join(MADE)}, got {name!r}")
    if not 0 < density <= 1:
        raise ValueError(f"density: expected above 0 and at most 1, got {density}")
    count = max(1, round(density * size * size))
    if count > MOST_ENTRIES:
        raise TooManyEntries(count)
    rng = np.random.default_rng(seed)
    flat = _PLACES[name](rng, size, count)
    values = rng.standard_normal(len(flat)).astype(np.float32)
    values[values == 0] = 1
    rows, columns = np.divmod(flat, size)
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=(size, size))
    matrix.sort_indices()
    return Matrix(name, matrix)


def _uniform(rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    cells = size * size
    if cells <= _BY_KEYS:
        return rng.choice(cells, count, replace=False, shuffle=False)
    return _drawn(count, lambda n: rng.integers(0, cells, n))


def _powerlaw(rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    weight = (1 / np.sqrt(np.arange(1, size + 1))).astype(np.float32)
    if size * size <= _BY_KEYS:  # without replacement, by the keys of Efraimidis and Spirakis (2006)
        keys = rng.standard_exponential((size, size), dtype=np.float32)
        keys /= weight
        keys /= weight[:, None]
        return np.argpartition(keys.ravel(), count - 1)[:count]
    ends = np.cumsum(weight / weight.sum())

    def draw(n: int) -> NDArray[np.int64]:
        row, column = (np.searchsorted(ends, rng.random(n), "right").clip(0, size - 1) for _ in range(2))
        return np.asarray(row.astype(np.int64) * size + column)

    return _drawn(count, draw)


def _banded(_rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    """The diagonal and diagonals beside it, alternately above and below, with a total closest to `count`."""
    steps = np.arange(1, size)
    offsets = np.concatenate([[0], np.stack([steps, -steps], 1).ravel()])
    sums = np.cumsum(size - np.abs(offsets))
    kept = offsets[: int(np.abs(sums - count).argmin()) + 1]
    rows = [np.arange(max(0, -k), min(size, size - k)) for k in kept]
    return np.concatenate([row * size + row + k for row, k in zip(rows, kept, strict=True)])


def _blocks(rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    side = size // BLOCK
    number = min(max(1, round(count / BLOCK**2)), side * side)
    corners = np.stack(np.divmod(_uniform(rng, side, number), side)) * BLOCK  # [2, number]
    inside = np.indices((BLOCK, BLOCK)).reshape(2, -1)
    rows, columns = (corners[:, :, None] + inside[:, None]).reshape(2, -1)
    return np.asarray(rows * size + columns)


def _drawn(count: int, draw: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """`count` distinct numbers drawn by `draw`, or fewer if it repeats too often."""
    found = np.unique(draw(count + count // 8))
    for _ in range(8):
        if len(found) >= count:
            break
        found = np.union1d(found, draw(3 * (count - len(found)) + 16))
    return found if len(found) <= count else np.sort(np.random.default_rng(count).permutation(found)[:count])


_PLACES = {"uniform": _uniform, "powerlaw": _powerlaw, "banded": _banded, "blocks": _blocks}


# --- real ones ------------------------------------------------------------------------------------------------


def _words() -> Any:
    """Lines x words of the bundled text: how often each word occurs in each line."""
    from scipy import sparse

    import sampan

    text = sampan.datasets.load_text("coriolanus")
    lines = [re.findall(r"[a-z']+", line.lower()) for line in (text.train + text.test).split("\n")]
    counts = [Counter(line) for line in lines if line]
    column = {word: i for i, word in enumerate(sorted({word for line in counts for word in line}))}
    rows = np.repeat(np.arange(len(counts)), [len(line) for line in counts])
    columns = [column[word] for line in counts for word in line]
    values = [number for line in counts for number in line.values()]
    return sparse.csr_matrix(
        (np.array(values, np.float32), (rows, columns)), shape=(len(counts), len(column))
    )


def _digits() -> Any:
    """Images x pixels of the handwritten digits: half of the pixels are blank."""
    from scipy import sparse

    import sampan

    images = sampan.datasets.load("digits").train.images
    return sparse.csr_matrix(images.reshape(len(images), -1).astype(np.float32))


def _planetoid(name: str, what: str) -> Any:
    from scipy import sparse

    path = _planetoid_file(name)
    if path is None:
        raise FileNotFoundError(f"planetoid/{name}.npz was not found in the folders of SAMPAN_DATA")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a complete .npz file")
    with np.load(path, allow_pickle=False) as file:
        count = len(file["labels"])
        if what == "words":
            shape = count, int(file["num_features"])
            matrix = sparse.csr_matrix((file["values"], file["cols"], file["crows"]), shape=shape)
        else:
            rows, columns = file["edge_index"]
            matrix = sparse.csr_matrix(
                (np.ones(len(rows), np.float32), (rows, columns)), shape=(count, count)
            )
            matrix.data[:] = 1  # merge duplicate edges
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()
    return matrix


def _planetoid_file(name: str) -> Path | None:
    from sampan.datasets import places

    found = (folder / "planetoid" / f"{name}.npz" for folder in places.folders())
    return next((path for path in found if path.is_file()), None)


REAL: dict[str, Callable[[], Any]] = {
    "words": _words,
    "digits": _digits,
    "cora_links": lambda: _planetoid("cora", "links"),
    "cora_words": lambda: _planetoid("cora", "words"),
    "citeseer_links": lambda: _planetoid("citeseer", "links"),
    "citeseer_words": lambda: _planetoid("citeseer", "words"),
}


def available() -> list[str]:
    """The real matrices that are on this machine."""
    from sampan.datasets.readers import has_scikit_learn

    here = {"words": True, "digits": has_scikit_learn()}
    return [name for name in REAL if here.get(name) or _planetoid_file(name.split("_")[0]) is not None]


@cache
def real(name: str) -> Matrix:
    """A real matrix. KeyError for an unknown name, FileNotFoundError if its file is missing."""
    matrix = REAL[name]()
    matrix.sum_duplicates()
    matrix.sort_indices()
    return Matrix(name, matrix)
