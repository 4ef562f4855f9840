"""Fixtures of the tests of data sets."""

import pytest


@pytest.fixture
def own_folders(monkeypatch, tmp_path):
    """The user's cache and SAMPAN_DATA are the test's own folders."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
