"""The rows of `sparse.py`: each a table of programs that compute the same, one for each library that can.

DGL 2.1 and spconv 2.3 take part where they are found: `pip install --no-deps --target .venv-peers dgl==2.1.0 spconv==2.3.8
cumm pccm ccimport ninja pybind11 fire termcolor portalocker lark` and what else they import. torchsparse and
MinkowskiEngine have no wheel for the CPU.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numba
import numpy as np
import scipy.sparse
import torch

import sampan
from benchmarks.side_by_side import Row, Step, library
from sampan import sparse


def peer(name: str) -> Any:
    """DGL or spconv, or None if it is not installed."""
    if (
        name == "dgl"
    ):  # its sampling part needs a library built for this version of torch; it is not used here
        stub = types.ModuleType("dgl.graphbolt")
        stub.__file__ = __file__  # which `inspect` reads of every module
        stub.__getattr__ = lambda name: type(name, (), {})  # type: ignore[method-assign]
        sys.modules.setdefault("dgl.graphbolt", stub)
    return library(name)


@cache
def matrix(kind: str, n: int = 100_000, count: int = 1_000_000) -> scipy.sparse.csr_matrix:
    """n by n with about `count` entries, evenly spread or by a power law in rows and columns (exponent 0.9)."""
    rng = np.random.default_rng(0)

    def drawn() -> np.ndarray:
        if kind == "uniform":
            return rng.integers(0, n, count)
        weight = np.cumsum(1 / np.arange(1, n + 1) ** 0.9)
        places = np.searchsorted(weight / weight[-1], rng.random(count))
        return rng.permutation(n)[np.minimum(places, n - 1)]

    keys = np.unique(drawn() * n + drawn())
    values = rng.standard_normal(len(keys)).astype(np.float32)
    return scipy.sparse.csr_matrix((values, (keys // n, keys % n)), shape=(n, n))


def ours(a: scipy.sparse.csr_matrix, leaf: bool = False) -> sparse.SparseTensor:
    return sparse.sparse_csr_tensor(a.indptr, a.indices, a.data, a.shape, stop_gradient=not leaf)


def theirs(a: scipy.sparse.csr_matrix, leaf: bool = False) -> torch.Tensor:
    parts = (torch.from_numpy(v) for v in (a.indptr, a.indices, a.data))
    return torch.sparse_csr_tensor(*parts, a.shape).requires_grad_(leaf)


def dense(rows: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def parts(name: str, a: scipy.sparse.csr_matrix) -> dict[str, Any]:
    """A matrix as sparse_paddle.py takes it."""
    return {
        f"{name}_crows": a.indptr, f"{name}_cols": a.indices, f"{name}_values": a.data, f"{name}_shape": np.array(a.shape),
    }  # fmt: skip


def products() -> Iterator[Row]:
    dgl = peer("dgl")
    for kind, goals in (("power", (5.0, 4.5, 13.0)), ("uniform", (3.5, 2.5, 13.0))):
        a = matrix(kind)
        n = a.shape[0]
        once = a.nnz * 8 + n * (4 + 256)  # an entry; a pointer and a written row
        rows_of_x = {"gathered": a.nnz * 256, "table": n * 256}  # each entry's row of 64
        x, g = dense(n, 64, 1), dense(n, 64, 2)
        s, sx = ours(a), sampan.to_tensor(x)
        t, tx = theirs(a), torch.from_numpy(x)
        graph = turned_graph = None
        if dgl:
            rows = torch.from_numpy(np.repeat(np.arange(n), np.diff(a.indptr))).long()
            cols, values = torch.from_numpy(a.indices).long(), torch.from_numpy(a.data)[:, None]
            graph, turned_graph = (dgl.graph(ends, num_nodes=n) for ends in ((cols, rows), (rows, cols)))
        programs: dict[str, Step] = {
            "sampan": lambda s=s, sx=sx: (s @ sx).data, "torch": lambda t=t, tx=tx: t @ tx, "scipy": lambda a=a, x=x: a @ x,
        }  # fmt: skip
        if dgl:
            programs["dgl"] = lambda graph=graph, tx=tx, v=values: dgl.ops.u_mul_e_sum(graph, tx, v)
        yield Row(f"CSR product forward, {kind}", goals[0], programs, once, **rows_of_x)
        leaf, tleaf = sampan.to_tensor(x, stop_gradient=False), torch.from_numpy(x.copy()).requires_grad_()
        out, tout = s @ leaf, t @ tleaf
        sg, tg = sampan.to_tensor(g), torch.from_numpy(g)
        programs = {
            "sampan": lambda out=out, leaf=leaf, sg=sg: sampan.grad(out, [leaf], [sg], retain_graph=True)[0].data,
            "torch": lambda tout=tout, tleaf=tleaf, tg=tg: torch.autograd.grad(tout, tleaf, tg, retain_graph=True)[0],
            "scipy": lambda a=a, g=g: a.T @ g,
        }  # fmt: skip
        if dgl:
            programs["dgl"] = lambda graph=turned_graph, tg=tg, v=values: dgl.ops.u_mul_e_sum(graph, tg, v)
        yield Row(f"CSR product, gradient of the dense side, {kind}", goals[1], programs, once, **rows_of_x)
        both = ours(a, True)
        # torch's backward of the sparse side makes a dense matrix of the full size, so the fastest form in torch is written out.
        turned = theirs(a.T.tocsr())

        def whole(both: Any = both, leaf: Any = leaf, sg: Any = sg) -> Any:
            both.clear_grad(False), leaf.clear_grad(False)
            (both @ leaf).backward(sg)
            return leaf.grad.data

        def whole_torch(t: Any = t, tx: Any = tx, tg: Any = tg, turned: Any = turned) -> Any:
            _ = t @ tx, torch.sparse.sampled_addmm(t, tg, tx.T, beta=0.0)
            return turned @ tg

        programs = {"sampan": whole, "torch": whole_torch}
        if dgl:

            def whole_dgl(
                graph: Any = graph, back: Any = turned_graph, tx: Any = tx, tg: Any = tg, v: Any = values
            ) -> Any:
                _ = dgl.ops.u_mul_e_sum(graph, tx, v), dgl.ops.u_dot_v(graph, tx, tg)
                return dgl.ops.u_mul_e_sum(back, tg, v)

            programs["dgl"] = whole_dgl
        yield Row(
            f"CSR product, forward and both gradients, {kind}",
            goals[2],
            programs,
            2 * once + a.nnz * 8,
            gathered=4 * a.nnz * 256,
            table=n * 256,
        )


@numba.njit(parallel=True, fastmath=True)
def dots(crows: np.ndarray, cols: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """SDDMM as a plain loop: the baseline for partitioning, prefetching and register blocking."""
    for r in numba.prange(crows.size - 1):
        row = x[r]
        for e in range(crows[r], crows[r + 1]):
            other, total = y[cols[e]], np.float32(0)
            for j in range(row.size):
                total += row[j] * other[j]
            out[e] = total


def others() -> Iterator[Row]:
    a = matrix("power")
    n = a.shape[0]
    x, y = dense(n, 64, 3), dense(n, 64, 4)
    s, t = ours(a), theirs(a)
    sx, sy, tx, ty = (
        sampan.to_tensor(x),
        sampan.to_tensor(y.T.copy()),
        torch.from_numpy(x),
        torch.from_numpy(y.T.copy()),
    )
    programs: dict[str, Step] = {
        "sampan": lambda: sparse.masked_matmul(sx, sy, s).values().data,
        "torch": lambda: torch.sparse.sampled_addmm(t, tx, ty, beta=0.0).values(),
    }
    if dgl := peer("dgl"):
        rows = torch.from_numpy(np.repeat(np.arange(n), np.diff(a.indptr))).long()
        graph = dgl.graph((rows, torch.from_numpy(a.indices).long()), num_nodes=n)
        tall = torch.from_numpy(y)
        programs["dgl"] = lambda: dgl.ops.u_dot_v(graph, tx, tall)[:, 0]
    # The row of x stays in registers; that of y is gathered.
    work = {"moved": a.nnz * 8 + n * 256, "gathered": a.nnz * 256, "table": n * 256}
    yield Row("SDDMM at 1M entries, 64 wide", 6.5, programs, **work)
    # A product takes y as [64, n]. Of the transpose of a matrix [n, 64] no copy is made.
    out, turned = np.empty(a.nnz, np.float32), sampan.to_tensor(y).T
    programs = {
        "sampan": lambda: sparse.masked_matmul(sx, turned, s).values().data,
        "plain kernel": lambda: dots(a.indptr, a.indices, x, y, out) or out,
    }
    yield Row("SDDMM, y the transpose of a matrix", 1.0, programs, **work)
    leaf = ours(a, True)
    coo = theirs(a).to_sparse_coo().coalesce().requires_grad_()
    g = dense(a.nnz, 1, 5)[:, 0]
    tg = torch.sparse_coo_tensor(coo.indices(), torch.from_numpy(g), coo.shape, is_coalesced=True)

    def softmax() -> Any:
        leaf.clear_grad(False)
        sparse.nn.functional.softmax(leaf).values().backward(sampan.to_tensor(g))
        return leaf.grad.values().data

    def softmax_torch() -> Any:
        coo.grad = None
        torch.sparse.softmax(coo, 1).backward(tg)
        return coo.grad.coalesce().values()

    given = scipy.sparse.csr_matrix((g, a.indices, a.indptr), shape=a.shape)
    yield Row(
        "row softmax, forward and backward", 36.0, {"sampan": softmax, "torch": softmax_torch}, a.nnz * 20,
        "softmax", parts("a", a) | parts("g", given),
    )  # fmt: skip

    rng = np.random.default_rng(6)
    places = rng.integers(0, n, (2, 2_000_000))
    values = rng.standard_normal(2_000_000).astype(np.float32)
    raw, v = torch.from_numpy(places), torch.from_numpy(values)

    def coalesce_scipy() -> Any:
        made = scipy.sparse.coo_matrix((values, places), shape=(n, n)).tocsr()
        made.sum_duplicates()
        return made.data

    yield Row("coalesce 2M entries", 1.5, {
        "sampan": lambda: sparse.sparse_coo_tensor(places, values, [n, n]).coalesce().values().data,
        "torch": lambda: torch.sparse_coo_tensor(raw, v, (n, n)).coalesce().values(),
        "scipy": coalesce_scipy,
    }, 2_000_000 * 40, "coalesce", {"places": places, "values": values, "shape": np.array([n, n])})  # fmt: skip
    b = matrix("uniform")
    other, tother = ours(b), theirs(b)
    yield Row("add 1M + 1M", 1.5, {
        "sampan": lambda: sparse.add(s, other).values().data, "torch": lambda: (t + tother).values(), "scipy": lambda: (a + b).data,
    }, (a.nnz + b.nnz) * 16, "add", parts("a", a) | parts("b", b))  # fmt: skip
    c = matrix("uniform", 20_000, 200_000)
    sc, tc = ours(c), theirs(c)
    # torch's columns do not ascend, so its values are not compared.
    yield Row("sparse x sparse, 200k entries, 20k square", 1.0, {
        "sampan": lambda: (sc @ sc).values().data, "torch": lambda: [tc @ tc][1:] or None, "scipy": lambda: _sorted(c @ c),
    })  # fmt: skip
    lc, ltc = ours(c, True), theirs(c).to_sparse_coo().requires_grad_()

    def sparse_step() -> Any:
        lc.clear_grad(False)
        (lc @ lc).values().sum().backward()
        return lc.grad.values().data

    def sparse_step_torch() -> Any:
        ltc.grad = None
        torch.sparse.sum(torch.sparse.mm(ltc, ltc)).backward()
        return None

    yield Row(
        "sparse x sparse, forward and backward", 1.0, {"sampan": sparse_step, "torch": sparse_step_torch}
    )


def _sorted(a: scipy.sparse.csr_matrix) -> np.ndarray:
    a.sort_indices()
    return a.data


def convolutions() -> Iterator[Row]:
    """50k entries on a surface in 200^3, 32 to 32 channels, kernel 3; the floor is the gathered products alone."""
    rng = np.random.default_rng(7)
    angles = rng.random((2, 400_000)) * np.array([[2 * np.pi], [np.pi]])
    ball = np.stack(
        [np.cos(angles[0]) * np.sin(angles[1]), np.sin(angles[0]) * np.sin(angles[1]), np.cos(angles[1])]
    )
    places = np.unique((ball * 67 + 100).astype(np.int64), axis=1)[:, :50_000]
    indices = np.vstack([np.zeros((1, places.shape[1]), np.int64), places])
    values = dense(places.shape[1], 32, 8)
    weight = sampan.to_tensor(dense(27 * 32, 32, 9).reshape(3, 3, 3, 32, 32) / 30, stop_gradient=False)
    F = sparse.nn.functional

    def cloud() -> sparse.SparseTensor:
        return sparse.sparse_coo_tensor(
            indices, values, [1, 200, 200, 200, 32], stop_gradient=False
        ).coalesce()

    known = cloud().detach()  # a leaf: its gradient is computed repeatedly
    known.stop_gradient = False
    F.subm_conv3d(known, weight)
    book = next(iter(known.pattern.books.values()))
    gathered = [(torch.from_numpy(values[i.numpy()]), m) for (i, _), m in zip(book.pairs, weight.data.reshape(27, 32, 32), strict=True)]  # fmt: skip

    def floor() -> None:
        for x, m in gathered:
            x @ m

    def back(run: Step) -> Step:
        def step() -> None:
            known.entries.clear_grad(False)
            weight.clear_grad(False)
            run().values().sum().backward()

        return step

    pairs = sum(len(i) for i, _ in book.pairs)
    arrays = {"places": indices, "values": values, "weight": weight.numpy()}
    rows: list[tuple[str, float, Step, str, Step | None, int]] = [
        (f"submanifold, {len(values)} entries, {pairs} pairs, with search", 1 / 3, lambda: (F.subm_conv3d(cloud(), weight), None)[1],
         "submanifold", spconv_step("subm", False, True, indices, values), 1),
        ("submanifold, map kept, forward", 1 / 3, lambda: (F.subm_conv3d(known, weight), None)[1], "",
         spconv_step("subm", False, False, indices, values), 1),
        ("submanifold, map kept, forward and backward", 1 / 9, back(lambda: F.subm_conv3d(known, weight)), "",
         spconv_step("subm", True, False, indices, values), 3),
        ("strided, with search, forward", 1 / 3, lambda: (F.conv3d(cloud(), weight, None, 2, 1), None)[1], "strided",
         spconv_step("strided", False, True, indices, values), 1),
        ("strided, map kept, forward and backward", 1 / 9, back(lambda: F.conv3d(known, weight, None, 2, 1)), "",
         None, 3),
    ]  # fmt: skip
    for name, goal, program, theirs, other, times in rows:
        programs: dict[str, Step] = {"sampan": program, "gemm floor": floor}
        if other:
            programs["spconv"] = other
        floors = ("gemm floor", float(times))
        yield Row(name, goal, programs, 0, theirs, arrays if theirs else {}, True, floor=floors)


def spconv_step(
    kind: str, backward: bool, search: bool, indices: np.ndarray, values: np.ndarray
) -> Step | None:
    """spconv's layer on the same cloud; its index map is kept under a key unless `search`, which it does for
    submanifold layers only."""
    spconv = peer("spconv.pytorch")
    if spconv is None:
        return None
    # Its backward asks for a CUDA stream on the CPU too.
    importlib.import_module("spconv.pytorch.ops").get_current_stream = lambda: 0  # type: ignore[attr-defined]
    layer = (
        spconv.SubMConv3d(32, 32, 3, bias=False, indice_key="a")
        if kind == "subm"
        else spconv.SparseConv3d(32, 32, 3, 2, 1, bias=False, indice_key="b")
    )
    places = torch.from_numpy(indices.T.astype(np.int32).copy())
    features = torch.from_numpy(values.copy()).requires_grad_(backward)

    def cloud() -> Any:
        return spconv.SparseConvTensor(features, places, [200, 200, 200], 1)

    known = cloud()
    with torch.no_grad():
        known.indice_dict = layer(known).indice_dict

    def step() -> None:
        x = cloud()
        if not search:
            x.indice_dict = known.indice_dict
        with torch.set_grad_enabled(backward):
            out = layer(x).features
            if backward:
                features.grad = layer.weight.grad = None
                out.sum().backward()

    return step


def _attention_steps(length: int, seed: int, ours: Callable[..., Any], seen: Any) -> dict[str, Step]:
    """Forward and backward of 4 heads of 64 under a mask: ours(query, key, value), and torch with the whole mask, `seen`."""
    arrays = [dense(4 * length, 64, seed + i).reshape(1, 4, length, 64) for i in range(3)]
    qkv = [sampan.to_tensor(v, stop_gradient=False) for v in arrays]
    tensors = [torch.from_numpy(v.copy()).requires_grad_() for v in arrays]
    mask = torch.from_numpy(seen)

    def step() -> Any:
        for v in qkv:
            v.clear_grad(False)
        ours(*qkv).sum().backward()
        return qkv[0].grad.data

    def step_torch() -> Any:
        for v in tensors:
            v.grad = None
        torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask).sum().backward()
        return tensors[0].grad

    return {"sampan": step, "torch": step_torch}


def attention() -> Iterator[Row]:
    for length, goal in ((2048, 6.5), (4096, 1.0)):
        seen = np.random.default_rng(10).random((length, length)) < 0.05
        seen |= np.eye(length, dtype=bool)
        entries = scipy.sparse.csr_matrix(np.tile(seen, (4, 1)))
        crows = np.concatenate(
            [entries.indptr[i * length : (i + 1) * length + 1] - entries.indptr[i * length] for i in range(4)]
        )
        where = sparse.sparse_csr_tensor(
            crows, entries.indices, np.ones(entries.nnz, np.float32), [4, length, length]
        )
        ours = partial(sparse.nn.functional.attention, sparse_mask=where)
        steps = _attention_steps(length, 11, ours, seen)
        # A row of each key and value forward; of key, value, query and the gradient, and the gradients of two, backward.
        rows_read = {"gathered": float(4 * seen.sum() * 7 * 256), "table": 4 * length * 256}
        yield Row(f"sparse attention, 4 x {length} x 64, 5 %", goal, steps, **rows_read)


def windows() -> Iterator[Row]:
    """Attention under a mask of blocks: each query sees keys at most 128 away, the first 64 see all (Longformer's mask)."""
    for length in (2048, 4096):
        at = np.arange(length)
        seen = (np.abs(at[:, None] - at) <= 128) | (at[:, None] < 64) | (at < 64)
        ours = partial(sparse.nn.functional.block_attention, mask=sparse.sliding_window(length, 128, 64))
        steps = _attention_steps(length, 21, ours, seen)
        yield Row(f"block-sparse attention, 4 x {length} x 64, window 128", 1.0, steps)


FAMILIES = (products, others, convolutions, attention, windows)
