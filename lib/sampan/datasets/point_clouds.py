"""Shapes as sparse voxels: real CAD models, real meshes, and shapes made by a program, which need no file.

Axes of a grid are x, y, z with z up. A part label belongs to an entry: in the order of
`np.nonzero(grid)`, which is the order of a sparse tensor's entries. Used in notebook 05b and on the Studio's
page "Sparse".
"""

import gzip
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from .made_shapes import KINDS, made_shapes
from .mesh_files import Mesh, read_obj, read_off
from .readers import READERS, Arrays, _exactly
from .voxels import PARTS, Array, Shapes, points_to_sparse, to_sparse, turned, voxelised

__all__ = [
    "KINDS",
    "MESHES",
    "PARTS",
    "Mesh",
    "Shapes",
    "chair_parts",
    "load_meshes",
    "load_shapes",
    "made_shapes",
    "mesh_views",
    "points_to_sparse",
    "read_modelnet",
    "read_obj",
    "read_off",
    "to_sparse",
    "turned",
    "voxelised",
]

MESHES = (
    "alligator",
    "beetle",
    "beetle-alt",
    "cheburashka",
    "cow",
    "fandisk",
    "homer",
    "rocker-arm",
    "spot",
    "stanford-bunny",
    "suzanne",
    "teapot",
    "woody",
)


def read_voxels(path: Path) -> Array:
    """bool [count, x, y, z] of a gzipped .npy that holds 0 and 1 as [count, 1, x, y, z]."""
    try:
        with gzip.open(path) as stream:
            version = np.lib.format.read_magic(stream)
            header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_columns, dtype = header(stream)
            if by_columns or dtype.kind not in "fbiu" or len(shape) != 5 or shape[1] != 1:
                raise ValueError(f"expected numbers [count, 1, x, y, z] by rows, got {dtype} {list(shape)}")
            grids = np.zeros((shape[0], *shape[2:]), bool)
            for grid in grids:  # one at a time: whole, as float64, they would take 64 times the memory
                values = np.frombuffer(
                    _exactly(cast(BinaryIO, stream), grid.size * dtype.itemsize, path), dtype
                )
                if not ((values == 0) | (values == 1)).all():
                    raise ValueError("expected only 0 and 1")
                grid[...] = values.reshape(grid.shape) == 1
    except (EOFError, OSError, KeyError, ValueError, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a complete gzipped array of voxels: {error}") from error
    return grids


def chair_parts(grid: Array) -> Array:
    """Part labels made from geometry, for an upright chair whose back is at high y: not annotated by hand.

    Seat: the level with the most voxels between 15 and 60 % of the height, and the levels next to it with
    more than half as many. Leg: what is below. Above the seat the rear two fifths of its depth are back; of
    the rest the outer parts, beyond 55 % of half the width, are arm, and a cushion between them is seat.
    grid: bool [x, y, z]; returns int64 [entries].
    """
    x, y, z = np.nonzero(grid)
    if not len(z):
        return np.empty(0, np.int64)
    level = np.bincount(z, minlength=grid.shape[2])
    bottom, height = z.min(), z.max() - z.min() + 1
    low, high = bottom + int(0.15 * height), bottom + max(int(0.6 * height), 1)
    peak = low + int(level[low:high].argmax())
    first = last = peak
    while first > bottom and level[first - 1] > level[peak] / 2:
        first -= 1
    while last < z.max() and level[last + 1] > level[peak] / 2:
        last += 1
    seat = (z >= first) & (z <= last)
    left, right, front, rear = x[seat].min(), x[seat].max(), y[seat].min(), y[seat].max()
    parts = np.full(len(z), PARTS.index("seat"))
    parts[(z > last) & (abs(2 * x - left - right) > 0.55 * (right - left))] = PARTS.index("arm")
    parts[(z > last) & (y > front + 0.6 * (rear - front))] = PARTS.index("back")
    parts[z < first] = PARTS.index("leg")
    return parts


def load_shapes(name: str = "modelnet10_voxels", split: str = "train") -> Shapes:
    """Real chairs (label 0) and monitors (label 1) of ModelNet10, 32^3, or "made": made_shapes of 400 or 100.

    split: "train" or "test", a fixed fifth; shapes without a voxel and exact copies of others were left out
    before it was drawn. The chairs' parts are made from geometry (chair_parts); monitors have none, -1.
    Raises as `datasets.load` does.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split: expected 'train' or 'test', got {split!r}")
    if name == "made":
        return made_shapes(400, seed=0) if split == "train" else made_shapes(100, seed=1)
    arrays, layout = _read(name, "voxels")
    whole = np.concatenate([arrays["chair"], arrays["monitor"]])
    labels = np.repeat(np.arange(2), [len(arrays["chair"]), len(arrays["monitor"])])
    _, kept = np.unique(np.packbits(whole.reshape(len(whole), -1), axis=1), axis=0, return_index=True)
    kept = np.sort(kept[whole[kept].any((1, 2, 3))])
    kept = np.random.RandomState(1510).permutation(kept)  # its stream is frozen: the split never changes
    if len(kept) != layout.train + layout.test:
        raise ValueError(f"{name}: {len(kept)} different shapes, its card says {layout.train + layout.test}")
    kept = kept[: layout.train] if split == "train" else kept[layout.train :]
    grids, labels = whole[kept], labels[kept]
    parts = [
        chair_parts(g) if k == 0 else np.full(int(g.sum()), -1) for g, k in zip(grids, labels, strict=True)
    ]
    return Shapes(grids, labels, parts)


def _read(name: str, reader: str) -> Any:
    from . import _arrays
    from .download import print_progress

    _, layout, arrays = _arrays(name, False, print_progress)
    if layout.reader != reader:
        raise ValueError(f"{name}: expected a set read by {reader!r}, got one by {layout.reader!r}")
    return arrays, layout


def load_meshes(name: str = "meshes") -> dict[str, Mesh]:
    """Real meshes by name, those of MESHES, z up. Raises as `datasets.load` does."""
    arrays, _ = _read(name, "meshes")
    return {m: Mesh(arrays[f"{m} vertices"], arrays[f"{m} triangles"]) for m in MESHES}


def mesh_views(meshes: dict[str, Mesh], count: int, size: int = 64, seed: int = 0) -> Shapes:
    """Partial views: what a depth camera sees of a mesh in a random orientation.

    The meshes come in turn; labels are their numbers. A view keeps the highest voxel of each column over (x,
    y), of a surface sampled at random; 15 % of it is then cut away on one side, and it is scaled to fill the
    cube again, so that position and size carry no information. No parts: -1.
    """
    dots = [m.sample(8 * size**2, np.random.default_rng([seed, 0])) for m in meshes.values()]
    labels = np.arange(count, dtype=np.int64) % len(dots)
    grids = np.zeros((count, size, size, size), bool)
    for i, label in enumerate(labels):
        rng = np.random.default_rng([seed, 1, i])
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        if np.linalg.det(turn) < 0:  # a rotation, not a reflection
            turn[0] *= -1
        x, y, z = np.nonzero(voxelised(dots[label] @ turn.T, size))
        top = np.zeros((size, size), np.int64)
        np.maximum.at(top, (x, y), z)
        seen = np.stack([x, y, z], 1)[z == top[x, y]]
        angle = rng.uniform(0, 2 * np.pi)
        along = seen[:, :2] @ np.array([np.cos(angle), np.sin(angle)])
        grids[i] = voxelised(seen[along <= np.quantile(along, 0.85)].astype(float), size)
    return Shapes(grids, labels, [np.full(int(g.sum()), -1) for g in grids])


def read_modelnet(folder: Path | str, split: str = "train", size: int = 32, seed: int = 0) -> Shapes:
    """ModelNet's official layout, <folder>/<class>/<split>/*.off, sampled and voxelised; labels number the
    classes by name.

    Raises FileNotFoundError if there are none.
    """
    folder = Path(folder)
    files = sorted(folder.glob(f"*/{split}/*.off"))
    if not files:
        raise FileNotFoundError(f"{folder}: expected <class>/{split}/*.off, ModelNet's layout, found none")
    classes = sorted({path.parent.parent.name for path in files})
    labels = np.array([classes.index(path.parent.parent.name) for path in files])
    rng = np.random.default_rng(seed)
    grids = np.stack([voxelised(read_off(path).sample(16 * size**2, rng), size) for path in files])
    return Shapes(grids, labels, [np.full(int(g.sum()), -1) for g in grids])


def _voxel_files(files: dict[str, Path]) -> Arrays:
    return {role: read_voxels(path) for role, path in files.items()}


def _mesh_files(files: dict[str, Path]) -> Arrays:
    found = {}
    for name, path in files.items():
        mesh = read_obj(path)
        found[f"{name} vertices"] = mesh.vertices[:, [0, 2, 1]] * (1, -1, 1)  # y up in these files, z up here
        found[f"{name} triangles"] = mesh.triangles
    return found


READERS["voxels"] = (("chair", "monitor"), _voxel_files)
READERS["meshes"] = (MESHES, _mesh_files)
