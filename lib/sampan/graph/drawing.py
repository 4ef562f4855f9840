"""What all samplers share: seeds, arrays of a caller, and draws from the rows of nodes."""

import operator
from typing import Any

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels

Rows = tuple[np.ndarray, np.ndarray]  # where the row of each node begins, and how many places it has
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # places, values, targets, counts


def start(seed: int | None) -> int:
    """The 64 bits that a sampler's streams begin with: of `seed`, else of the generator that `paddle.seed`
    starts."""
    if seed is None:
        return int(torch.randint(-(1 << 63), (1 << 63) - 1, ())) % (1 << 64)
    return whole(seed, -(1 << 63), "seed: expected a whole number or None") % (1 << 64)


def child(seed: int, number: int) -> int:
    """The seed of one part of a call."""
    return int(graph_kernels.child(np.uint64(seed), number))


def host(values: Any) -> np.ndarray:
    """The array behind a Tensor, an array or a list, on the host and contiguous; not a copy where it need not
    be one."""
    if isinstance(values, Tensor):
        values = values.data
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    return np.ascontiguousarray(values)


def whole(value: Any, least: int, what: str) -> int:
    """A whole number that is at least `least`. Raises TypeError and ValueError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}, got {value!r}")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{what}, got {number}")
    return number


def moments(values: Any, what: str) -> np.ndarray:
    """Times as a copy of our own, int64 or float64. Raises TypeError, and ValueError for what is not
    finite."""
    array = host(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what}: expected numbers, got dtype {array.dtype}")
    owned = array.astype(np.float64 if array.dtype.kind == "f" else np.int64).reshape(-1)
    if not np.isfinite(owned).all():
        raise ValueError(f"{what}: expected finite times, got {owned[~np.isfinite(owned)][0]}")
    return owned


def weighed(weights: Any, edges: int, what: str) -> np.ndarray:
    """Weights as float32 or float64, one for each edge; the kernels check the values that they read."""
    array = host(weights).reshape(-1)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what}: expected numbers, got dtype {array.dtype}")
    if array.size != edges:
        raise ValueError(f"{what}: expected one for each of {edges} edges, got {array.size}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def draw(
    rows: Rows,
    size: int,
    neighbours: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray] | None,
    replace: bool,
    seed: int,
    first: int,
    kind: Any,
    what: str,
) -> Drawn:
    """Up to `size` places of each row, all of them if it is -1; see `kernels.graph.drawn`.

    Raises ValueError for a weight below 0 or not finite, in the name `what`.
    """
    degrees = rows[1]
    if weights is not None and size >= 0:
        found = graph_kernels.drawn_by_weight(rows, size, neighbours, weights, seed, first, kind)
        if isinstance(found, int):
            raise ValueError(f"{what}: expected finite weights of at least 0, got another at place {found}")
        places, values, targets, counts = found
        return places, values, targets, counts
    counts = degrees if size < 0 else np.minimum(degrees, size)
    if replace and size >= 0:
        counts = np.where(degrees > 0, size, 0)
    places, values, targets = graph_kernels.drawn(rows, counts, neighbours, replace, seed, first, kind)
    return places, values, targets, counts
