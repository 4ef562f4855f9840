"""Shapes as sparse voxels: real CAD models, real meshes, and shapes made by a program, which need no file.

Axes of a grid are x, y, z with z up. A part label belongs to an entry: they stand in the order of `np.nonzero(grid)`,
which is the order of a sparse tensor's entries. Used in notebook 05 and on the Studio's page "Sparse".
"""

import gzip
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import torch

from ..sparse import SparseTensor
from ..sparse.pattern import Coo
from ..tensor import Tensor
from .readers import READERS, Arrays, _exactly

__all__ = [
    "KINDS", "MESHES", "PARTS", "Mesh", "Shapes", "chair_parts", "load_meshes", "load_shapes", "made_shapes", "mesh_views",
    "points_to_sparse", "read_modelnet", "read_obj", "read_off", "to_sparse", "turned", "voxelised",
]  # fmt: skip

Array = np.ndarray[Any, Any]
KINDS = ("chair", "table", "lamp", "monitor")  # of made_shapes
PARTS = ("seat", "back", "arm", "leg", "top", "foot", "pole", "shade", "screen")  # of all shapes
MESHES = (
    "alligator", "beetle", "beetle-alt", "cheburashka", "cow", "fandisk", "homer", "rocker-arm", "spot", "stanford-bunny",
    "suzanne", "teapot", "woody",
)  # fmt: skip


class Shapes(NamedTuple):
    """grids: bool [count, size, size, size]; labels: int64 [count]; parts: for each shape int64 [its entries], -1 for none."""

    grids: Array
    labels: Array
    parts: list[Array]

    def pick(self, which: Any) -> "Shapes":
        """These shapes alone, in this order. which: integers."""
        return Shapes(self.grids[which], self.labels[which], [self.parts[int(i)] for i in which])


class Mesh(NamedTuple):
    """Triangles in space. vertices: float64 [n, 3]; triangles: int64 [m, 3], the vertices of each."""

    vertices: Array
    triangles: Array

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        """Points [count, 3] drawn evenly over the surface (Osada et al. 2002, "Shape Distributions", section 4.1).

        Raises ValueError for a mesh whose triangles have no area.
        """
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        area = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
        if not len(area) or not area[-1] > 0:
            raise ValueError(f"mesh: expected triangles with an area, got {len(area)} that have none")
        chosen = np.minimum(np.searchsorted(area / area[-1], rng.random(count), "right"), len(area) - 1)
        root, along = np.sqrt(rng.random((count, 1))), rng.random((count, 1))
        return (1 - root) * a[chosen] + root * (1 - along) * b[chosen] + root * along * c[chosen]


# --- voxels ---------------------------------------------------------------------------------------------------


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
    """The number of the voxel of each of `points` [n, 3], which are scaled to fill 15/16 of a cube of `size`."""
    if points.ndim != 2 or points.shape[1] != 3 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"points: expected finite numbers [n, 3], n above 0, got shape {list(points.shape)}")
    low, high = points.min(0), points.max(0)
    scale = size * 15 / 16 / max(float((high - low).max()), 1e-12)
    places = np.clip(((points - (low + high) / 2) * scale + size / 2).astype(np.int64), 0, size - 1)
    return np.ravel_multi_index(tuple(places.T), (size,) * 3)


def voxelised(points: Array, size: int = 64) -> Array:
    """bool [size, size, size]: the voxels that hold a point. points [n, 3] are centred and scaled to fill 15/16 of it."""
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


# --- real shapes ----------------------------------------------------------------------------------------------


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
                    raise ValueError("expected 0 and 1 alone")
                grid[...] = values.reshape(grid.shape) == 1
    except (EOFError, OSError, KeyError, ValueError, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is no whole gzipped array of voxels: {error}") from error
    return grids


def chair_parts(grid: Array) -> Array:
    """Part labels made from geometry, for an upright chair whose back is at high y: no person drew them.

    Seat: the level with the most voxels between 15 and 60 % of the height, and the levels next to it with more than
    half as many. Leg: what is below. Above the seat the rear two fifths of its depth are back; of the rest the outer
    parts, beyond 55 % of half the width, are arm, and a cushion between them is seat.
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

    split: "train" or "test", a fixed fifth; shapes without a voxel and exact copies of others were left out before it was
    drawn. The chairs' parts are made from geometry (chair_parts); monitors have none, -1. Raises as `datasets.load` does.
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
    kept = np.random.RandomState(1510).permutation(kept)  # its stream is frozen: the same parts for good
    if len(kept) != layout.train + layout.test:
        raise ValueError(
            f"{name}: {len(kept)} different shapes came, its card says {layout.train + layout.test}"
        )
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
    """Partial views: each shows what one eye sees of a mesh, turned at random in space, as a depth camera would.

    The meshes come in turn; labels are their numbers. A view keeps the highest voxel of each column over (x, y), of a
    surface sampled at random; 15 % of it is then cut away on one side, and it is scaled to fill the cube again, so that
    neither place nor size tells. No parts: -1.
    """
    dots = [m.sample(8 * size**2, np.random.default_rng([seed, 0])) for m in meshes.values()]
    labels = np.arange(count, dtype=np.int64) % len(dots)
    grids = np.zeros((count, size, size, size), bool)
    for i, label in enumerate(labels):
        rng = np.random.default_rng([seed, 1, i])
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        if np.linalg.det(turn) < 0:  # a rotation, no mirror image
            turn[0] *= -1
        x, y, z = np.nonzero(voxelised(dots[label] @ turn.T, size))
        top = np.zeros((size, size), np.int64)
        np.maximum.at(top, (x, y), z)
        seen = np.stack([x, y, z], 1)[z == top[x, y]]
        angle = rng.uniform(0, 2 * np.pi)
        along = seen[:, :2] @ np.array([np.cos(angle), np.sin(angle)])
        grids[i] = voxelised(seen[along <= np.quantile(along, 0.85)].astype(float), size)
    return Shapes(grids, labels, [np.full(int(g.sum()), -1) for g in grids])


# --- mesh files -----------------------------------------------------------------------------------------------


def _mesh(path: Path, vertices: list[list[float]], faces: list[tuple[int, list[int]]]) -> Mesh:
    """Checked and cut into triangles, fans about each face's first corner. faces: (line, vertex numbers from 0)."""
    table = np.array(vertices, np.float64).reshape(-1, 3)
    if not len(table) or not faces:
        raise ValueError(f"{path}: expected vertices and faces, got {len(table)} and {len(faces)}")
    if not np.isfinite(table).all():
        raise ValueError(f"{path}: vertex {int((~np.isfinite(table)).any(1).argmax()) + 1} is not finite")
    for line, face in faces:
        if len(face) < 3:
            raise ValueError(f"{path}, line {line}: expected a face of 3 corners or more, got {len(face)}")
        if min(face) < 0 or max(face) >= len(table):
            raise ValueError(f"{path}, line {line}: a corner lies outside the {len(table)} vertices")
    return Mesh(table, np.array([(f[0], a, b) for _, f in faces for a, b in pairwise(f[1:])]))


def _text(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error}") from error


def read_obj(path: Path | str) -> Mesh:
    """Vertices and faces of a Wavefront OBJ file; normals, textures, groups and materials are passed over.

    Faces may have more than three corners, and count from the end by negative numbers. Raises ValueError with the line for
    what is cut short, no number, or out of range.
    """
    path, vertices, faces = Path(path), [], []
    for number, line in enumerate(_text(path), 1):
        kind, *words = line.split() or [""]
        try:
            if kind == "v":
                if len(words) < 3:
                    raise ValueError(f"expected 3 coordinates, got {len(words)}")
                vertices.append([float(w) for w in words[:3]])
            elif kind == "f":
                corners = [int(w.split("/")[0]) for w in words]
                if 0 in corners:
                    raise ValueError("vertices count from 1, got 0")
                faces.append((number, [c - 1 if c > 0 else len(vertices) + c for c in corners]))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return _mesh(path, vertices, faces)


def read_off(path: Path | str) -> Mesh:
    """An Object File Format file, as ModelNet has them (there the counts may stand on the line of "OFF").

    Raises ValueError for another beginning, for fewer lines than it states, and as read_obj.
    """
    path = Path(path)
    lines = [(n, line.split("#")[0].strip()) for n, line in enumerate(_text(path), 1)]
    lines = [(n, line) for n, line in lines if line]
    if not lines or not lines[0][1].startswith("OFF"):
        raise ValueError(f"{path} is no OFF file: it begins with {lines[0][1][:12] if lines else ''!r}")
    rest = [(lines[0][0], lines[0][1][3:].strip()), *lines[1:]]
    rest = rest if rest[0][1] else rest[1:]
    number = 1
    try:
        (number, counts), *rest = rest or [(1, "")]
        vertex_count, face_count = [int(w) for w in counts.split()][:2]
        if min(vertex_count, face_count) < 0 or len(rest) < vertex_count + face_count:
            raise ValueError(
                f"states {vertex_count} vertices and {face_count} faces, {len(rest)} lines follow"
            )
        vertices, faces = [], []
        for number, line in rest[:vertex_count]:  # noqa: B007, an error names it
            x, y, z = (float(w) for w in line.split()[:3])
            vertices.append([x, y, z])
        for number, line in rest[vertex_count : vertex_count + face_count]:
            corners, *face = (int(w) for w in line.split())
            if len(face) < corners:
                raise ValueError(f"states {corners} corners, got {len(face)}")
            faces.append((number, face[:corners]))
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}") from error
    return _mesh(path, vertices, faces)


def read_modelnet(folder: Path | str, split: str = "train", size: int = 32, seed: int = 0) -> Shapes:
    """ModelNet's official layout, <folder>/<class>/<split>/*.off, sampled and voxelised; labels number the classes by name.

    Raises FileNotFoundError where there is no such file.
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


# --- made shapes ----------------------------------------------------------------------------------------------


class _Canvas:
    """A cube from -1 to 1 with z up, in which parts are drawn turned by an angle about z."""

    def __init__(self, size: int, angle: float) -> None:
        axis = (np.arange(size, dtype=np.float32) + 0.5) * (2 / size) - 1
        x, y = axis[:, None], axis[None, :]
        self.x = (np.cos(angle) * x + np.sin(angle) * y)[:, :, None]
        self.y = (np.cos(angle) * y - np.sin(angle) * x)[:, :, None]
        self.z = axis[None, None, :]
        self.thin = 1.02 / size  # half a voxel: nothing thinner would leave a trace
        self.parts = np.full((size, size, size), -1, np.int64)

    def box(self, part: str, x: float, y: float, z: float, w: float, d: float, h: float) -> None:
        """A box about (x, y, z); w, d, h: half its width, depth and height."""
        w, d, h = (max(v, self.thin) for v in (w, d, h))
        self._draw(part, (abs(self.x - x) <= w) & (abs(self.y - y) <= d) & (abs(self.z - z) <= h))

    def cone(self, part: str, z: float, h: float, below: float, above: float, wall: float = 2.0) -> None:
        """An upright cone about the middle, from radius `below` to `above`; h: half its height. Equal radii: a cylinder.

        wall: how thick it is where it is hollow.
        """
        h = max(h, self.thin)
        radius = below + (above - below) * np.clip((self.z - z + h) / (2 * h), 0, 1)
        away = np.sqrt(self.x**2 + self.y**2)
        inside = (away <= np.maximum(radius, 1.42 * self.thin)) & (away >= radius - wall)
        self._draw(part, inside & (abs(self.z - z) <= h))

    def _draw(self, part: str, where: Array) -> None:
        self.parts[where & (self.parts < 0)] = PARTS.index(part)  # what was drawn first stays


def _legs(c: _Canvas, rng: Any, w: float, d: float, low: float, high: float) -> None:
    """Four legs at the corners of 2w by 2d, or one on a foot, from the height `low` up to `high`."""
    middle, half = (low + high) / 2, (high - low) / 2
    if rng.random() < 0.7:
        thick = rng.uniform(0.03, 0.09)
        for x in (-1, 1):
            for y in (-1, 1):
                c.box("leg", x * (w - thick), y * (d - thick), middle, thick, thick, half)
    else:
        foot = rng.uniform(0.03, 0.06)
        c.cone("foot", low + foot, foot, *(rng.uniform(0.6, 0.9) * min(w, d),) * 2)
        c.cone("leg", middle, half, *(rng.uniform(0.05, 0.12),) * 2)


def _chair(c: _Canvas, rng: Any) -> None:
    w, d = rng.uniform(0.4, 0.6, 2)
    low, high, seat = rng.uniform(-0.95, -0.8), rng.uniform(0.7, 0.95), rng.uniform(-0.25, 0.1)
    thick, back = rng.uniform(0.04, 0.1), rng.uniform(0.04, 0.09)
    c.box("seat", 0, 0, seat, w, d, thick)
    c.box("back", 0, d - back, (seat + high) / 2, w * rng.uniform(0.8, 1), back, (high - seat) / 2)
    if rng.random() < 0.5:
        up, arm = rng.uniform(0.25, 0.4), rng.uniform(0.04, 0.08)
        for x in (-1, 1):
            c.box("arm", x * (w - arm), -0.1 * d, seat + up, arm, 0.8 * d, arm)
            c.box("arm", x * (w - arm), -0.8 * d, seat + up / 2, arm, arm, up / 2)
    _legs(c, rng, w, d, low, seat)


def _table(c: _Canvas, rng: Any) -> None:
    w, d = rng.uniform(0.45, 0.7, 2)
    low, high, thick = rng.uniform(-0.8, -0.5), rng.uniform(0.1, 0.6), rng.uniform(0.03, 0.08)
    if rng.random() < 0.3:
        d = w
        c.cone("top", high, thick, w, w)
        _legs(c, rng, 0.7 * w, 0.7 * w, low, high)
    else:
        c.box("top", 0, 0, high, w, d, thick)
        _legs(c, rng, w, d, low, high)


def _lamp(c: _Canvas, rng: Any) -> None:
    low, high, foot = rng.uniform(-0.95, -0.7), rng.uniform(0.6, 0.95), rng.uniform(0.03, 0.08)
    tall, wide = rng.uniform(0.2, 0.4), rng.uniform(0.3, 0.65)
    c.cone("foot", low + foot, foot, *(rng.uniform(0.25, 0.5),) * 2)
    c.cone("shade", high - tall, tall, wide, wide * rng.uniform(0.3, 1), 3 * c.thin)
    c.cone("pole", (low + high) / 2 - tall / 2, (high - tall - low) / 2, *(rng.uniform(0.04, 0.09),) * 2)


def _monitor(c: _Canvas, rng: Any) -> None:
    w, h, thick = rng.uniform(0.5, 0.68), rng.uniform(0.3, 0.5), rng.uniform(0.04, 0.15)
    low = rng.uniform(-0.8, -0.6)
    middle, foot = low + rng.uniform(0.2, 0.4) + h, rng.uniform(0.03, 0.06)
    c.box("screen", 0, 0, middle, w, thick, h)
    if rng.random() < 0.5:
        c.box("foot", 0, 0, low + foot, w * rng.uniform(0.4, 0.8), rng.uniform(0.25, 0.4), foot)
    else:
        c.cone("foot", low + foot, foot, *(rng.uniform(0.25, 0.4),) * 2)
    c.cone("pole", (low + middle) / 2, (middle - low) / 2, *(rng.uniform(0.05, 0.1),) * 2)


_MAKERS = (_chair, _table, _lamp, _monitor)


def made_shapes(count: int, size: int = 32, seed: int = 0) -> Shapes:
    """Shapes made by a program, not real ones: chairs, tables, lamps, monitors in random proportions, turned about z.

    labels: numbers of KINDS, in turn, so that the kinds are equally frequent; parts: numbers of PARTS. The same seed
    makes the same shapes. Raises ValueError for a count below 0 or a size below 8.
    """
    if count < 0 or size < 8:
        raise ValueError(f"count, size: expected 0 or more and 8 or more, got {count} and {size}")
    labels = np.arange(count, dtype=np.int64) % len(KINDS)
    grids, parts = np.zeros((count, size, size, size), bool), []
    for i, label in enumerate(labels):
        rng = np.random.default_rng([seed, i])
        canvas = _Canvas(size, rng.uniform(0, 2 * np.pi))
        _MAKERS[label](canvas, rng)
        grids[i] = canvas.parts >= 0
        parts.append(canvas.parts[grids[i]])
    return Shapes(grids, labels, parts)
