"""Readers of shapes: made, real where SAMPAN_DATA has them, and every way in which a file can be broken."""

import gzip
import io
import os

import numpy as np
import pytest

import sampan as paddle
from sampan import datasets
from sampan.datasets.point_clouds import (
    KINDS,
    PARTS,
    Mesh,
    Shapes,
    chair_parts,
    load_meshes,
    load_shapes,
    made_shapes,
    mesh_views,
    points_to_sparse,
    read_modelnet,
    read_obj,
    read_off,
    read_voxels,
    to_sparse,
    turned,
    voxelised,
)

REAL = os.environ.get("SAMPAN_DATA")
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "".join(
    "f " + " ".join(f"{c + 1}/1/1" for c in square) + "\n" for square in SQUARES
)
OFF = "OFF\n# a cube\n8 6 0\n" + "".join(f"{x} {y} {z}\n" for x, y, z in CUBE) + "".join(
    "4 " + " ".join(map(str, square)) + "\n" for square in SQUARES
)  # fmt: skip


# --- made shapes and voxels ---


def test_made_shapes_have_every_kind_and_part_and_a_seed_makes_them_again():
    shapes = made_shapes(24, seed=4)
    assert (
        isinstance(shapes, Shapes) and shapes.grids.shape == (24, 32, 32, 32) and shapes.grids.dtype == bool
    )
    np.testing.assert_array_equal(np.bincount(shapes.labels), [6] * len(KINDS))
    assert [len(p) for p in shapes.parts] == shapes.grids.sum((1, 2, 3)).tolist()
    belongs = {"chair": {"seat", "back", "arm", "leg", "foot"}, "table": {"top", "leg", "foot"}}
    belongs |= {"lamp": {"foot", "pole", "shade"}, "monitor": {"foot", "pole", "screen"}}
    for kind, names in belongs.items():
        found = np.concatenate(
            [p for p, k in zip(shapes.parts, shapes.labels, strict=True) if KINDS[k] == kind]
        )
        assert {PARTS[p] for p in found} == names
    assert 0.005 < shapes.grids.mean() < 0.1  # sparse, as real shapes are
    again, other, more = made_shapes(24, seed=4), made_shapes(24, seed=5), made_shapes(28, seed=4)
    np.testing.assert_array_equal(again.grids, shapes.grids)
    np.testing.assert_array_equal(np.concatenate(again.parts), np.concatenate(shapes.parts))
    assert (other.grids != shapes.grids).any((1, 2, 3)).all()
    np.testing.assert_array_equal(more.grids[:24], shapes.grids)
    assert made_shapes(0).grids.shape == (0, 32, 32, 32)
    with pytest.raises(ValueError, match="8 or more, got 4 and 7"):
        made_shapes(4, size=7)


def test_a_seat_lies_below_its_back_and_above_its_legs():
    for grid, parts in zip(*made_shapes(16, seed=6)[::2], strict=True):
        height = {PARTS[p]: np.nonzero(grid)[2][parts == p].mean() for p in np.unique(parts)}
        order = [height[n] for n in ("foot", "leg", "pole", "seat", "back", "shade", "top") if n in height]
        assert order == sorted(order) or ("pole" in height and height["foot"] < height["pole"])


def test_a_sparse_batch_is_the_grid():
    grids = made_shapes(3, size=16, seed=1).grids
    x = to_sparse(grids)
    assert x.shape == [3, 16, 16, 16, 4] and x.is_coalesced() and x.nnz() == grids.sum()
    dense = x.to_dense().numpy()
    np.testing.assert_array_equal(dense[..., 0], grids)
    at = np.stack(np.nonzero(grids)[1:], 1)
    np.testing.assert_allclose(dense[..., 1:][grids], at * 2 / 15 - 1, atol=1e-6)
    with pytest.raises(ValueError, match=r"expected bool \[batch, D, H, W\], got float64 \[2\]"):
        to_sparse(np.zeros(2))


def test_a_turn_keeps_each_voxel_and_its_part():
    shapes = made_shapes(6, size=16, seed=2)
    seen = set()
    for seed in range(12):
        for i, (grid, parts) in enumerate(
            zip(*turned(shapes, np.random.default_rng(seed))[::2], strict=True)
        ):
            levels = np.nonzero(grid)[2]
            before = np.nonzero(shapes.grids[i])[2]
            # z stays: each level has as many voxels of each part as before.
            pairs = (np.stack([levels, parts]), np.stack([before, shapes.parts[i]]))
            assert all(map(np.array_equal, *(np.unique(p, axis=1, return_counts=True) for p in pairs)))
            seen.add((i, grid.tobytes()))
    chair = [g for i, g in seen if i == 0]
    assert len(chair) > 4  # quarters and mirror images


def test_points_become_voxels_at_any_resolution():
    rng = np.random.default_rng(0)
    clouds = [rng.standard_normal((500, 3)) * (1, 2, 3) + 7, rng.random((40, 3)) * 1e-3]
    for size in (8, 64):
        x = points_to_sparse(clouds, size)
        for i, points in enumerate(clouds):
            grid = voxelised(points, size)
            np.testing.assert_array_equal(x.to_dense().numpy()[i, ..., 0], grid)
            spans = [np.ptp(axis) + 1 for axis in np.nonzero(grid)]
            assert 0.9 * size <= max(spans) <= size and 0 < grid.sum() <= len(points)
    assert points_to_sparse(clouds, 4096).shape == [2, 4096, 4096, 4096, 4]  # densely 1 TiB
    for bad in (np.zeros((0, 3)), np.zeros((4, 2)), np.full((2, 3), np.nan)):
        with pytest.raises(ValueError, match="points: expected finite numbers"):
            voxelised(bad)


# --- mesh files ---


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
        (OBJ, "is no OFF file: it begins with 'v 0.0"),
        ("", "is no OFF file"),
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
    with pytest.raises(ValueError, match=r"photo\.obj is no text"):
        read_obj(tmp_path / "photo.obj")
    with pytest.raises(ValueError, match="triangles with an area"):
        Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]])).sample(4, np.random.default_rng(0))


def test_modelnets_layout_from_files_to_logits(tmp_path):
    tall = OFF.replace("1.0\n", "3.0\n")
    for name, text in (("bathtub", OFF), ("chair", tall)):
        for part, count in (("train", 2), ("test", 1)):
            (tmp_path / name / part).mkdir(parents=True)
            for i in range(count):
                (tmp_path / name / part / f"{name}_{i:04}.off").write_text(text)
    train, test = read_modelnet(tmp_path, "train", 16), read_modelnet(tmp_path, "test", 16)
    assert train.labels.tolist() == [0, 0, 1, 1] and test.labels.tolist() == [0, 1]
    assert [[np.ptp(a) + 1 for a in np.nonzero(g)] for g in test.grids] == [[16, 16, 16], [6, 6, 16]]
    network = paddle.models.PointClassifier(2, width=2, in_channels=4)
    losses = paddle.models.point_cloud.train_classes(
        network, train, epochs=8, batch_size=4, learning_rate=0.05
    )
    assert losses[-1] < losses[0]
    assert paddle.models.point_cloud.predict(network, test.grids).shape == (2,)
    with pytest.raises(FileNotFoundError, match=r"expected <class>/valid/\*\.off"):
        read_modelnet(tmp_path, "valid")


# --- voxel files and real data ---


def packed(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return gzip.compress(stream.getvalue())


def test_voxel_files_and_how_they_break(tmp_path):
    grids = np.random.default_rng(0).random((3, 1, 4, 4, 4)) < 0.3
    path = tmp_path / "some.npy.gz"
    for dtype in ("f8", "u1", "?"):
        path.write_bytes(packed(grids.astype(dtype)))
        np.testing.assert_array_equal(read_voxels(path), grids[:, 0])
    whole = packed(grids.astype("f8"))
    for content, message in [
        (whole[:-20], "no whole gzipped array"),
        (gzip.compress(gzip.decompress(whole)[:-1]), "cut short: 1 of 512"),
        (gzip.decompress(whole), "no whole gzipped array"),
        (gzip.compress(b"not an array"), "no whole gzipped array"),
        (packed(grids[:, 0]), r"expected numbers \[count, 1, x, y, z\] by rows, got bool \[3, 4, 4, 4\]"),
        (packed(grids * 2.0), "expected 0 and 1 alone"),
        (packed(np.array([{"a": 1}])), "expected numbers"),  # an object: nothing in it is run
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            read_voxels(path)
        assert "some.npy.gz" in str(caught.value)


def real(monkeypatch, name):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    if name not in datasets.available():
        pytest.skip(f"needs {name} in SAMPAN_DATA")


def test_real_chairs_and_monitors(monkeypatch):
    real(monkeypatch, "modelnet10_voxels")
    train, test = load_shapes(split="train"), load_shapes(split="test")
    assert len(train.labels) == 1032 and len(test.labels) == 258
    assert np.bincount(np.concatenate([train.labels, test.labels])).tolist() == [839, 451]
    every = {g.tobytes() for g in np.packbits(np.concatenate([train.grids, test.grids]), axis=-1)}
    assert len(every) == 1290  # no shape in both
    assert 0.05 < train.grids.mean() < 0.08
    # A chair's seat is where its labels say: in the mean a plate, about half-way up.
    chair = test.pick(np.flatnonzero(test.labels == 0))
    assert {PARTS[p] for p in np.concatenate(chair.parts)} == {"seat", "back", "arm", "leg"}
    share = np.bincount(np.concatenate(chair.parts)) / sum(map(len, chair.parts))
    assert share.min() > 0.04 and share[0] > 0.25
    monitor = test.pick(np.flatnonzero(test.labels == 1))
    assert (np.concatenate(monitor.parts) == -1).all()


def test_chair_parts_of_a_made_chair():
    """The rule, on chairs whose parts are known: made ones, before they are turned."""
    grid = np.zeros((20, 20, 20), bool)
    known = np.full((20, 20, 20), -1)
    for part, box in {
        "leg": np.s_[3:5, 3:5, 0:8], "seat": np.s_[3:17, 3:17, 8:10], "back": np.s_[3:17, 15:17, 10:20],
        "arm": np.s_[3:5, 4:10, 13:14],
    }.items():  # fmt: skip
        grid[box], known[box] = True, PARTS.index(part)
    np.testing.assert_array_equal(chair_parts(grid), known[grid])
    assert len(chair_parts(np.zeros((4, 4, 4), bool))) == 0
    assert chair_parts(np.ones((2, 2, 1), bool)).tolist() == [0, 0, 0, 0]


def test_real_meshes_and_views_of_them(monkeypatch):
    real(monkeypatch, "meshes")
    meshes = load_meshes()
    bunny = meshes["stanford-bunny"]
    assert (len(bunny.vertices), len(bunny.triangles)) == (35947, 69451)  # as Stanford states them
    few = {name: meshes[name] for name in ("spot", "teapot", "stanford-bunny")}
    views = mesh_views(few, 6, size=32, seed=1)
    assert views.labels.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_array_equal(mesh_views(few, 6, size=32, seed=1).grids, views.grids)
    assert (views.grids[0] != views.grids[3]).any()
    filled = views.grids.sum((1, 2, 3))
    assert (filled > 100).all() and (filled < 32**2 * 1.5).all()  # one side only


def test_errors_name_what_came(monkeypatch, tmp_path):
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ValueError, match="split: expected 'train' or 'test', got 'all'"):
        load_shapes(split="all")
    with pytest.raises(FileNotFoundError, match="modelnet10_voxels is not on this machine"):
        load_shapes()
    with pytest.raises(
        ValueError, match="digits: expected a set read by 'meshes', got one by 'scikit-learn'"
    ):
        load_meshes("digits")
    assert len(load_shapes("made", "test").labels) == 100
    # The other readers say where shapes are read. A miniature stands for the real files.
    folder, known = tmp_path / "data" / "meshes", datasets.card("meshes")
    folder.mkdir(parents=True)
    for file in known.layouts[0].files.values():
        (folder / file.path).write_text(OBJ)
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path / "data"))
    with pytest.raises(ValueError, match=r"alligator\.obj is not the file its card describes"):
        load_meshes()
    monkeypatch.setattr(datasets, "verify", lambda path, sha256: None)
    assert load_meshes()["woody"].triangles.shape == (12, 3)
    with pytest.raises(
        ValueError, match=r"meshes is a set of shapes, and no set of images: point_clouds\.load_meshes"
    ):
        datasets.load("meshes")
