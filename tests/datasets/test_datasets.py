"""Data sets by name: search order and errors."""

import os

import numpy as np
import pytest

from sampan import datasets
from sampan.datasets import places, readers
from sampan.io import Dataset
from tests.datasets.miniature import miniature

pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_miniature_in_the_official_layout_loads(monkeypatch, tmp_path, packed):
    arrays = miniature(tmp_path / "data", packed=packed)
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path / "data"))
    assert "tiny" in datasets.available()
    bundle = datasets.load("tiny")
    assert (bundle.card.name, bundle.layout.title, len(bundle.train), len(bundle.test)) == (
        "tiny",
        "official",
        5,
        3,
    )
    np.testing.assert_array_equal(bundle.train.images, arrays["train_images"])
    np.testing.assert_array_equal(bundle.test.labels, arrays["test_labels"])
    assert isinstance(bundle.train, Dataset) and bundle.train.labels.dtype == np.int64
    for index in (0, 4, -1):
        image, label = bundle.train[index]
        assert (image.dtype, image.shape, label.dtype, label.shape) == (np.float32, (1, 4, 4), np.int64, (1,))
        np.testing.assert_allclose(image[0], arrays["train_images"][index] / 255.0, rtol=1e-6)
        assert label[0] == arrays["train_labels"][index]
    with pytest.raises(IndexError):
        bundle.train[5]
    images, labels = bundle.train.__getitems__([3, 0, 3])  # a batch at once says what its items say
    for place, index in enumerate([3, 0, 3]):
        np.testing.assert_array_equal(images[place], bundle.train[index][0])
        np.testing.assert_array_equal(labels[place], bundle.train[index][1])


def test_digits_load_without_network_and_without_folders():
    bundle = datasets.load("digits")
    assert (len(bundle.train), len(bundle.test)) == (1437, 360)
    image, label = bundle.train[0]
    assert image.shape == (1, 8, 8) and image.min() >= 0 and image.max() <= 1 and label.shape == (1,)
    assert np.stack([bundle.train[n][0] for n in range(200)]).max() == 1.0
    assert np.bincount(bundle.test.labels).min() >= 30
    again = datasets.load("digits")
    np.testing.assert_array_equal(again.test.images, bundle.test.images)


def test_the_project_comes_before_the_data_folders_and_those_before_the_cache(monkeypatch, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    miniature(places.cache())
    assert datasets.card("tiny").source == "tests" and datasets.available().count("tiny") == 1
    for folder in (second, first):
        miniature(folder)
        path = folder / "tiny" / "card.toml"
        path.write_text(path.read_text().replace('source = "tests"', f'source = "{folder.name}"'))
        monkeypatch.setenv("SAMPAN_DATA", os.pathsep.join([str(folder), str(second)]))
        assert datasets.card("tiny").source == folder.name
    assert places.folders() == [places.bundled(), first, second, places.cache()]
    (first / "digits").mkdir()
    (first / "digits" / "card.toml").write_text("not even a card")  # never read: the project's comes first
    assert "scikit-learn" in datasets.card("digits").licence
    # A folder that has the card and lacks a file is passed over for one that has both.
    (first / "tiny" / "test_labels.idx").unlink()
    (second / "tiny" / "train_labels.idx").write_bytes(b"other")
    with pytest.raises(ValueError, match="second"):
        datasets.load("tiny")


def test_labels_outside_the_classes_are_refused(monkeypatch, tmp_path):
    miniature(tmp_path, classes=9)
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="outside 0 to 2"):
        datasets.load("tiny")


def test_another_count_than_the_card_says_is_refused(monkeypatch, tmp_path):
    miniature(tmp_path)
    path = tmp_path / "tiny" / "card.toml"
    path.write_text(path.read_text().replace("train = 5", "train = 6"))
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"images \[5, 4, 4\] and labels \[5\], its card says 6"):
        datasets.load("tiny")


def test_other_digits_in_the_package_are_refused(monkeypatch):
    roles, reader = readers.READERS["scikit-learn"]

    def altered(paths):
        arrays = reader(paths)
        arrays["train_images"][0, 0, 0] += 1
        return arrays

    monkeypatch.setitem(readers.READERS, "scikit-learn", (roles, altered))
    with pytest.raises(ValueError, match="the installed package holds other data"):
        datasets.load("digits")


def test_unknown_and_absent_sets_say_what_to_do(monkeypatch):
    with pytest.raises(ValueError, match=r"'mnits'.*known are: .*mnist"):
        datasets.load("mnits")
    assert "mnist" not in datasets.available()
    with pytest.raises(FileNotFoundError, match=r"SAMPAN_DATA .*mnist10k\.npz.*download=True") as caught:
        datasets.load("mnist")
    assert str(places.cache() / "mnist") in str(caught.value)
    with pytest.raises(FileNotFoundError, match="cifar10") as caught:  # no official file that may be fetched
        datasets.load("cifar10", download=True)
    assert "download=True" not in str(caught.value)
    monkeypatch.setattr(readers, "has_scikit_learn", lambda: False)
    assert datasets.available() == ["coriolanus"]
    with pytest.raises(FileNotFoundError, match="pip install scikit-learn"):
        datasets.load("digits")


@pytest.mark.parametrize(("name", "shape"), [("mnist", (1, 28, 28)), ("cifar10", (3, 32, 32))])
def test_real_data_where_there_is_some(monkeypatch, name, shape):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    if name not in datasets.available():
        pytest.skip(f"needs {name} in SAMPAN_DATA")
    bundle = datasets.load(name)
    assert len(bundle.train) == bundle.layout.train and len(bundle.test) == bundle.layout.test
    image, label = bundle.test[0]
    assert image.shape == shape and label.shape == (1,)
    assert np.bincount(bundle.train.labels, minlength=10).min() > 0.08 * len(bundle.train)
    # A real data set, not noise: class means tell half of the test images apart (chance is a tenth).
    flat = bundle.train.images.reshape(len(bundle.train), -1).astype(np.float32)
    means = np.stack([flat[bundle.train.labels == k].mean(0) for k in range(10)])
    test = bundle.test.images.reshape(len(bundle.test), -1).astype(np.float32)
    distance = ((test**2).sum(1)[:, None] - 2 * test @ means.T) + (means**2).sum(1)
    accuracy = (distance.argmin(1) == bundle.test.labels).mean()
    assert accuracy > {"mnist": 0.78, "cifar10": 0.25}[name]


REAL = os.environ.get("SAMPAN_DATA")
