"""The sparse module beside torch.sparse and SciPy: `python benchmarks/sparse.py [--rounds 11] [--threads 2] [--only X]`.

Every row runs all its programs in turn (A B C A B C ...) in this one process, with the same numbers; the values are
compared before anything is timed. A ratio is the best peer's median time over Sampan's: above 1 Sampan is faster.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
import torch

import sampan
from sampan import sparse

warnings.filterwarnings("ignore", "Sparse ")  # torch says that its CSR is in beta, and unchecked
Step = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """`goal`: times faster than the best peer. A program returns an array to compare, or None."""

    name: str
    goal: float
    programs: dict[str, Step]


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


def products() -> Iterator[Row]:
    for kind, goals in (("power", (5.0, 4.5, 13.0)), ("uniform", (3.5, 2.5, 1.0))):
        a = matrix(kind)
        n = a.shape[0]
        x, g = dense(n, 64, 1), dense(n, 64, 2)
        s, sx = ours(a), sampan.to_tensor(x)
        t, tx = theirs(a), torch.from_numpy(x)
        yield Row(f"CSR product forward, {kind}", goals[0], {
            "sampan": lambda s=s, sx=sx: (s @ sx).data, "torch": lambda t=t, tx=tx: t @ tx, "scipy": lambda a=a, x=x: a @ x,
        })  # fmt: skip
        leaf, tleaf = sampan.to_tensor(x, stop_gradient=False), torch.from_numpy(x.copy()).requires_grad_()
        out, tout = s @ leaf, t @ tleaf
        sg, tg = sampan.to_tensor(g), torch.from_numpy(g)
        yield Row(f"CSR product, gradient of the dense side, {kind}", goals[1], {
            "sampan": lambda out=out, leaf=leaf, sg=sg: sampan.grad(out, [leaf], [sg])[0].data,
            "torch": lambda tout=tout, tleaf=tleaf, tg=tg: torch.autograd.grad(tout, tleaf, tg, retain_graph=True)[0],
            "scipy": lambda a=a, g=g: a.T @ g,
        })  # fmt: skip
        both = ours(a, True)
        # torch's own backward of the sparse side makes a dense matrix of the full size: by hand, as well as it can.
        turned = theirs(a.T.tocsr())

        def whole(both: Any = both, leaf: Any = leaf, sg: Any = sg) -> Any:
            both.clear_grad(False), leaf.clear_grad(False)
            (both @ leaf).backward(sg)
            return leaf.grad.data

        def whole_torch(t: Any = t, tx: Any = tx, tg: Any = tg, turned: Any = turned) -> Any:
            _ = t @ tx, torch.sparse.sampled_addmm(t, tg, tx.T, beta=0.0)
            return turned @ tg

        yield Row(
            f"CSR product, forward and both gradients, {kind}",
            goals[2],
            {"sampan": whole, "torch": whole_torch},
        )


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
    yield Row("SDDMM at 1M entries, 64 wide", 6.5, {
        "sampan": lambda: sparse.masked_matmul(sx, sy, s).values().data,
        "torch": lambda: torch.sparse.sampled_addmm(t, tx, ty, beta=0.0).values(),
    })  # fmt: skip
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

    yield Row("row softmax, forward and backward", 36.0, {"sampan": softmax, "torch": softmax_torch})

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
    })  # fmt: skip
    b = matrix("uniform")
    other, tother = ours(b), theirs(b)
    yield Row("add 1M + 1M", 1.5, {
        "sampan": lambda: sparse.add(s, other).values().data, "torch": lambda: (t + tother).values(), "scipy": lambda: (a + b).data,
    })  # fmt: skip
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

    known = cloud()
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
    yield Row(f"submanifold, {len(values)} entries, {pairs} pairs, with search", 1 / 3, {
        "sampan": lambda: F.subm_conv3d(cloud(), weight) and None, "gemm floor": floor,
    })  # fmt: skip
    yield Row("submanifold, map kept, forward", 1 / 3, {
        "sampan": lambda: F.subm_conv3d(known, weight) and None, "gemm floor": floor,
    })  # fmt: skip
    yield Row("submanifold, map kept, forward and backward (floor of the forward)", 1 / 9, {
        "sampan": back(lambda: F.subm_conv3d(known, weight)), "gemm floor": floor,
    })  # fmt: skip
    yield Row("strided, map kept, forward and backward (floor of the submanifold)", 1 / 9, {
        "sampan": back(lambda: F.conv3d(known, weight, None, 2, 1)), "gemm floor": floor,
    })  # fmt: skip


def attention() -> Iterator[Row]:
    for length in (2048, 4096):
        rng = np.random.default_rng(10)
        mask = rng.random((length, length)) < 0.05
        mask |= np.eye(length, dtype=bool)
        entries = scipy.sparse.csr_matrix(np.tile(mask, (4, 1)))
        crows = np.concatenate(
            [entries.indptr[i * length : (i + 1) * length + 1] - entries.indptr[i * length] for i in range(4)]
        )
        where = sparse.sparse_csr_tensor(
            crows, entries.indices, np.ones(entries.nnz, np.float32), [4, length, length]
        )
        arrays = [dense(4 * length, 64, i).reshape(1, 4, length, 64) for i in (11, 12, 13)]
        qkv = [sampan.to_tensor(v, stop_gradient=False) for v in arrays]
        tensors = [torch.from_numpy(v.copy()).requires_grad_() for v in arrays]
        tmask = torch.from_numpy(mask)

        def step(qkv: Any = qkv, where: Any = where) -> Any:
            for v in qkv:
                v.clear_grad(False)
            sparse.nn.functional.attention(*qkv, where).sum().backward()
            return qkv[0].grad.data

        def step_torch(tensors: Any = tensors, tmask: Any = tmask) -> Any:
            for v in tensors:
                v.grad = None
            torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=tmask).sum().backward()
            return tensors[0].grad

        goal = 6.5 if length == 2048 else 1.0
        yield Row(f"sparse attention, 4 x {length} x 64, 5 %", goal, {"sampan": step, "torch": step_torch})


def measured(row: Row, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds of each program, and their spread (the interquartile range over the median)."""
    values = {name: program() for name, program in row.programs.items()}
    reference = values["sampan"]
    for name, value in values.items():
        if reference is not None and value is not None:
            np.testing.assert_allclose(
                np.asarray(value), np.asarray(reference), rtol=2e-3, atol=2e-3, err_msg=f"{row.name}: {name}"
            )
    times: dict[str, list[float]] = {name: [] for name in row.programs}
    gc.collect()
    for _ in range(rounds):
        for name, program in row.programs.items():
            began = time.perf_counter()
            program()
            times[name].append(time.perf_counter() - began)
    middle = {name: statistics.median(found) for name, found in times.items()}
    spread = {}
    for name, found in times.items():
        low, _, high = statistics.quantiles(found, n=4)
        spread[name] = (high - low) / middle[name]
    return middle, spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    import numba

    numba.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    print(
        f"| row ({options.threads} threads) | ms | best peer | ratio | goal | all peers |\n|---|---|---|---|---|---|"
    )
    for family in (products, others, convolutions, attention):
        for row in family():
            if options.only not in row.name:
                continue
            middle, spread = measured(row, options.rounds)
            peers = {name: t for name, t in middle.items() if name != "sampan"}
            best = min(peers, key=peers.__getitem__)
            shown = ", ".join(f"{name} {t * 1e3:.1f} ± {spread[name]:.0%}" for name, t in peers.items())
            print(
                f"| {row.name} | {middle['sampan'] * 1e3:.1f} ± {spread['sampan']:.0%} | {best} | "
                f"{peers[best] / middle['sampan']:.2f} | {row.goal:.2f} | {shown} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
