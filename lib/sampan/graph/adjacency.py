"""The edges of a graph by one of their ends: compressed rows, as samplers and message passing read them."""

from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from ..kernels import sparse as sparse_kernels

MOST = 2**31 - 1  # nodes, and edges: their numbers are int32


def ids(values: Any, count: int, what: str) -> np.ndarray:
    """Node or edge ids as an int32 array of our own, each at least 0 and below `count`.

    values: a Tensor, an array or nested lists of whole numbers, of any shape. what: "Graph: edges", for the
    error. Raises TypeError for other dtypes and ValueError for an id out of range; a caller may overwrite
    `values` at any time, also meanwhile.
    """
    if isinstance(values, Tensor):
        values = values.data
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(array.shape, np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected whole numbers, got dtype {array.dtype}")
    flat = np.ascontiguousarray(array).reshape(-1)
    owned, wrong = graph_kernels.copy_checked(flat, count)
    if wrong >= 0:
        raise ValueError(f"{what}: expected ids from 0 to {count - 1}, got {flat[wrong]} at place {wrong}")
    return owned.reshape(array.shape)


class Adjacency:
    """Row r owns the places starts[r] to starts[r + 1]: neighbours[place] is the node at the other end of an
    edge, edges[place] that edge's number.

    Within a row the edges keep their order; repeated edges and self loops stay. Rows are the sources of the
    edges (CSR) or their targets (CSC): a Graph has both. All arrays are int32 and never change.
    starts: [rows + 1]; neighbours, edges: [edges]; width: how many nodes there are at the other end.
    """

    def __init__(self, starts: np.ndarray, neighbours: np.ndarray, edges: np.ndarray, width: int) -> None:
        self.starts, self.neighbours, self.edges, self.width = starts, neighbours, edges, width

    @classmethod
    def from_edges(cls, rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> "Adjacency":
        """Of edges rows[e] -> columns[e], which `ids` has checked."""
        return cls(*graph_kernels.compress(rows, columns, height), width)

    @property
    def height(self) -> int:
        return len(self.starts) - 1

    @property
    def num_edges(self) -> int:
        return len(self.neighbours)

    @cached_property
    def degrees(self) -> np.ndarray:
        """How many edges each row has, int32 [rows]."""
        return np.diff(self.starts)

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each place, int32 [edges]."""
        return np.repeat(np.arange(self.height, dtype=np.int32), self.degrees)

    @cached_property
    def cuts(self) -> np.ndarray:
        """Rows between which lie about equal numbers of edges: a thread takes one part."""
        return sparse_kernels.cuts(self.starts)

    def places_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(places, counts): the places of these rows one after another, and how many each row has."""
        counts = self.degrees[rows]
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum(dtype=np.int64)) + np.repeat(self.starts[rows] - before, counts)
        return places, counts
