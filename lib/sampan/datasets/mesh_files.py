"""Triangle meshes, and the files they come in: Wavefront OBJ and the Object File Format."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .voxels import Array


class Mesh(NamedTuple):
    """Triangles in space. vertices: float64 [n, 3]; triangles: int64 [m, 3], the vertices of each."""

    vertices: Array
    triangles: Array

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        """Points [count, 3] drawn evenly over the surface (Osada et al. 2002, "Shape Distributions", section
        4.1).

        Raises ValueError for a mesh whose triangles have no area.
        """
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        area = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
        if not len(area) or not area[-1] > 0:
            raise ValueError(f"mesh: expected triangles with an area, got {len(area)} without area")
        chosen = np.minimum(np.searchsorted(area / area[-1], rng.random(count), "right"), len(area) - 1)
        root, along = np.sqrt(rng.random((count, 1))), rng.random((count, 1))
        return (1 - root) * a[chosen] + root * (1 - along) * b[chosen] + root * along * c[chosen]


def _mesh(path: Path, vertices: list[list[float]], faces: list[tuple[int, list[int]]]) -> Mesh:
    """Checked and cut into triangles, fans about each face's first corner. faces: (line, vertex numbers from
    0)."""
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
        raise ValueError(f"{path} is not text: {error}") from error


def read_obj(path: Path | str) -> Mesh:
    """Vertices and faces of a Wavefront OBJ file; normals, textures, groups and materials are ignored.

    Faces may have more than three corners, and count from the end by negative numbers. Raises ValueError with
    the line for a truncated line, an invalid number, or an index out of range.
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
    """An Object File Format file, as ModelNet has them (there the counts may be on the line of "OFF").

    Raises ValueError for another beginning, for fewer lines than it states, and as read_obj.
    """
    path = Path(path)
    lines = [(n, line.split("#")[0].strip()) for n, line in enumerate(_text(path), 1)]
    lines = [(n, line) for n, line in lines if line]
    if not lines or not lines[0][1].startswith("OFF"):
        raise ValueError(f"{path} is not an OFF file: it begins with {lines[0][1][:12] if lines else ''!r}")
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
