"""Files are hashed once for each state, and a changed one is refused."""

import hashlib
import os

import pytest

from sampan import datasets
from sampan.datasets import checksums, places
from tests.datasets.miniature import miniature

pytestmark = pytest.mark.usefixtures("own_folders")


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
