"""Time and memory of an operator on a sparse matrix and on the same dense matrix, measured on this machine.

A measurement that would take too much memory or time is skipped, and its row says so: a visitor must not be able to
overload the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.work import Work, one_core_less
from .matrices import Matrix

FORMATS = ("coo", "csr")
OPERATORS = ("product", "sampled", "softmax", "squared", "add", "transpose", "coalesce")
COLUMNS = 64  # of the dense matrix that is multiplied with
ROUNDS = 5
ROUND_S = 0.02  # a shorter call is repeated until it fills this
DENSE_BYTES = 2**26  # of the dense matrix; a call may need five times as much
DENSE_STEPS = 2e10  # multiplications of one dense call: about a second
SPARSE_STEPS = 3e8  # multiplications of sparse x sparse
SPARSE_ENTRIES = 1e7  # of its result
COMPARED = 2**22  # cells up to which both results are compared
Call = Callable[[], Any]


@dataclass(frozen=True)
class Side:
    """The cost of one format: seconds per call, and bytes.

    matrix: of the values and, if sparse, of the indices that the kernels read, as in notebook 05. kept: with
    everything that is cached for it, such as the transpose. result: of the result.
    """

    seconds: float
    matrix: int
    kept: int
    result: int


@dataclass(frozen=True)
class Row:
    """One matrix measured. `dense` or `sparse` is None if it was not measured: `refused` says why (the name of a
    limit above, in small letters, which is also a key of the locale) and `needs` how much it would have taken.
    `error` is the largest difference of the two results over the largest value, None if they were not compared."""

    density: float
    entries: int
    sparse: Side | None
    dense: Side | None
    refused: str = ""
    needs: float = 0.0
    error: float | None = None


@dataclass(frozen=True)
class Calls:
    """An operator ready to be called both ways. `fresh` creates the inputs that a call consumes, outside the
    measured time."""

    sparse: Callable[[Any], Any]
    dense: Callable[[Any], Any]
    fresh: Callable[[], Any]
    written_out: Any
    same: Callable[[Any, Any], float]


class Measurement(Work):
    """Measures `operator` on each matrix of `plan` (functions that make them). `rows` is filled meanwhile;
    `on_change` is called after each step."""

    def __init__(
        self,
        plan: Sequence[Callable[[], Matrix]],
        layout: str,
        operator: str,
        on_change: Callable[[Measurement], None] = lambda _: None,
        rounds: int = ROUNDS,
    ) -> None:
        if layout not in FORMATS or operator not in OPERATORS:
            raise ValueError(
                f"layout, operator: expected of {FORMATS} and {OPERATORS}, got {layout!r}, {operator!r}"
            )
        super().__init__("measurement", on_change)
        self.layout, self.operator, self.plan = layout, operator, plan
        self.rows: list[Row] = []
        self.threads = 1
        self._done = 0  # steps
        self._rounds = rounds

    @property
    def steps(self) -> int:
        return len(self.plan) * (self._rounds + 1)  # the first is to create the matrix and call once

    @property
    def progress(self) -> float:
        return self._done / self.steps

    def _work(self) -> None:
        self._running()
        self.threads = one_core_less()
        for number, make in enumerate(self.plan):
            row = self._measure(make)
            if row is None:
                return
            self.rows.append(row)
            self._done = (number + 1) * (self._rounds + 1)
            if number + 1 < len(self.plan):
                self._tell()

    def _measure(self, make: Callable[[], Matrix]) -> Row | None:
        matrix = make()
        csr, facts = matrix.csr, (matrix.density, int(matrix.csr.nnz))
        if self._cancel.is_set():
            return None
        if self.operator == "squared":
            steps = product_steps(csr)
            entries = min(steps, float(csr.shape[0]) ** 2)
            if steps > SPARSE_STEPS or entries > SPARSE_ENTRIES:
                why = ("sparse_steps", steps) if steps > SPARSE_STEPS else ("sparse_entries", entries)
                return Row(*facts, None, None, *why)
        refused, needs = dense_refused(csr.shape, self.operator)
        calls = prepare(matrix, self.layout, self.operator, dense=not refused)
        given = calls.fresh()
        ways = [calls.sparse] if refused else [calls.sparse, calls.dense]
        results = [way(given) for way in ways]  # the first call prepares the pattern, and may compile
        sizes = [held(result) for result in results]
        kept = held(given)
        small = not refused and results[1].size <= COMPARED
        error = calls.same(*results) if small else None
        del results
        self._step()
        times: list[list[float]] = [[] for _ in ways]
        for _ in range(self._rounds):
            for way, seen in zip(ways, times, strict=True):
                if self._cancel.is_set():
                    return None
                seen.append(timed(way, calls.fresh))
            self._step()
        median = [statistics.median(seen) for seen in times]
        sparse = Side(median[0], values_and_indices(csr), kept, sizes[0])
        whole = held(calls.written_out)
        dense = None if refused else Side(median[1], whole, whole, sizes[1])
        return Row(*facts, sparse, dense, refused, needs, error)

    def _step(self) -> None:
        self._done += 1
        self._tell()


def timed(way: Callable[[Any], Any], fresh: Callable[[], Any]) -> float:
    """Seconds of one call; short ones are repeated."""
    spent, calls = 0.0, 0
    while spent < ROUND_S and calls < 200:
        given = fresh()
        began = time.perf_counter()
        way(given)
        spent += time.perf_counter() - began
        calls += 1
    return spent / calls


def dense_refused(shape: tuple[int, int], operator: str) -> tuple[str, float]:
    """Why a matrix of this shape is not measured in dense format, and what it would need: ("", 0) if it is measured."""
    rows, columns = shape
    size = 4.0 * rows * columns
    if size > DENSE_BYTES:
        return "dense_bytes", size
    steps = {"product": rows * columns * COLUMNS, "sampled": rows * columns * COLUMNS}.get(operator, 0)
    if operator == "squared":
        steps = rows * columns * min(rows, columns)
    return ("dense_steps", float(steps)) if steps > DENSE_STEPS else ("", 0.0)


def product_steps(csr: Any) -> float:
    """Multiplications of A A, or of A A^T where A is not square."""
    lengths = np.diff(csr.indptr)
    if csr.shape[0] == csr.shape[1]:
        return float(lengths[csr.indices].sum(dtype=np.float64))
    return float(np.square(np.bincount(csr.indices, minlength=csr.shape[1]).astype(np.float64)).sum())


def values_and_indices(csr: Any) -> int:
    """Bytes of a matrix as the library's compressed rows: float32 values, their columns, and the start of each row."""
    import sampan

    matrix = sampan.sparse.sparse_csr_tensor(
        csr.indptr, csr.indices, csr.data.astype(np.float32), list(csr.shape)
    )
    rows = matrix.pattern.by_rows
    return int(rows.crows.nbytes + rows.cols.nbytes + 4 * rows.nnz)


def held(thing: Any) -> int:
    """Bytes of all arrays of an object: of a sparse tensor its values, its pattern, and everything cached with the
    pattern."""
    import torch

    import sampan

    sizes: dict[Any, int] = {}
    known: set[int] = set()
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if isinstance(one, sampan.Tensor) and not one.is_sparse():
            one = one.data
        if isinstance(one, torch.Tensor):
            storage = one.untyped_storage()
            sizes[storage.data_ptr()] = max(storage.nbytes(), sizes.get(storage.data_ptr(), 0))
        elif isinstance(one, np.ndarray):
            whole = one if one.base is None or not isinstance(one.base, np.ndarray) else one.base
            where = whole.__array_interface__["data"][0]
            sizes[where] = max(whole.nbytes, sizes.get(where, 0))
        elif id(one) not in known and type(one).__module__.startswith("sampan.sparse"):
            known.add(id(one))
            waiting.extend(vars(one).values() if hasattr(one, "__dict__") else ())
            waiting.extend(
                getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name)
            )
        elif isinstance(one, tuple | list):
            waiting.extend(one)
    return sum(sizes.values())


# --- the operators --------------------------------------------------------------------------------------------


def tensors(matrix: Matrix, layout: str) -> Any:
    """The matrix as a fresh sparse tensor, without cached data."""
    import torch

    import sampan

    csr = matrix.csr
    values = sampan.Tensor(torch.from_numpy(csr.data.copy()))
    shape = list(csr.shape)
    if layout == "csr":
        return sampan.sparse.sparse_csr_tensor(
            csr.indptr.astype(np.int64), csr.indices.astype(np.int64), values, shape
        )
    rows = np.repeat(np.arange(shape[0]), np.diff(csr.indptr))
    return sampan.sparse.sparse_coo_tensor(
        np.stack([rows, csr.indices]).astype(np.int64), values, shape
    ).coalesce()


def prepare(matrix: Matrix, layout: str, operator: str, dense: bool = True) -> Calls:
    """The operator's two calls. `dense`: whether the dense matrix is created at all."""
    import sampan

    written = sampan.Tensor(tensors(matrix, layout).to_dense().data.contiguous()) if dense else None
    a = tensors(matrix, layout)  # another one: converting it to dense caches data
    rng = np.random.default_rng(1)

    def normal(*shape: int) -> Any:
        return sampan.to_tensor(rng.standard_normal(shape, dtype=np.float32))

    return _PREPARE[operator](matrix, layout, a, written, normal)


def _product(_m: Matrix, _l: str, a: Any, written: Any, normal: Any) -> Calls:
    import sampan

    x = normal(a.shape[1], COLUMNS)
    return Calls(
        lambda _: sampan.sparse.matmul(a, x),
        lambda _: sampan.matmul(written, x),
        lambda: a,
        written,
        _difference,
    )


def _sampled(_m: Matrix, _l: str, a: Any, written: Any, normal: Any) -> Calls:
    import sampan

    x, y = normal(a.shape[0], COLUMNS), normal(COLUMNS, a.shape[1])
    mask = None if written is None else (written != 0).astype("float32")
    return Calls(
        lambda _: sampan.sparse.masked_matmul(x, y, a),
        lambda _: sampan.matmul(x, y) * mask,
        lambda: a,
        written,
        _difference,
    )


def _softmax(_m: Matrix, _l: str, a: Any, written: Any, _normal: Any) -> Calls:
    import sampan

    hidden = None
    if written is not None:  # a place without an entry takes no part
        hidden = sampan.where(written == 0, sampan.full_like(written, -np.inf), sampan.zeros_like(written))
    softmax = sampan.nn.functional.softmax

    def same(sparse: Any, dense: Any) -> float:
        return _difference(sparse, sampan.nan_to_num(dense))  # a row without entries has no result

    return Calls(
        lambda _: sampan.sparse.nn.functional.softmax(a),
        lambda _: softmax(written + hidden),
        lambda: a,
        written,
        same,
    )


def _squared(_m: Matrix, _l: str, a: Any, written: Any, _normal: Any) -> Calls:
    import sampan

    square = a.shape[0] == a.shape[1]
    b = a if square else sampan.sparse.transpose(a, [1, 0])
    other = None if written is None else written if square else sampan.Tensor(written.data.t().contiguous())
    return Calls(
        lambda _: sampan.sparse.matmul(a, b),
        lambda _: sampan.matmul(written, other),
        lambda: a,
        written,
        _difference,
    )


def _add(matrix: Matrix, layout: str, a: Any, written: Any, _normal: Any) -> Calls:
    import sampan

    b = tensors(Matrix(matrix.name, matrix.csr[::-1].tocsr()), layout)
    other = None if written is None else sampan.Tensor(written.data.flip(0).contiguous())
    return Calls(
        lambda _: sampan.sparse.add(a, b), lambda _: written + other, lambda: a, written, _difference
    )


def _transpose(matrix: Matrix, layout: str, a: Any, written: Any, _normal: Any) -> Calls:
    import sampan

    return Calls(
        lambda given: worked_out(sampan.sparse.transpose(given, [1, 0])),
        lambda _: sampan.Tensor(written.data.t().contiguous()),
        # the transpose is cached with the pattern: a second call would use it
        lambda: tensors(matrix, layout),
        written,
        _difference,
    )


def _coalesce(matrix: Matrix, layout: str, a: Any, written: Any, _normal: Any) -> Calls:
    import torch

    import sampan

    csr = matrix.csr
    rows = np.repeat(np.arange(csr.shape[0], dtype=np.int64), np.diff(csr.indptr))
    order = np.random.default_rng(2).permutation(2 * csr.nnz) % max(csr.nnz, 1)  # each twice, in any order
    places = torch.from_numpy(np.stack([rows, csr.indices.astype(np.int64)])[:, order])
    values = sampan.Tensor(torch.from_numpy(csr.data[order] / 2))
    flat = places[0] * csr.shape[1] + places[1]

    def dense(_: Any) -> Any:
        empty = torch.zeros(csr.shape[0] * csr.shape[1])
        return sampan.Tensor(empty.index_add_(0, flat, values.data).reshape(csr.shape))

    def sparse(given: Any) -> Any:
        done = worked_out(given.coalesce())
        return worked_out(done.to_sparse_csr()) if layout == "csr" else done

    return Calls(
        sparse,
        dense,
        lambda: sampan.sparse.sparse_coo_tensor(places, values, list(csr.shape)),
        written,
        _difference,
    )


def worked_out(tensor: Any) -> Any:
    """The same tensor after its pattern, which is computed lazily, was computed."""
    if tensor.is_sparse_coo():
        tensor.indices()
    else:
        tensor.crows()
    return tensor


def _difference(sparse: Any, dense: Any) -> float:
    """The largest difference of a sparse result (of some operators it is dense) from the dense one, over the largest value."""
    one = sparse.to_dense() if hasattr(sparse, "to_dense") else sparse
    gap, most = (one.data - dense.data).abs(), dense.data.abs()
    return float(gap.max() / most.max().clamp_min(1e-30)) if gap.numel() else 0.0


_PREPARE: dict[str, Callable[..., Calls]] = {
    "product": _product,
    "sampled": _sampled,
    "softmax": _softmax,
    "squared": _squared,
    "add": _add,
    "transpose": _transpose,
    "coalesce": _coalesce,
}
