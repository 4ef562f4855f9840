"""Measured limits of this machine: processor, memory bandwidth, and rate of matrix products.

The limit of a row is the least time that these rates allow for its bytes and its flops. It moves with the processor as the
row's time does, so the distance to it can be compared between machines, which a ratio to a peer cannot.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

MIB = 2**20
SIZES = tuple(4**k * MIB // 16 for k in range(7))  # bytes of a copy: 64 KiB to 256 MiB
TABLES = (4 * MIB, 32 * MIB, 256 * MIB)  # bytes of tables whose rows are read in random order
VECTORS = ("amx_tile", "avx512_fp16", "avx512f", "avx2", "asimd")  # the widest first


def processor() -> str:
    """The processor's name, with family and model if the name does not identify the generation."""
    facts: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    for text in cpuinfo.read_text().splitlines() if cpuinfo.exists() else []:
        name, _, value = text.partition(":")
        facts.setdefault(name.strip(), value.strip())
    words = [facts.get("model name") or platform.processor() or platform.machine()]
    if "cpu family" in facts:
        words.append(f"family {facts['cpu family']} model {facts['model']}")
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    words += [next((name for name in VECTORS if name in flags), "no vector extension known")]
    return ", ".join(words)


@numba.njit(parallel=True, fastmath=True)
def summed_rows(table: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Read rows of a table and sum them: the cost of reading alone."""
    parts = out.shape[0]
    for part in numba.prange(parts):
        total = out[part]
        for i in range(part * rows.size // parts, (part + 1) * rows.size // parts):
            row = table[rows[i]]
            for j in range(row.size):
                total[j] += row[j]


def fastest(call: Callable[[], Any], seconds: float = 0.3) -> float:
    """The shortest time of a call, among the calls of `seconds` seconds, at least three."""
    call()
    best, calls, end = np.inf, 0, time.perf_counter() + seconds
    while calls < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        best, calls = min(best, time.perf_counter() - began), calls + 1
    return float(best)


def _rung(sizes: tuple[int, ...], size: float) -> int:
    """The smallest of the measured sizes that holds this one, or the largest."""
    return next((rung for rung in sizes if size <= rung), sizes[-1])


@dataclass(frozen=True)
class Machine:
    """Rates per second with the current number of threads: bytes read and written by a copy (by its size), bytes of
    random rows of 256 bytes (by the size of their table), and float32 flops of a product of two matrices of 1024 square."""

    copied: dict[int, float]
    scattered: dict[int, float]
    flops: float

    @classmethod
    def measured(cls) -> Machine:
        copied = {}
        for size in SIZES:
            source, target = torch.ones(size // 8), torch.empty(size // 8)
            calls = max(1, MIB // size)  # a call costs a microsecond: many of the small copies
            copied[size] = size * calls / fastest(lambda: [target.copy_(source) for _ in range(calls)])  # noqa: B023
        scattered, out = {}, np.zeros((64, 64), np.float32)
        for size in TABLES:
            table = np.ones((size // 256, 64), np.float32)
            rows = np.random.default_rng(0).integers(0, len(table), MIB)
            scattered[size] = rows.size * 256 / fastest(lambda: summed_rows(table, rows, out))  # noqa: B023
        a, b, c = (torch.ones(1024, 1024) for _ in range(3))
        return cls(copied, scattered, 2 * 1024**3 / fastest(lambda: torch.mm(a, b, out=c), 0.5))

    def seconds(self, moved: float, flops: float = 0.0) -> float:
        """The least time to move `moved` bytes, at the rate of a copy of that size, and to compute `flops`."""
        return max(moved / self.copied[_rung(SIZES, moved)], flops / self.flops)

    def gathering(self, moved: float, table: int) -> float:
        """The least time to read `moved` bytes in random rows of a table of `table` bytes."""
        return moved / self.scattered[_rung(TABLES, table)]

    def __str__(self) -> str:
        return (
            f"copy {self.copied[SIZES[-1]] / 1e9:.1f} GB/s ({max(self.copied.values()) / 1e9:.0f} in the caches), "
            f"random rows of 256 bytes {self.scattered[TABLES[-1]] / 1e9:.1f} GB/s (of a table of {TABLES[0] // MIB} MiB "
            f"{self.scattered[TABLES[0]] / 1e9:.0f}), float32 GEMM {self.flops / 1e9:.0f} GFLOP/s"
        )


class Work(TorchDispatchMode):
    """Sums the least times for the bytes and flops of PyTorch's operators while they run."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine, self.seconds = machine, 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not func.is_view and "empty" not in func.__name__:
            moved = sum(_bytes(value) for value in tree_leaves((args, kwargs, out)))
            count = flop_registry.get(func.overloadpacket)
            self.seconds += self.machine.seconds(moved, count(*args, **kwargs, out_val=out) if count else 0)
        return out


def _bytes(value: Any) -> int:
    """The bytes of a tensor in memory: at most its storage, for an expanded one."""
    if not isinstance(value, torch.Tensor):
        return 0
    return min(value.numel() * value.element_size(), value.untyped_storage().nbytes())
