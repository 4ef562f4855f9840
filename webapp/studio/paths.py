"""Where the Studio's own files lie, and where the learner's work goes."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
STATIC = PACKAGE / "static"
LOCALE = PACKAGE / "locale"
# The parts of the stylesheet in static/, in the order in which a page links them: a later one may change what an earlier
# one says.
STYLES = (
    "studio.css",
    *(
        "styles/ground.css",
        "styles/frame.css",
        "styles/pieces.css",
        "styles/verdicts.css",
        "styles/grading.css",
    ),
    *("styles/sessions.css", "styles/places.css", "styles/windows.css", "styles/widgets.css"),
)


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


def stylesheet() -> str:
    """All styles as one text, for a page that is a file of its own."""
    return "\n".join((STATIC / name).read_text("utf-8") for name in STYLES)
