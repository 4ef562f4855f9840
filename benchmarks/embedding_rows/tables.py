"""Tables, batches of ids, and gradients, shared by the rows of embeddings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import torch

import sampan
from benchmarks.side_by_side import Step
from sampan import nn

SAMPLES, FIELDS, WIDTH, SKEW = 4096, 26, 64, 1.05
NAMED = SAMPLES * FIELDS  # ids of a batch
BATCHES = (
    8  # used in turn, so that the rows of a batch are evicted from the processor's caches before its next use
)
ROW = 4 * WIDTH  # bytes
MILLION = 1_000_000
RATE = 0.01  # learning rate


def size(rows: int) -> str:
    return f"{rows // MILLION}M x {WIDTH}"


def skewed(count: int, number: int, seed: int) -> np.ndarray:
    """`number` ids below `count`: the k-th most popular has a frequency proportional to k^-1.05; ranks are mapped to scattered ids."""
    weight = np.cumsum(np.arange(1, count + 1) ** -SKEW)
    ranks = np.searchsorted(weight, np.random.default_rng(seed).random(number) * weight[-1])
    return (
        np.minimum(ranks, count - 1) * 2_654_435_761 % count
    )  # a prime, so that the map from ranks to ids is one-to-one


@cache
def batches(rows: int, number: int = BATCHES) -> np.ndarray:
    """[number, 4096, 26] ids of a table with `rows` rows."""
    return skewed(rows, number * NAMED, 0).reshape(number, SAMPLES, FIELDS)


@cache
def distinct(rows: int) -> float:
    """The mean number of distinct ids in a batch."""
    return float(np.mean([len(np.unique(ids)) for ids in batches(rows)]))


def gathered(rows: int, times: float = 1) -> dict[str, float]:
    """Bytes of the rows of a batch, each read or written `times` times, and of their table."""
    return {"gathered": times * distinct(rows) * ROW, "table": rows * ROW}


@cache
def gradient() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((SAMPLES, FIELDS, WIDTH)).astype(np.float32)


def fill(table: Any, block: int = 1 << 16) -> None:
    """Write the same values for every library, so that the operating system maps every page."""
    values = np.random.default_rng(2).standard_normal((block, WIDTH)).astype(np.float32)
    for begin in range(0, len(table), block):
        table[begin : begin + block] = torch.from_numpy(values[: len(table) - begin])


def ours(rows: int, sparse: bool | None = None) -> nn.Embedding:
    """Sampan's layer. sparse: None for the default, False for a dense gradient."""
    given = {} if sparse is None else {"sparse": sparse}
    layer = nn.Embedding(rows, WIDTH, weight_attr=nn.initializer.Constant(0.0), **given)
    fill(layer.weight.data)
    return layer


def theirs(rows: int, sparse: bool = True, kind: Any = torch.nn.Embedding, **settings: Any) -> Any:
    layer = kind(rows, WIDTH, sparse=sparse, _weight=torch.zeros(rows, WIDTH), **settings)
    fill(layer.weight.data)
    return layer


@cache
def named(rows: int) -> torch.Tensor:
    """Some ids of the first batches."""
    return torch.from_numpy(np.unique(batches(rows)[:2])[::7].copy())


def probe(table: Any, rows: int) -> Callable[[], Any]:
    """Function that returns rows of the table that the batches use, to compare after a step."""
    return lambda: table[named(rows)].numpy()


def in_turn(rows: int, make: Callable[[np.ndarray], Any], number: int = BATCHES) -> Callable[[], Any]:
    """Function that returns the next batch, converted by `make`, at each call."""
    every = cycle([make(ids) for ids in batches(rows, number)])
    return lambda: next(every)


def tensors(rows: int, number: int = BATCHES) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """(Sampan's batches, torch's), each returns the next batch at each call."""
    return in_turn(rows, sampan.to_tensor, number), in_turn(rows, torch.from_numpy, number)


def stepping(
    layer: Any, rule: Any, next_ids: Callable[[], Any], rows: int, g: Any = None, shown: bool = True
) -> Step:
    """Lookup, backward and step of Sampan. g: the gradient, `gradient()` if None; shown: whether a value is compared."""
    g = sampan.to_tensor(gradient()) if g is None else g

    def step() -> Any:
        layer(next_ids()).backward(g)
        rule.step()
        rule.clear_grad(False)
        return probe(layer.weight.data, rows) if shown else None

    return step


def stepping_torch(
    layer: Any, rule: Any, next_ids: Callable[[], Any], rows: int, g: Any = None, shown: bool = True
) -> Step:
    """As `stepping`, of torch."""
    g = torch.from_numpy(gradient()) if g is None else g

    def step() -> Any:
        layer(next_ids()).backward(g)
        rule.step()
        layer.zero_grad()
        return probe(layer.weight.data, rows) if shown else None

    return step
