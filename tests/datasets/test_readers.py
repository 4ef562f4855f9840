"""The readers against bytes that this file writes itself, whole, damaged and foreign."""

import gzip
import struct

import numpy as np
import pytest

from sampan.datasets import readers
from tests.datasets.idx import CODES, idx_bytes


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("dtype", list(CODES))
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 5), (0, 28, 28)])
def test_idx_gives_back_what_was_written(tmp_path, dtype, shape, packed):
    array = (np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(idx_bytes(array)) if packed else idx_bytes(array))
    found = readers.read_idx(path)
    assert found.dtype == array.dtype and found.dtype.isnative
    np.testing.assert_array_equal(found, array)


IMAGES = idx_bytes(np.arange(2 * 4 * 4, dtype=np.uint8).reshape(2, 4, 4))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut short: 4 of 4"),
        (IMAGES[:10], "cut short: 6 of 12"),
        (IMAGES[:-5], "cut short: 5 of 32"),
        (IMAGES + b"\0", "goes on after the 32 bytes"),
        (b"\x89PNG" + IMAGES, "not an IDX file: it begins with 8950 4e 47"),
        (b"\0\0\x07\x01" + IMAGES[4:], "not an IDX file"),  # no such type
        (b"\0\0\x08\x00", "not an IDX file"),  # no axes
        (
            struct.pack(">BBBB3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1),
            "cut short",
        ),  # announces 2^96 bytes
        (gzip.compress(IMAGES, mtime=0)[:-9], "damaged gzip"),
        (gzip.compress(IMAGES, mtime=0)[:-6] + b"\0\0\0\0\0\0", "damaged gzip"),  # checksum of the stream
        (b"\x1f\x8b" + b"\x07" * 40, "damaged gzip"),
    ],
)
def test_idx_refuses_what_is_damaged_or_foreign(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        readers.read_idx(path)


def arrays():
    generator = np.random.default_rng(0)
    return {
        "train_images": generator.integers(0, 256, (6, 4, 4), dtype=np.uint8),
        "train_labels": np.arange(6, dtype=np.uint8),
        "test_images": generator.integers(0, 256, (3, 4, 4), dtype=np.uint8),
        "test_labels": np.arange(3, dtype=np.uint8),
    }


def test_npz_gives_back_what_was_written(tmp_path):
    path = tmp_path / "copy.npz"
    np.savez_compressed(path, **arrays())
    for name, array in readers.npz({"arrays": path}).items():
        np.testing.assert_array_equal(array, arrays()[name])


def test_npz_refuses_what_is_damaged_or_foreign(tmp_path):
    path = tmp_path / "copy.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    for data in (whole[:-100], b"PK", b"", b"<html>not found</html>"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"copy\.npz: expected a whole \.npz file"):
            readers.npz({"arrays": path})
    damaged = bytearray(whole)
    damaged[200] ^= 255  # inside the first array: the archive's own checksum finds it
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"copy\.npz is damaged"):
        readers.npz({"arrays": path})
    np.savez(path, train_images=np.zeros(3))
    with pytest.raises(
        ValueError, match="expected train_labels, test_images, test_labels; it holds train_images"
    ):
        readers.npz({"arrays": path})


class Trap:
    def __reduce__(self):
        return (open, ("trap-was-sprung", "w"))


def test_npz_never_unpickles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "copy.npz"
    np.savez(path, **(arrays() | {"train_images": np.array([Trap()], dtype=object)}))
    (tmp_path / "trap-was-sprung").unlink(missing_ok=True)
    with pytest.raises(ValueError, match="pickle"):
        readers.npz({"arrays": path})
    assert not (tmp_path / "trap-was-sprung").exists()


def test_the_digits_are_scikit_learns_all_of_them_once():
    from sklearn.datasets import load_digits

    found = readers.scikit_learn({})
    ours = np.concatenate([found["train_images"], found["test_images"]]).reshape(-1, 64)
    labels = np.concatenate([found["train_labels"], found["test_labels"]])
    theirs = load_digits()
    rows = sorted(map(bytes, np.column_stack([ours, labels])))
    assert rows == sorted(map(bytes, np.column_stack([theirs.data, theirs.target]).astype(np.uint8)))
