"""Paths of the Studio's own files and of the learner's workspace."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
STATIC = PACKAGE / "static"
LOCALE = PACKAGE / "locale"
# The parts of the stylesheet in static/, in the order in which a page links them: a later one overrides earlier ones.
STYLES = (
    "studio.css",
    *(
        "styles/ground.css",
        "styles/frame.css",
        "styles/pieces.css",
        "styles/verdicts.css",
        "styles/grading.css",
        "styles/competitions.css",
    ),
    *(
        "styles/sessions.css",
        "styles/places.css",
        "styles/home.css",
        "styles/windows.css",
        "styles/widgets.css",
    ),
)


# The workspace's name in the home folder. It was "sampan" in earlier versions, which is also what a clone is called.
DEFAULT, FORMER = "sampan-work", "sampan"


def _inside_or_in_the_clone(name: str, clone: Path) -> Path:
    """`studio/<name>` in an installed wheel; in a clone, the corresponding folder."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else clone / name


TEMPLATES = _inside_or_in_the_clone("templates", PACKAGE.parent)
PAGES = _inside_or_in_the_clone("pages", PACKAGE.parent)
JUPYTER_SHARE = TEMPLATES / "jupyter"
NOTEBOOKS = _inside_or_in_the_clone("notebooks", PACKAGE.parent.parent)


def documentation() -> Path:
    """Where `make docs` writes the API reference: build/docs in a clone, or the folder that SAMPAN_DOCS names."""
    return Path(os.environ.get("SAMPAN_DOCS") or PACKAGE.parent.parent / "build" / "docs")


class WorkspaceError(ValueError):
    """The learner's folder cannot be used; the message says why."""


def workspace() -> Path:
    """The learner's folder: `SAMPAN_HOME`, else `~/sampan-work`, else `~/sampan` if an earlier version created it.

    Raises WorkspaceError when it is relative, is not a folder, or is inside a checkout of Sampan, where the course
    would open the instructor's notebooks with their solutions.
    """
    text = os.environ.get("SAMPAN_HOME", "")
    folder = Path(text).expanduser() if text else _default()
    if not folder.is_absolute():
        raise WorkspaceError(f"SAMPAN_HOME must be an absolute path, got {text!r}")
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"the workspace must be a folder, but {folder} is a file (SAMPAN_HOME={text!r})")
    for place in (folder, folder / "notebooks"):
        found = checkout(place)
        if found is not None:
            raise WorkspaceError(
                f"the workspace must be outside of every checkout of Sampan, but {place} is in {found}: "
                "the course would open the instructor's notebooks with their solutions. "
                "Set SAMPAN_HOME to another folder"
            )
    return folder


def _default() -> Path:
    folder, former = Path.home() / DEFAULT, Path.home() / FORMER
    used = state_folder(former).is_dir() and checkout(former) is None
    return former if used and not folder.exists() else folder


def checkout(folder: Path) -> Path | None:
    """The checkout of Sampan that contains `folder`, after following links; None if there is none."""
    place = folder.resolve()
    parts = ("lib/sampan", "webapp/studio", "notebooks/checks")
    return next((p for p in (place, *place.parents) if all((p / part).is_dir() for part in parts)), None)


def state_folder(home: Path) -> Path:
    """The Studio's private folder inside the workspace `home`: settings, runtime files, logs."""
    return home / ".studio"


def stylesheet() -> str:
    """All styles as one text, for a self-contained page."""
    return "\n".join((STATIC / name).read_text("utf-8") for name in STYLES)
