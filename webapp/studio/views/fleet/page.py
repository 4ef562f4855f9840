"""The page "Fleet": the workers of the visitor's job, which the server shows, and the planner, which computes here."""

from __future__ import annotations

import ipywidgets as widgets

from studio.i18n import t

from ..common import visitor
from ..common.parts_page import PartsPage
from ..common.widgets import LivePart
from .planner import PlannerPart

STYLES = ("train.css", "sparse.css", "fleet.css")


class WorkersPart:
    """The workers. The job outlives this page, and the server shows it (`server/fleet.py`)."""

    def __init__(self, lang: str) -> None:
        self.status = widgets.HTML()
        self.live = LivePart(path="fleet/live", loading=t("fleet.loading", lang))
        self.root = widgets.VBox([self.live, self.status])

    def begin(self) -> None:
        """Nothing is computed here."""


class FleetPage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        self.workers, self.planner = WorkersPart(lang), PlannerPart(lang)
        super().__init__(lang, "fleet", {"workers": self.workers, "planner": self.planner}, STYLES, tabs=True)


def visitor_page() -> FleetPage:
    """The page in the visitor's language, as created by the notebook."""
    return FleetPage(visitor.language())
