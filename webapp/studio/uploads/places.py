"""Where uploaded data sets are: the workspace's own, and those that are shared with the class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from studio.grading.bubble import data_folders

from .store import Store

FOLDER = "datasets"  # in the workspace
SHARED = "shared"  # in the folder of a class; everyone may read it


class Uploads:
    """The own sets of a workspace, which can be changed, and those of the class, which are only read."""

    def __init__(self, home: Path) -> None:
        self.own = Store(home / FOLDER)
        released = os.environ.get("SAMPAN_CLASS_RELEASED", "")
        self.shared = Store(Path(released).parent / SHARED, most=0) if released else None

    def announce(self) -> None:
        """Tells kernels, jobs and the library where to look."""
        os.environ["SAMPAN_UPLOADS"] = os.pathsep.join(str(store.folder) for store in self.stores)

    @property
    def stores(self) -> list[Store]:
        return [self.own] if self.shared is None else [self.own, self.shared]

    def find(self, name: str, version: str | None = None) -> tuple[Store, dict[str, Any]] | None:
        """A set and where it is: the first store that has the name. None if none has; LookupError for a version that is
        not there."""
        for store in self.stores:
            if store.card(name) is not None:
                card = store.card(name, version)
                if card is None:
                    raise LookupError(f"no uploaded data set {name} of version {version}")
                return store, card
        return None


def taken() -> set[str]:
    """Names that the project's own sets and those of SAMPAN_DATA have."""
    return {path.parent.name for folder in data_folders() for path in folder.glob("*/card.toml")}
