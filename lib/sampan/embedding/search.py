"""The nearest rows of a table: exactly, or among many quickly, by FAISS (Johnson et al. 2017; extra
`search`)."""

from __future__ import annotations

import hashlib
import json
import math
import time
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..engine.tensor import Tensor
from ..serialization import NoSuchFile, replacing
from .reading import Table, table_of

KINDS = ("flat", "ivf", "hnsw")
METRICS = ("cosine", "l2", "dot")
MAGIC = b"sampan vectors 1\n"
EFFORT = {"flat": 0, "ivf": 8, "hnsw": 64}
LINKS = 32  # of a node of hnsw
BUILD_EFFORT = 80  # candidates that hnsw looks at for each new node
TRAINING = 256  # vectors for each list's centre, at most
FEWEST = 39  # below it FAISS warns that a list's centre is badly placed


class Latency(NamedTuple):
    """Seconds for one query alone (median, and what 95 and 99 of 100 stay within), and queries a second all
    at once."""

    median: float
    p95: float
    p99: float
    queries_per_second: float


class VectorIndex:
    """Vectors [n, d] in which to look for the nearest ones.

    vectors: an array or Tensor of floats, or an embedding layer; read block by block, kept as float32. Of a
    layer with ids of its own (DynamicEmbedding) the answers are those ids; else they are row numbers, or what
    `ids` [n] says.
    kind: "flat" compares with all, and is exact; "ivf" with those in the `effort` lists whose centres are
    nearest (Jégou et al. 2011, without the compression), of `lists`, 4 sqrt(n) unless given; "hnsw" walks a
    graph (Malkov and Yashunin 2018), with `effort` candidates at a time. More effort finds more and takes
    longer; it may be set at any time.
    metric: "cosine" and "dot": more is nearer; "l2": the distance, less is nearer.

    Raises ValueError for another kind or metric, and vectors that are not finite; ImportError without FAISS.
    """

    def __init__(
        self,
        vectors: Any,
        kind: str = "flat",
        metric: str = "cosine",
        *,
        ids: Any = None,
        lists: int | None = None,
        effort: int | None = None,
        seed: int = 0,
    ) -> None:
        for name, value, known in (("kind", kind, KINDS), ("metric", metric, METRICS)):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
        table = table_of(np.asarray(vectors) if isinstance(vectors, list) else vectors, "vectors")
        if table.count < 1 or table.dim < 1:
            raise ValueError(f"vectors: expected at least one, got [{table.count}, {table.dim}]")
        self.kind, self.metric, self.dim = kind, metric, table.dim
        self._ids = _own_ids(table, ids)
        self._index = _empty(kind, metric, table, lists)
        if kind == "ivf":
            self._index.train(_sample(table, TRAINING * self._index.nlist, seed, metric))
        for start, stop in table.blocks():
            self._index.add(_checked(table.read(start, stop), "vectors", table.dim, metric, start))
        self.effort = EFFORT[kind] if effort is None else effort

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def effort(self) -> int:
        """Lists that are looked through (ivf), candidates at a time (hnsw), 0 (flat)."""
        return self._effort

    @effort.setter
    def effort(self, value: int) -> None:
        if self.kind == "flat" and value:
            raise ValueError(f"effort: expected 0 for a flat index, which looks at everything, got {value}")
        if self.kind != "flat" and value < 1:
            raise ValueError(f"effort: expected 1 or more, got {value}")
        self._effort = int(value)
        if self.kind == "ivf":
            self._index.nprobe = min(self._effort, self._index.nlist)
        elif self.kind == "hnsw":
            self._index.hnsw.efSearch = self._effort

    def search(self, queries: Any, most: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """(scores float32 [q, most], ids int64 [q, most]) of the nearest to each of the queries [q, d], the
        nearest first.

        Where fewer are found, the last ids are -1, with a score of -inf ("l2": inf). Raises ValueError for
        queries of another width or that are not finite.
        """
        return self._answers(*self._index.search(self._asked(queries, most), most))

    def _asked(self, queries: Any, most: int) -> np.ndarray:
        if most < 1:
            raise ValueError(f"most: expected 1 or more, got {most}")
        return _checked(_array(queries), "queries", self.dim, self.metric)

    def _answers(self, scores: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        missing = places < 0
        if self.metric == "l2":
            scores = np.sqrt(np.maximum(scores, 0))
        scores[missing] = np.inf if self.metric == "l2" else -np.inf
        ids = places if self._ids is None else np.where(missing, -1, self._ids[places])
        return scores, ids

    def exact(self, queries: Any, most: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """As `search`, by comparing with every vector, a block at a time."""
        faiss, asked = _faiss(), self._asked(queries, most)
        sign = 1 if self.metric == "l2" else -1  # of what is to be small
        kind = faiss.METRIC_L2 if self.metric == "l2" else faiss.METRIC_INNER_PRODUCT
        scores = np.full((len(asked), most), np.inf, np.float32)
        places = np.full((len(asked), most), -1, np.int64)
        step = max(1, (32 << 20) // (4 * self.dim))
        if self.kind == "ivf":
            self._index.make_direct_map()
        for start in range(0, len(self), step):
            count = min(step, len(self) - start)
            near, at = faiss.knn(
                asked, self._index.reconstruct_n(start, count), min(most, count), metric=kind
            )
            both = np.concatenate([scores, sign * near], 1)
            order = np.argsort(both, 1, kind="stable")[:, :most]
            scores = np.take_along_axis(both, order, 1)
            places = np.take_along_axis(np.concatenate([places, at + start], 1), order, 1)
        return self._answers(sign * scores, places)

    def recall(self, queries: Any, most: int = 10) -> float:
        """The share of the `most` truly nearest vectors that `search` finds, over all queries; 1.0 for
        "flat".

        A vector that is exactly as near as the last of the true ones counts as found.
        """
        true, _ = self.exact(queries, most)
        found, ids = self.search(queries, most)
        if not len(true):
            raise ValueError("queries: expected at least one, got none")
        wanted = min(most, len(self))
        last = true[:, wanted - 1 : wanted]
        near = 1e-5 * np.maximum(np.abs(last), 1e-30)  # the two ways of computing a score differ by rounding
        hits = (found <= last + near) if self.metric == "l2" else (found >= last - near)
        return float((hits & (ids >= 0)).sum() / (wanted * len(true)))

    def latency(self, queries: Any, most: int = 10, rounds: int = 3) -> Latency:
        """How long answers take: each query alone, `rounds` times over, and all of them in one call (its best
        round)."""
        asked = np.ascontiguousarray(_array(queries), np.float32)
        if not len(asked) or rounds < 1:
            raise ValueError(f"queries, rounds: expected at least one, got {len(asked)} and {rounds}")
        self.search(asked[:1], most)  # threads start, memory is touched
        alone, together = [], []
        for _ in range(rounds):
            for place in range(len(asked)):
                start = time.perf_counter()
                self.search(asked[place : place + 1], most)
                alone.append(time.perf_counter() - start)
            start = time.perf_counter()
            self.search(asked, most)
            together.append(time.perf_counter() - start)
        median, p95, p99 = np.percentile(alone, [50, 95, 99])
        return Latency(float(median), float(p95), float(p99), len(asked) / min(together))

    # --- on disk ---

    def save(self, path: str | Path) -> Path:
        """Write all of it to one file, which takes its name when it is whole: a line that says what it is, a
        line of JSON, the ids (int64), FAISS's own format, and the SHA-256 of all that."""
        faiss, path = _faiss(), Path(path)
        facts = {"kind": self.kind, "metric": self.metric, "dim": self.dim, "effort": self.effort}
        counts = {"count": len(self), "ids": 0 if self._ids is None else len(self._ids)}
        with replacing(path) as file:
            digest = hashlib.sha256()

            def write(block: bytes) -> int:
                digest.update(block)
                return file.write(block)

            write(MAGIC + json.dumps({**facts, **counts}).encode() + b"\n")
            if self._ids is not None:
                write(self._ids.astype("<i8").tobytes())
            writer = faiss.PyCallbackIOWriter(write)
            faiss.write_index(self._index, writer)
            del writer
            file.write(digest.digest())
        return path

    @classmethod
    def load(cls, path: str | Path) -> VectorIndex:
        """What `save` wrote. Raises FileNotFoundError, and ValueError for a file that is cut off, changed or
        of another kind."""
        faiss, path = _faiss(), Path(path)
        if not path.exists():
            raise NoSuchFile(f"{path}: there is no such file")
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ValueError(f"{path}: expected a file of VectorIndex.save, got another kind")
            if not _whole(file):  # FAISS trusts what it reads
                raise ValueError(f"{path}: it is cut off or changed: its content does not fit its checksum")
            file.seek(len(MAGIC))
            facts = json.loads(file.readline())
            made = cls.__new__(cls)
            made.kind, made.metric, made.dim = facts["kind"], facts["metric"], facts["dim"]
            made._ids = np.frombuffer(file.read(8 * facts["ids"]), "<i8").copy() if facts["ids"] else None
            made._index = faiss.read_index(faiss.PyCallbackIOReader(file.read))
            made.effort = facts["effort"]
        return made

    def __repr__(self) -> str:
        settings = f"kind={self.kind!r}, metric={self.metric!r}, effort={self.effort}"
        return f"VectorIndex({len(self)} vectors of {self.dim}, {settings})"


def _faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ImportError("searching among vectors needs FAISS: pip install sampan[search]") from error


def _array(queries: Any) -> np.ndarray:
    return np.asarray(queries.numpy() if isinstance(queries, Tensor) else queries)


def _checked(rows: np.ndarray, name: str, dim: int, metric: str, start: int = 0) -> np.ndarray:
    """float32 [n, dim] as FAISS takes it; of length 1 for the cosine (zeros stay zeros)."""
    if rows.ndim != 2 or rows.shape[1] != dim or rows.dtype.kind not in "fiu":
        raise ValueError(
            f"{name}: expected numbers [n, {dim}], got shape {list(rows.shape)} and dtype {rows.dtype}"
        )
    rows = np.ascontiguousarray(rows, np.float32)
    if not np.isfinite(rows).all():
        wrong = start + int(np.flatnonzero(~np.isfinite(rows).all(1))[0])
        raise ValueError(f"{name}[{wrong}]: expected finite numbers, got others")
    if metric == "cosine":
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        rows = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return rows


def _own_ids(table: Table, ids: Any) -> np.ndarray | None:
    if ids is None:
        return None if table.numbered else table.ids(0, table.count).astype(np.int64)
    given = np.asarray(ids)
    if given.shape != (table.count,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"ids: expected {table.count} integers, got shape {list(given.shape)} and dtype {given.dtype}"
        )
    return given.astype(np.int64)


def _empty(kind: str, metric: str, table: Table, lists: int | None) -> Any:
    faiss = _faiss()
    measure = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
    if lists is not None and (kind != "ivf" or not 1 <= lists <= table.count):
        raise ValueError(
            f"lists: expected None, or 1 to {table.count} for kind 'ivf', got {lists} for {kind!r}"
        )
    if kind == "flat":
        return faiss.IndexFlat(table.dim, measure)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(table.dim, LINKS, measure)
        index.hnsw.efConstruction = BUILD_EFFORT
        return index
    usual = max(1, min(int(4 * math.sqrt(table.count)), table.count // FEWEST))
    index = faiss.IndexIVFFlat(faiss.IndexFlat(table.dim, measure), table.dim, lists or usual, measure)
    # A large number of lists is allowed, without FAISS's warning on the terminal.
    index.cp.min_points_per_centroid = 1
    return index


def _sample(table: Table, most: int, seed: int, metric: str) -> np.ndarray:
    """Rows to place the lists' centres by, drawn evenly, a block at a time."""
    chosen = np.arange(table.count)
    if table.count > most:
        chosen = np.sort(np.random.default_rng(seed).choice(table.count, most, replace=False))
    parts = []
    for start, stop in table.blocks():
        here = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, stop)] - start
        if len(here):
            parts.append(_checked(table.read(start, stop)[here], "vectors", table.dim, metric, start))
    return np.concatenate(parts)


def _whole(file: IO[bytes]) -> bool:
    """Whether the last 32 bytes are the SHA-256 of the others."""
    size = file.seek(0, 2) - 32
    if size < 0:
        return False
    file.seek(0)
    digest, left = hashlib.sha256(), size
    while left:
        block = file.read(min(left, 1 << 20))
        digest.update(block)
        left -= len(block)
    return digest.digest() == file.read(32)
