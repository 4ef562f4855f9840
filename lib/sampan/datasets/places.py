"""Where data sets are looked for, in order: the project, SAMPAN_DATA, the user's cache."""

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def bundled() -> Path:
    """The project's `datasets/`: inside the installed package, or at the root of a checkout."""
    packaged = _HERE / "bundled"
    return packaged if packaged.is_dir() else _HERE.parents[2] / "datasets"


def cache() -> Path:
    """The user's cache, by the XDG rule: $XDG_CACHE_HOME/sampan/datasets, else ~/.cache/sampan/datasets."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "sampan" / "datasets"


def folders() -> list[Path]:
    """Every folder that is searched, first match wins. SAMPAN_DATA holds one or more, like PATH does."""
    given = [Path(part).expanduser() for part in os.environ.get("SAMPAN_DATA", "").split(os.pathsep) if part]
    return [bundled(), *given, cache()]
