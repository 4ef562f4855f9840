"""Where the page Train keeps its finished runs: one file for each in the Studio's private folder."""

from __future__ import annotations

from pathlib import Path

from .paths import state_folder


def folder(workspace: Path) -> Path:
    return state_folder(workspace) / "train_runs"


def files(folder: Path) -> list[Path]:
    """Oldest first: their names begin with the time."""
    return sorted(folder.glob("*.npz"))


def count(workspace: Path) -> int:
    return len(files(folder(workspace)))
