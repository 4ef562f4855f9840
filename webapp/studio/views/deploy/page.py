"""The page "Deploy": a network is chosen at the top, and each tab shows one step of its way out of the notebook."""

from __future__ import annotations

from pathlib import Path

from ..common import visitor
from ..common.parts_page import PartsPage
from ..common.pieces import begin_each
from .bench import Bench
from .bits import BitsPart
from .chooser import Chooser
from .compare import ComparePart
from .filters import FiltersPart
from .memory import MemoryPart
from .passes import PassesPart
from .speed import SpeedPart
from .take import TakePart

STYLES = ("train.css", "sparse.css", "graph.css", "deploy.css")


class DeployPage(PartsPage):
    """workspace: the folder with the visitor's files, where models are saved and kept runs are found."""

    def __init__(self, lang: str = "en", workspace: Path = Path()) -> None:
        self.bench = Bench()
        self.passes, self.memory = PassesPart(lang, self.bench), MemoryPart(lang, self.bench)
        self.speed, self.filters = SpeedPart(lang, self.bench), FiltersPart(lang, self.bench)
        self.bits, self.compare = BitsPart(lang, self.bench), ComparePart(lang, self.bench)
        self.take = TakePart(lang, self.bench, workspace)
        self.chooser = Chooser(
            lang, self.bench, workspace
        )  # the last that learns of a network: its bar goes on until then
        parts = {
            "passes": self.passes,
            "memory": self.memory,
            "speed": self.speed,
            "filters": self.filters,
            "bits": self.bits,
            "try": self.compare,
            "take": self.take,
        }
        super().__init__(lang, "deploy", parts, STYLES, tabs=True)
        opening, *rest = self.root.children
        self.root.children = (opening, self.chooser.root, *rest)

    def open(self) -> None:
        """Imports the library, starts the part that is shown, and makes the first network."""
        super().open()
        begin_each([self.chooser], self._t("error.library"), self.lang)


def visitor_page() -> DeployPage:
    """The page in the visitor's language, as created by the notebook, whose working directory is the workspace."""
    return DeployPage(visitor.language(), Path.cwd())
