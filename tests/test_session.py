"""A program asks about the session it runs in; outside one it gets a clear answer."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sampan

MEMORY = 64 << 40  # this process may hold arenas of tests that ran before in it


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the Studio writes beside a session."""
    file = tmp_path / "a1.json"
    about = {"id": "a1", "device": "sim:0", "memory": MEMORY, "ends": time.time() + 100, "culled_at": 0.0}
    file.write_text(json.dumps(about))
    monkeypatch.setenv("SAMPAN_SESSION", str(file))
    return file


def test_inside_a_session(session: Path) -> None:
    assert sampan.session.device() == "sim:0"
    assert 90 < sampan.session.time_left() <= 100
    before = sampan.session.memory_left()
    assert 0 < before < MEMORY
    held = bytearray(256 << 20)
    assert before - sampan.session.memory_left() >= len(held)
    assert not session.with_suffix(".keep").exists()
    sampan.session.keep()
    assert session.with_suffix(".keep").exists()
    session.write_text(json.dumps({**json.loads(session.read_text()), "ends": 0, "memory": 1}))
    assert sampan.session.time_left() == 0 and sampan.session.memory_left() == 0


def test_outside_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_SESSION", raising=False)
    monkeypatch.delenv("SAMPAN_JOB", raising=False)
    monkeypatch.chdir(tmp_path)
    for ask in (
        sampan.session.device,
        sampan.session.time_left,
        sampan.session.memory_left,
        sampan.session.about,
    ):
        with pytest.raises(sampan.session.NoSession, match="open it in the Studio"):
            ask()
    sampan.session.keep()
    sampan.session.progress(1, 2, loss=0.1)
    assert sampan.session.artefacts() == Path("artefacts") and (tmp_path / "artefacts").is_dir()
    monkeypatch.setenv("SAMPAN_SESSION", str(tmp_path / "over.json"))
    with pytest.raises(sampan.session.NoSession, match="is over"):
        sampan.session.device()
    sampan.session.keep()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["artefacts"]


def test_progress_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "artefacts").mkdir()
    monkeypatch.setenv("SAMPAN_JOB", str(tmp_path))
    sampan.session.progress(1, 4, loss=sampan.to_tensor(0.5))
    sampan.session.progress(2)
    lines = [json.loads(line) for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert lines == [
        {"done": 1.0, "total": 4.0, "values": {"loss": 0.5}},
        {"done": 2.0, "total": 0.0, "values": {}},
    ]
    assert sampan.session.artefacts() == tmp_path / "artefacts"
    with pytest.raises(ValueError, match="finite"):
        sampan.session.progress(float("nan"))


def test_it_costs_nothing_until_it_is_named() -> None:
    code = "import sys, sampan; assert 'sampan.session' not in sys.modules; sampan.session.keep()"
    subprocess.run([sys.executable, "-c", code], check=True)
