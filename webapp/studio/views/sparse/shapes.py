"""The shapes of the page "Sparse": generated ones with labelled parts, and real ones as voxels. Independent of
widgets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MADE = ("chair", "table", "lamp", "monitor")
VOXELS = {"real_chair": 0, "real_monitor": 1}  # of ModelNet10, with their labels in it
MESHES = {"bunny": "stanford-bunny", "teapot": "teapot", "cow": "cow"}
VOXEL_RESOLUTION = 32
SOURCES = ("made", "real")  # training data for the network
TRAINED, HELD_OUT = 240, 16  # shapes
HELD_OUT_SEED, SHOWN_SEED = 10_001, 10_002
_DOTS = 60_000  # on the surface of a mesh


@dataclass(frozen=True)
class Shape:
    """A shape as a voxel grid [n, n, n], z upwards; `parts` of the filled voxels, in the order of np.nonzero, if
    known."""

    name: str
    grid: NDArray[np.bool_]
    parts: NDArray[np.int64] | None

    @property
    def real(self) -> bool:
        return self.name not in MADE

    @property
    def fixed(self) -> bool:
        """Whether it is stored as voxels, so that it has only one resolution."""
        return self.name in VOXELS

    @property
    def places(self) -> NDArray[np.int64]:
        """[filled, 3]"""
        return np.argwhere(self.grid)


def shape(name: str, resolution: int, number: int = 0) -> Shape:
    """The `number`th shape of this name. None of them is in the training data. KeyError for an unknown name,
    FileNotFoundError if its file is missing."""
    from sampan.datasets import point_clouds

    if name in MADE:
        made = point_clouds.made_shapes(len(MADE), resolution, SHOWN_SEED + number)
        at = point_clouds.KINDS.index(name)
        return Shape(name, made.grids[at], made.parts[at])
    if name in VOXELS:
        data = _voxels("test")
        own = np.flatnonzero(data.labels == VOXELS[name])[
            HELD_OUT:
        ]  # the ones before are the test data of the network
        at = int(own[number % len(own)])
        parts = data.parts[at]
        return Shape(name, data.grids[at], parts if (parts >= 0).any() else None)
    mesh = MESHES[name]
    dots = _meshes()[mesh].sample(_DOTS, np.random.default_rng(0))
    return Shape(name, turned(point_clouds.voxelised(dots, resolution), number), None)


def turned(grid: NDArray[np.bool_], number: int) -> NDArray[np.bool_]:
    """Rotated about z by a quarter turn per number."""
    return np.ascontiguousarray(np.rot90(grid, number % 4))


def available() -> list[str]:
    """The real shapes on this machine."""
    from sampan import datasets

    here = set(datasets.available())
    found = list(VOXELS) if "modelnet10_voxels" in here else []
    return found + (list(MESHES) if "meshes" in here else [])


def learned_from(source: str, resolution: int, count: int = TRAINED) -> tuple[Any, Any]:
    """Training shapes and test shapes. source: "made", or "real" chairs, whose labels are derived from geometry."""
    from sampan.datasets import point_clouds

    if source == "made":
        held_out = point_clouds.made_shapes(HELD_OUT, resolution, HELD_OUT_SEED)
        return point_clouds.made_shapes(count, resolution), held_out
    chairs = [data.pick(np.flatnonzero(data.labels == 0)) for data in (_voxels("train"), _voxels("test"))]
    return chairs[0].pick(range(min(count, len(chairs[0].labels)))), chairs[1].pick(range(HELD_OUT))


@cache
def _voxels(split: str) -> Any:
    from sampan.datasets import point_clouds

    return point_clouds.load_shapes("modelnet10_voxels", split)


@cache
def _meshes() -> Any:
    from sampan.datasets import point_clouds

    return point_clouds.load_meshes()
