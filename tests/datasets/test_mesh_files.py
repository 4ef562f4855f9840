"""Files of meshes: a cube is read, and a broken file says where."""

import numpy as np
import pytest

from sampan.datasets.point_clouds import (
    Mesh,
    read_obj,
    read_off,
    voxelised,
)
from tests.datasets.cube import CUBE, OBJ, OFF, SQUARES


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("kind", ["obj", "negative", "off", "modelnet"])
def test_a_cube_is_read(tmp_path, kind):
    text = {"obj": OBJ, "off": OFF, "modelnet": OFF.replace("OFF\n# a cube\n", "OFF")}.get(kind)
    if kind == "negative":
        text = OBJ.split("f")[0] + "".join("f " + " ".join(str(c - 8) for c in s) + "\n" for s in SQUARES)
    read = read_obj if kind in ("obj", "negative") else read_off
    mesh = read(write(tmp_path, "cube", text))
    np.testing.assert_array_equal(mesh.vertices, CUBE)
    assert mesh.triangles.shape == (12, 3)
    a, b, c = (CUBE[mesh.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    assert np.linalg.norm(normals, axis=1).sum() == pytest.approx(6)  # the surface
    assert (a * normals).sum() / 3 == pytest.approx(1)  # the volume, by the divergence theorem
    points = mesh.sample(6000, np.random.default_rng(1))
    on = np.isclose(points, 0) | np.isclose(points, 1)
    assert on.any(1).all() and points.min() > -1e-9 and points.max() < 1 + 1e-9
    assert np.bincount(on.argmax(1) * 2 + np.isclose(points[range(6000), on.argmax(1)], 1)).min() > 900
    hollow = voxelised(points, 8)
    assert hollow.sum() == 8**3 - 6**3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OBJ[: OBJ.index("v 1.0 1.0 1.0")] + "v 1.0 1.", "line 8: expected 3 coordinates, got 2"),
        (OBJ[: OBJ.rindex("f") + 9], "line 14: expected a face of 3 corners or more, got 2"),
        (OBJ + "f 1 2 9\n", "line 15: a corner lies outside the 8 vertices"),
        (OBJ + "f 1 2 -9\n", "line 15: a corner lies outside"),
        (OBJ + "f 0 1 2\n", "line 15: vertices count from 1, got 0"),
        (OBJ + "f 1 2 x\n", "line 15: invalid literal"),
        (OBJ.replace("v 0.0 0.0 1.0", "v 0.0 nan 1.0"), "vertex 2 is not finite"),
        (OBJ.split("f")[0], "expected vertices and faces, got 8 and 0"),
        ("", "got 0 and 0"),
    ],
)
def test_a_broken_obj_says_where(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_obj(write(tmp_path, "broken.obj", text))
    assert "broken.obj" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OBJ, "is not an OFF file: it begins with 'v 0.0"),
        ("", "is not an OFF file"),
        ("OFF\n", "not enough values to unpack"),
        (OFF[:-4], "line 17: states 4 corners, got 2"),
        (OFF[: OFF.rindex("4 ")], "line 3: states 8 vertices and 6 faces, 13 lines follow"),
        (OFF.replace("8 6 0", "8 -6 0"), "line 3: states 8 vertices and -6 faces"),
        (OFF.replace("4 0 1 3 2", "4 0 1 3 8"), "line 12: a corner lies outside the 8 vertices"),
        (OFF.replace("4 0 1 3 2", "2 0 1"), "line 12: expected a face of 3 corners"),
        (OFF.replace("1.0 1.0 1.0", "1.0 one 1.0"), "line 11: could not convert"),
    ],
)
def test_a_broken_off_says_where(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_off(write(tmp_path, "broken.off", text))
    assert "broken.off" in str(caught.value)


def test_what_is_no_text_and_what_has_no_surface(tmp_path):
    (tmp_path / "photo.obj").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(ValueError, match=r"photo\.obj is not text"):
        read_obj(tmp_path / "photo.obj")
    with pytest.raises(ValueError, match="triangles with an area"):
        Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]])).sample(4, np.random.default_rng(0))
