"""The routes of messages: which node sends to which, by both ends, as the kernels take them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ..kernels import graph as graph_kernels
from ..kernels.device import GPUS, buffer
from .adjacency import MOST, Adjacency


class Routes:
    """Edge e leads from node sources[e] to node targets[e].

    sources, targets: int32 [edges], checked and never changed. What a kernel needs beside them is made when
    it is first used, and kept.
    """

    def __init__(
        self,
        sources: np.ndarray,
        targets: np.ndarray,
        num_sources: int,
        num_targets: int,
        kept: tuple[Any, str, str] | None = None,
    ) -> None:
        self.sources, self.targets = sources, targets
        self.num_sources, self.num_targets = num_sources, num_targets
        # Routes and their reverse keep together: `_here` and `_there` tell what belongs to which.
        self._kept: dict[Any, Any]
        self._kept, self._here, self._there = kept or ({}, "forward", "backward")

    def __repr__(self) -> str:  # in errors of operators
        return f"Routes({self.num_edges} edges, {self.num_sources} -> {self.num_targets} nodes)"

    @classmethod
    def of(cls, by_target: Adjacency) -> "Routes":
        """Of the edges by their targets; keep the result to send more than once."""
        sources, targets = np.empty((2, by_target.num_edges), np.int32)
        sources[by_target.edges], targets[by_target.edges] = by_target.neighbours, by_target.rows
        made = cls(sources, targets, by_target.width, by_target.height)
        made._kept["forward"] = by_target
        return made

    @classmethod
    def into_segments(cls, starts: np.ndarray) -> "Routes":
        """Of each of the edges starts[s] to starts[s + 1], as a node of its own, to the node s."""
        each, count = np.arange(int(starts[-1]), dtype=np.int32), len(starts) - 1
        targets = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
        made = cls(each, targets, len(each), count)
        made._kept["forward"] = Adjacency(starts, each, each, len(each))
        return made

    def _keep(self, name: Any, make: Callable[[], Any]) -> Any:
        """What was made before under this name, or what `make` gives."""
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = make()
        return found

    @property
    def num_edges(self) -> int:
        return len(self.sources)

    @property
    def by_target(self) -> Adjacency:
        """The edges into each node."""
        found: Adjacency = self._keep(
            self._here,
            lambda: Adjacency.from_edges(self.targets, self.sources, self.num_targets, self.num_sources),
        )
        return found

    @property
    def turned(self) -> "Routes":
        """The same edges from their targets to their sources."""
        kept = self._kept, self._there, self._here
        return Routes(self.targets, self.sources, self.num_targets, self.num_sources, kept)

    @property
    def arriving(self) -> "Routes":
        """From each edge, as a node of its own, to its target: the way of what stands on the edges."""
        found: Routes = self._keep(("arriving", self._here), self._arriving)
        return found

    def _arriving(self) -> "Routes":
        each, rows = np.arange(self.num_edges + 1, dtype=np.int32), self.by_target
        made = Routes(each[:-1], self.targets, self.num_edges, self.num_targets)
        made._kept["forward"] = Adjacency(rows.starts, rows.edges, rows.edges, self.num_edges)
        made._kept["backward"] = Adjacency(each, self.targets, each[:-1], self.num_targets)
        return made

    def rows(self, like: Any) -> tuple[Any, Any, Any, Any]:
        """(cuts, starts, neighbours, edges) of `by_target`, where the array `like` is."""
        rows = self.by_target
        if isinstance(like, np.ndarray):
            return rows.cuts, rows.starts, rows.neighbours, rows.edges
        found: tuple[Any, Any, Any, Any] = self._keep(
            ("rows", self._here, like.device), lambda: self._on(like)
        )
        return found

    def _on(self, like: torch.Tensor) -> tuple[Any, ...]:
        rows = self.by_target
        starts, *others = (
            torch.from_numpy(a).to(like.device) for a in (rows.starts, rows.neighbours, rows.edges)
        )
        return starts, starts, *others

    def senders(self, like: torch.Tensor) -> torch.Tensor:
        """`sources` as a buffer where `like` is."""
        sources = buffer(self.sources)
        if like.device.type not in GPUS:
            return sources
        found: torch.Tensor = self._keep(
            ("senders", self._here, like.device), lambda: sources.to(like.device)
        )
        return found

    def weights(self, mean: str, like: Any) -> Any:
        """A factor for each place of `rows`: 1 (""), one over the edges of its target ("targets"), or of its
        source ("sources")."""
        where = getattr(like, "device", None)
        return self._keep(("weights", mean, self._here, like.dtype, where), lambda: self._weights(mean, like))

    def _weights(self, mean: str, like: Any) -> Any:
        made = np.ones(self.num_edges)
        if mean == "targets":
            made /= self.by_target.degrees[self.by_target.rows]
        elif mean == "sources":
            made /= self.turned.by_target.degrees[self.by_target.neighbours]
        if isinstance(like, np.ndarray):
            return made.astype(like.dtype)
        return torch.from_numpy(made).to(like.device, like.dtype)


_last: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # targets as they were given -> their last Routes


def routes_of_indices(
    name: str, src_index: torch.Tensor, dst_index: torch.Tensor, num_sources: int, num_targets: int
) -> Routes:
    """The Routes of two buffers int32 or int64 [edges], for the function `name` of Paddle.

    The last ones are kept as long as the buffer `dst_index` lives, and taken again where both buffers still
    hold the same numbers. Raises ValueError for other shapes and dtypes, IndexError for a node that is not.
    """
    for what, index in (("src_index", src_index), ("dst_index", dst_index)):
        if index.dtype not in (torch.int32, torch.int64) or index.dtype is not src_index.dtype:
            raise ValueError(
                f"{name}: expected int32 or int64, the same for both indices, for {what}, got {index.dtype}"
            )
        if index.ndim not in (1, 2) or (index.ndim == 2 and index.shape[1] != 1):
            raise ValueError(f"{name}: expected shape [edges] for {what}, got {list(index.shape)}")
    if len(src_index) != len(dst_index):
        raise ValueError(
            f"{name}: expected {len(src_index)} for the length of dst_index, got {len(dst_index)}"
        )
    given = [index.cpu().reshape(-1).contiguous().numpy() for index in (src_index, dst_index)]
    found: Routes | None = _last.get(dst_index)
    if found is None or not _same(found, given, num_sources, num_targets):
        sources = _owned(given[0], num_sources, f"{name}: src_index")
        found = Routes(sources, _owned(given[1], num_targets, f"{name}: dst_index"), num_sources, num_targets)
        _last[dst_index] = found
    return found


def _same(routes: Routes, given: list[np.ndarray], num_sources: int, num_targets: int) -> bool:
    if (routes.num_sources, routes.num_targets) != (num_sources, num_targets):
        return False
    owned = routes.sources, routes.targets
    return all(len(a) == len(b) and not graph_kernels.differ(a, b) for a, b in zip(owned, given, strict=True))


def _owned(index: np.ndarray, count: int, what: str) -> np.ndarray:
    if len(index) > MOST or count > MOST:
        raise ValueError(f"{what}: expected at most {MOST} nodes and edges, got {count} and {len(index)}")
    owned, wrong = graph_kernels.copy_checked(index, count)
    if wrong >= 0:
        raise IndexError(f"{what}: expected nodes from 0 to {count - 1}, got {index[wrong]} at place {wrong}")
    return owned
