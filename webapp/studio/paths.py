"""Where the Studio's own files lie, and where the learner's work goes."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
STATIC = PACKAGE / "static"
LOCALE = PACKAGE / "locale"


def _beside_or_inside(name: str) -> Path:
    """`webapp/<name>` in a clone; `studio/<name>` in an installed wheel, which holds the same folder."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


TEMPLATES = _beside_or_inside("templates")
PAGES = _beside_or_inside("pages")
JUPYTER_SHARE = TEMPLATES / "jupyter"
NOTEBOOKS = PACKAGE.parent.parent / "notebooks"


def workspace() -> Path:
    """The learner's folder: `SAMPAN_HOME`, or `~/sampan`. Never inside the repository.

    Raises ValueError when `SAMPAN_HOME` is relative or names something that is not a folder.
    """
    text = os.environ.get("SAMPAN_HOME", "")
    folder = Path(text).expanduser() if text else Path.home() / "sampan"
    if not folder.is_absolute():
        raise ValueError(f"SAMPAN_HOME must be an absolute path, got {text!r}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"the workspace must be a folder, but {folder} is a file (SAMPAN_HOME={text!r})")
    return folder


def state_folder(home: Path) -> Path:
    """The Studio's private folder inside the workspace `home`: settings, runtime files, logs."""
    return home / ".studio"
