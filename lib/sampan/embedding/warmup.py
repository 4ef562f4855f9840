"""Compile the loops of tables once, so that no first batch waits: `python -m sampan.embedding.warmup`."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import nn
from ..engine.tensor import Tensor, to_tensor
from ..optimizer import SGD, Adagrad, Adam
from .bag import EmbeddingBag
from .dynamic import DynamicEmbedding
from .hybrid import HybridEmbedding

ROWS, WIDTH = 1000, 16
FEW, MANY = 20, 8000  # ids: for the serial loops, for the parallel ones

TABLES: dict[str, Callable[[], Any]] = {
    "table": lambda: nn.Embedding(ROWS, WIDTH),
    "table of float64": lambda: nn.Embedding(ROWS, WIDTH).to(dtype="float64"),
    "bags": lambda: EmbeddingBag(ROWS, WIDTH, mode="sum"),
    "largest of bags": lambda: EmbeddingBag(ROWS, WIDTH, mode="max"),
    "ids without bounds": lambda: DynamicEmbedding(None, WIDTH, admission=2, capacity=ROWS, eviction="lru"),
    "cached rows": lambda: HybridEmbedding(2 * ROWS, WIDTH, ROWS),
}


def trained(make: Callable[[], Any], rule: Callable[..., Any]) -> None:
    """Some steps of small batches and of large ones."""
    for count in (FEW, MANY):
        table, draws = make(), np.random.default_rng(0)
        steps = rule(0.1, parameters=table.parameters())
        for _ in range(3):
            ids = to_tensor(draws.integers(0, ROWS - 1, (count // 10, 10)))
            output: Tensor = table(ids)
            output.sum().backward()
            steps.step()
            steps.clear_grad()


def main() -> None:
    started = time.perf_counter()
    for make in TABLES.values():
        trained(make, Adagrad)
    for rule in (SGD, partial(Adam, lazy_mode=True)):
        trained(TABLES["table"], rule)
    print(f"kernels ready: tables of {len(TABLES)} kinds, {time.perf_counter() - started:.1f}s")


if __name__ == "__main__":
    main()
