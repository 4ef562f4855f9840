"""How many instances of a meta-path join two nodes: products of sparse matrices of edge counts."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..kernels import sparse as sparse_kernels
from .adjacency import Adjacency


class PathCounts(NamedTuple):
    """Row a has, between starts[a] and starts[a + 1], the nodes `neighbours` that it reaches, in ascending
    order, each with the number `counts` of path instances between the two.

    starts: int32 [rows + 1], neighbours: int32, counts: int64 [pairs]; width: nodes of the last type.
    """

    starts: np.ndarray
    neighbours: np.ndarray
    counts: np.ndarray
    width: int

    @property
    def num_pairs(self) -> int:
        return len(self.neighbours)

    @property
    def rows(self) -> np.ndarray:
        """The row of each pair, int64 [pairs]."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def to_dense(self) -> np.ndarray:
        """int64 [rows, width]."""
        dense = np.zeros((len(self.starts) - 1, self.width), np.int64)
        dense[self.rows, self.neighbours] = self.counts
        return dense


def _edge_counts(side: Adjacency) -> PathCounts:
    """One step: repeated edges are several instances."""
    starts, neighbours, (firsts, _) = sparse_kernels.grouped(side.rows, side.neighbours, side.height)
    return PathCounts(starts, neighbours, np.diff(firsts).astype(np.int64), side.width)


def _multiplications(left: PathCounts, right: PathCounts) -> int:
    return int(np.diff(right.starts)[left.neighbours].sum(dtype=np.int64))


def product(left: PathCounts, right: PathCounts) -> PathCounts:
    """Instances of one path after the other. Raises ValueError for numbers that are too large to count."""
    try:
        at = sparse_kernels.spgemm_columns(left[:2], right[:2], right.width)
    except ValueError as error:
        raise ValueError(f"path_counts: expected fewer than 2^31 pairs of nodes: {error}") from error
    values = sparse_kernels.spgemm_values(left[:3], right[:3], right.width, at)
    most = float(left.counts.max(initial=0)) * float(right.counts.max(initial=0)) * left.width
    if most >= 2**62 and _bound(left, right) >= 2**62:
        raise ValueError("path_counts: expected fewer than 2^62 instances between two nodes, got more")
    return PathCounts(*at, values, right.width)


def _bound(left: PathCounts, right: PathCounts) -> float:
    """At least the largest count of the product."""
    totals = np.bincount(left.rows, left.counts.astype(np.float64), minlength=1)
    return float(totals.max(initial=0.0)) * float(right.counts.max(initial=0))


def counts(steps: list[Adjacency]) -> PathCounts:
    """Instances of a path of these steps. The cheapest neighbouring pair is multiplied first, so a path that
    narrows (author, paper, venue, paper, author) meets in the middle."""
    chain = [_edge_counts(side) for side in steps]
    while len(chain) > 1:
        costs = [_multiplications(*pair) for pair in pairwise(chain)]
        at = int(np.argmin(costs))
        chain[at : at + 2] = [product(*chain[at : at + 2])]
    return chain[0]
