"""Shapes as voxels: dense grids, sparse tensors of them, and points cut into them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..sparse import SparseTensor
from ..sparse.pattern import Coo

Array = np.ndarray[Any, Any]
PARTS = ("seat", "back", "arm", "leg", "top", "foot", "pole", "shade", "screen")  # of all shapes


class Shapes(NamedTuple):
    """grids: bool [count, size, size, size]; labels: int64 [count]; parts: for each shape int64 [its
    entries], -1 for none."""

    grids: Array
    labels: Array
    parts: list[Array]

    def pick(self, which: Any) -> "Shapes":
        """Only these shapes, in this order. which: integers."""
        return Shapes(self.grids[which], self.labels[which], [self.parts[int(i)] for i in which])


def _sparse(places: Array, shape: tuple[int, ...]) -> SparseTensor:
    """Entries at `places` [4, n], in order and each once, with the channels that to_sparse names."""
    middle = (np.array(shape[1:], np.float32)[:, None] - 1) / 2
    values = np.concatenate([np.ones((1, places.shape[1]), np.float32), places[1:] / middle - 1])
    entries = np.ascontiguousarray(values.T, np.float32)  # [entries, 4]
    return SparseTensor(Coo(torch.from_numpy(places), shape, True), Tensor(torch.from_numpy(entries)))


def to_sparse(grids: Array) -> SparseTensor:
    """bool [batch, D, H, W] to a sparse tensor [batch, D, H, W, 4], float32.

    Channels: 1, then the three coordinates from -1 to 1.
    """
    if grids.ndim != 4 or grids.dtype != bool:
        raise ValueError(f"grids: expected bool [batch, D, H, W], got {grids.dtype} {list(grids.shape)}")
    return _sparse(np.stack(np.nonzero(grids)), grids.shape)


def _cells(points: Array, size: int) -> Array:
    """The number of the voxel of each of `points` [n, 3], which are scaled to fill 15/16 of a cube of
    `size`."""
    if points.ndim != 2 or points.shape[1] != 3 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"points: expected finite numbers [n, 3], n above 0, got shape {list(points.shape)}")
    low, high = points.min(0), points.max(0)
    scale = size * 15 / 16 / max(float((high - low).max()), 1e-12)
    places = np.clip(((points - (low + high) / 2) * scale + size / 2).astype(np.int64), 0, size - 1)
    return np.ravel_multi_index(tuple(places.T), (size,) * 3)


def voxelised(points: Array, size: int = 64) -> Array:
    """bool [size, size, size]: the voxels that hold a point. points [n, 3] are centred and scaled to fill
    15/16 of it."""
    grid = np.zeros(size**3, bool)
    grid[_cells(points, size)] = True
    return grid.reshape((size,) * 3)


def points_to_sparse(clouds: Sequence[Array], size: int = 64) -> SparseTensor:
    """As `to_sparse` of `voxelised` clouds, points [n, 3] each, at any resolution: no dense grid is made."""
    cells = [np.unique(_cells(points, size)) for points in clouds]
    batch = np.repeat(np.arange(len(cells)), [len(c) for c in cells])
    places = np.stack(
        [batch, *np.unravel_index(np.concatenate([*cells, np.empty(0, np.int64)]), (size,) * 3)]
    )
    return _sparse(places, (len(cells), size, size, size))


def turned(shapes: Shapes, rng: np.random.Generator) -> Shapes:
    """Each shape turned about z by a random number of quarters, and mirrored or not."""
    grids, parts = np.empty_like(shapes.grids), []
    for i, (grid, labels) in enumerate(zip(shapes.grids, shapes.parts, strict=True)):
        quarters, mirrored = int(rng.integers(4)), rng.random() < 0.5
        grids[i] = np.rot90(grid[::-1] if mirrored else grid, quarters)
        where = np.empty(grid.shape, np.int8)  # 127 parts at most
        where[grid] = labels
        parts.append(np.rot90(where[::-1] if mirrored else where, quarters)[grids[i]].astype(np.int64))
    return Shapes(grids, shapes.labels, parts)
