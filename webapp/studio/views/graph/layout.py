"""Places for the nodes of a graph, found step by step in a thread. Independent of widgets.

Neighbours attract each other in proportion to their distance; all nodes repel with one over it, those of many edges
more (Jacomy et al., ForceAtlas2, 2014). Few nodes repel in pairs; many through a mesh: their masses are spread on a
grid, and the forces in all cells are one convolution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.work import Work

PAIRWISE = 1_000  # nodes up to which every pair is computed
MESH = 128  # cells of a side
STEPS_SMALL, STEPS_LARGE = 300, 160
GRAVITY = 0.3  # keeps parts that are not joined in the picture
_SMOOTHED = 40

Places = NDArray[np.float64]


class Layout(Work):
    """Finds `points` float32 [nodes, 2] for edges [edges, 2]; `on_change` is called a few times a second."""

    def __init__(
        self, ends: NDArray[Any], nodes: int, on_change: Callable[[Any], None] = lambda _: None
    ) -> None:
        super().__init__("layout", on_change)
        self._ends, self._nodes = np.asarray(ends, np.int64), nodes
        self.steps = STEPS_SMALL if nodes <= PAIRWISE else STEPS_LARGE
        self.step = 0
        self.points: NDArray[np.float32] = np.empty((0, 2), np.float32)

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def _work(self) -> None:
        self._running()
        masses: Places = 1.0 + np.bincount(self._ends.reshape(-1), minlength=self._nodes).astype(np.float64)
        x = first_places(self._ends, self._nodes, masses)
        repel = _pairs if self._nodes <= PAIRWISE else _mesh
        for step in range(1, self.steps + 1):
            self.step = step
            force = (
                masses[:, None] * repel(x, masses) + attraction(x, self._ends) - GRAVITY * masses[:, None] * x
            )
            heat = 0.1 * (1 - step / (self.steps + 1)) * np.sqrt((x**2).sum(1).mean())
            move = force / masses[:, None]
            far = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-12)
            x += move / far * np.minimum(far, heat)
            self.points = (x - x.mean(0)).astype(np.float32)
            if self._cancel.is_set():
                break
            self._tell(every=0.15)


def first_places(ends: NDArray[np.int64], nodes: int, masses: Places) -> Places:
    """Random places, smoothed along the edges, so that what is near in the graph begins near."""
    x = np.random.default_rng(0).standard_normal((nodes, 2))
    for _ in range(_SMOOTHED if len(ends) else 0):
        x = (x + np.stack([_received(x[:, axis], ends, nodes) for axis in range(2)], 1)) / masses[:, None]
        x -= np.average(x, axis=0, weights=masses)
        x[:, 1] -= x[:, 0] * ((masses * x[:, 0] * x[:, 1]).sum() / max((masses * x[:, 0] ** 2).sum(), 1e-12))
        x /= np.maximum(x.std(0), 1e-12)
    return np.clip(x, -2, 2) * np.sqrt(max(masses.sum(), 1.0))  # nodes without edges are far out


def _received(values: Places, ends: NDArray[np.int64], nodes: int) -> Places:
    there: Places = np.bincount(ends[:, 1], values[ends[:, 0]], nodes).astype(np.float64)
    return there + np.bincount(ends[:, 0], values[ends[:, 1]], nodes)


def attraction(x: Places, ends: NDArray[np.int64]) -> Places:
    """[nodes, 2]: the sum over the neighbours of their places less one's own."""
    apart = x[ends[:, 1]] - x[ends[:, 0]]
    sums = [
        np.bincount(ends[:, 0], apart[:, axis], len(x)) - np.bincount(ends[:, 1], apart[:, axis], len(x))
        for axis in range(2)
    ]
    return np.stack(sums, 1)


def _pairs(x: Places, masses: Places) -> Places:
    """[nodes, 2]: the sum over all others of their mass times (own place - theirs) / distance^2."""
    square = (x**2).sum(1)
    apart = np.maximum(square[:, None] + square - 2 * x @ x.T, 1e-3)
    share = masses / apart
    np.fill_diagonal(share, 0)
    return x * share.sum(1, keepdims=True) - share @ x


def _mesh(x: Places, masses: Places, cells: int = MESH) -> Places:
    """`_pairs` through a grid: right from a few cells on, smoothed within one."""
    low = x.min(0)
    width = max(float(np.ptp(x, axis=0).max()), 1e-9) / (cells - 1.001)
    at = (x - low) / width
    cell = np.minimum(at.astype(np.int64), cells - 2)
    part = at - cell
    corners = [(i, j) for i in (0, 1) for j in (0, 1)]
    shares = [np.abs(1 - i - part[:, 0]) * np.abs(1 - j - part[:, 1]) for i, j in corners]
    index = [(cell[:, 0] + i) * cells + cell[:, 1] + j for i, j in corners]
    density = sum(np.bincount(k, masses * s, cells * cells) for k, s in zip(index, shares, strict=True))
    spread = np.fft.rfft2(np.asarray(density).reshape(cells, cells), (2 * cells, 2 * cells))
    step = np.fft.fftfreq(2 * cells, 1 / (2 * cells))
    square = step[:, None] ** 2 + step**2
    square[0, 0] = 1.0
    found = []
    for kernel in (step[:, None] / square, step[None, :] / square):
        field = np.fft.irfft2(spread * np.fft.rfft2(kernel), (2 * cells, 2 * cells))[:cells, :cells].reshape(
            -1
        )
        found.append(sum(field[k] * s for k, s in zip(index, shares, strict=True)) / width)
    return np.stack(found, 1)
