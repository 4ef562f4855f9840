"""Search order, checksums, errors. The user's cache and SAMPAN_DATA are the test's own folders throughout."""

import gzip
import hashlib
import os

import numpy as np
import pytest

from sampan import datasets
from sampan.datasets import card_file, checksums, places, readers
from sampan.io import Dataset

from .test_readers import idx_bytes

CARD = """
name = "tiny"
title = "Tiny"
title_zh = "小"
about = "Made by a test."
origin = "made"
source = "tests"
licence = "Apache-2.0"
citation = "none"
scale = 255
classes = ["a", "b", "c"]
[schema]
images = "uint8 [N, 4, 4]"
[[layouts]]
reader = "idx"
title = "official"
train = 5
test = 3
"""


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SAMPAN_DATA", raising=False)


def miniature(folder, classes=3, packed=True, break_file=None):
    """A set in the official IDX layout with its card: `folder/tiny`. Returns the arrays."""
    generator = np.random.default_rng(7)
    arrays = {}
    for part, count in (("train", 5), ("test", 3)):
        arrays[f"{part}_images"] = generator.integers(0, 256, (count, 4, 4), dtype=np.uint8)
        arrays[f"{part}_labels"] = generator.integers(0, classes, count, dtype=np.uint8)
    (folder / "tiny").mkdir(parents=True)
    text = CARD
    for role, array in arrays.items():
        data = gzip.compress(idx_bytes(array)) if packed else idx_bytes(array)
        sha256 = hashlib.sha256(data).hexdigest()
        (folder / "tiny" / f"{role}.idx").write_bytes(data[:-3] if role == break_file else data)
        text += f'[layouts.files.{role}]\npath = "{role}.idx"\nbytes = {len(data)}\nsha256 = "{sha256}"\n'
    (folder / "tiny" / "card.toml").write_text(text)
    return arrays


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


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    miniature(tmp_path, break_file="test_images")
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"test_images\.idx is not the file its card describes"):
        datasets.load("tiny")


def test_a_file_is_hashed_once_for_each_state(monkeypatch, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    good = hashlib.sha256(b"one").hexdigest()
    calls = []
    real = checksums.sha256_of
    monkeypatch.setattr(checksums, "sha256_of", lambda path: calls.append(path) or real(path))
    checksums.verify(path, good)
    checksums.verify(path, good)
    assert len(calls) == 1
    with pytest.raises(
        ValueError, match="expected 0000"
    ):  # remembered as good, and still not as anything else
        checksums.verify(path, "0000")
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match=hashlib.sha256(b"two").hexdigest()):
        checksums.verify(path, good)
    (places.cache() / "verified.json").write_text("[damaged")
    path.write_bytes(b"one")
    checksums.verify(path, good)
    assert not list(places.cache().glob("*.tmp"))


def test_a_cache_that_cannot_be_written_does_no_harm(monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(datasets.load("digits").test) == 360
    path = tmp_path / "file"
    path.write_bytes(b"one")
    checksums.verify(path, hashlib.sha256(b"one").hexdigest())


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('licence = "Apache-2.0"\n', "", "has no `licence`"),
        ("scale = 255", 'scale = "255"', "`scale` .* is str, expected int"),
        ('name = "tiny"', 'name = "other"', "names the data set 'other', its folder says 'tiny'"),
        ('origin = "made"', 'origin = "found"', "expected 'real' or 'made'"),
        ('reader = "idx"', 'reader = "pickle"', "'pickle', expected one of idx"),
        ("[layouts.files.test_labels]", "[layouts.files.labels]", "expected .*'test_labels'"),
        ('title = "Tiny"', 'title = "Tiny', "not a card in TOML"),
        ('source = "tests"', 'source = "tests"\nsauce = "none"', "unknown keys: sauce"),
    ],
)
def test_a_bad_card_is_named(tmp_path, old, new, message):
    miniature(tmp_path)
    path = tmp_path / "tiny" / "card.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        card_file.read_card(path)
    assert str(path) in str(caught.value)


def test_every_card_of_the_project_is_whole():
    known = datasets.cards()
    assert set(known) == {path.name for path in places.bundled().iterdir()}
    texts = {"hotel_reviews", "takeaway_reviews", "shopping_reviews", "news_titles"}
    assert set(known) >= {
        "digits",
        "mnist",
        "cifar10",
        "coriolanus",
        "tinyshakespeare",
        "meshes",
        "movielens_latest_small",
        *texts,
    }
    log = {"users", "items", "values", "times", "titles", "genres"}
    for card in known.values():
        assert card.origin == "real" and card.licence and card.source.startswith("http")
        shapes = ({"grids", "labels", "parts"}, {"vertices", "triangles"}, log)
        assert set(card.schema) in ({"images", "labels"}, {"text"}, {"texts", "labels"}, *shapes)
        assert card.size["train"] >= card.size["test"] > 0 or card.name == "meshes"  # views of all, no parts
        assert all(len(sha256) == 64 for sha256 in card.sha256.values())
        assert len({ord(letter) > 0x4E00 for letter in card.title_zh}) == 2


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


def test_a_text_is_always_there_and_cut_in_two():
    text = datasets.load_text("coriolanus")
    assert (len(text.train), len(text.test)) == (text.layout.train, text.layout.test)
    assert text.train.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert len(text.train) > 8 * len(text.test) and "MENENIUS" in text.test
    with pytest.raises(ValueError, match="is a text or a log"):
        datasets.load("coriolanus")
    with pytest.raises(ValueError, match="no single text"):
        datasets.load_text("digits")


def test_the_whole_text_where_it_is(monkeypatch):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    if "tinyshakespeare" not in datasets.available():
        pytest.skip("needs tinyshakespeare in SAMPAN_DATA")
    text = datasets.load_text("tinyshakespeare")
    assert text.train.startswith(datasets.load_text("coriolanus").train)
    assert len(set(text.train)) == 65


def test_a_text_of_another_length_than_its_card_says(monkeypatch, tmp_path):
    card = (places.bundled() / "coriolanus" / "card.toml").read_text().replace('"coriolanus"', '"short"')
    short = b"To be, or not to be"
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "coriolanus.txt").write_bytes(short)
    known = datasets.card("coriolanus").layouts[0].files["text"]
    card = card.replace(known.sha256, hashlib.sha256(short).hexdigest()).replace(
        str(known.bytes), str(len(short))
    )
    (tmp_path / "short" / "card.toml").write_text(card)
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="19 characters came"):
        datasets.load_text("short")
