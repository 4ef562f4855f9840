"""Data sets of shapes: miniatures, real ones where SAMPAN_DATA has them, and how files break."""

import gzip
import io
import os

import numpy as np
import pytest

import sampan as paddle
from sampan import datasets
from sampan.datasets.point_clouds import (
    PARTS,
    chair_parts,
    load_meshes,
    load_shapes,
    mesh_views,
    read_modelnet,
    read_voxels,
)
from tests.datasets.cube import OBJ, OFF

REAL = os.environ.get("SAMPAN_DATA")


# --- made shapes and voxels ---


# --- mesh files ---


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
        (whole[:-20], "not a complete gzipped array"),
        (gzip.compress(gzip.decompress(whole)[:-1]), "cut short: 1 of 512"),
        (gzip.decompress(whole), "not a complete gzipped array"),
        (gzip.compress(b"not an array"), "not a complete gzipped array"),
        (packed(grids[:, 0]), r"expected numbers \[count, 1, x, y, z\] by rows, got bool \[3, 4, 4, 4\]"),
        (packed(grids * 2.0), "expected only 0 and 1"),
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
    # The other readers say where shapes are read. A miniature replaces the real files.
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
        ValueError, match=r"load: expected a set of images, got .meshes., which point_clouds\.load_meshes"
    ):
        datasets.load("meshes")
