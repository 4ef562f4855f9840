"""A store of uploaded data sets that the library finds too."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.uploads.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("SAMPAN_UPLOADS", str(tmp_path / "datasets"))
    return Store(tmp_path / "datasets", most=10_000_000)
