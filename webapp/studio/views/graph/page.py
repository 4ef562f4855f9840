"""The page "Graph": a graph and the messages between its nodes (explore.py), training on a graph (train.py), meta-paths
(paths.py), and a stream of ratings (fraud.py).

`GraphPage` only combines them. The library takes seconds to load, so it is loaded in a thread after the page is shown.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from ..common import visitor
from ..common.pieces import begin_each, section
from ..common.widgets import put_up
from .explore import ExplorePart
from .fraud import FraudPart
from .paths import PathsPart
from .train import TrainPart

STYLES = ("train.css", "sparse.css", "embeddings.css", "graph.css")


class GraphPage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang
        self.explore, self.train = ExplorePart(lang), TrainPart(lang)
        self.paths, self.fraud = PathsPart(lang), FraudPart(lang)
        named: dict[str, Any] = {
            "explore": self.explore,
            "train": self.train,
            "paths": self.paths,
            "fraud": self.fraud,
        }
        self.parts = list(named.values())
        style = "".join((STATIC / name).read_text("utf-8") for name in STYLES)
        links = "".join(
            f'<li><a href="#graph-{name}">{self._t(f"heading.{name}")}</a></li>' for name in named
        )
        contents = f'<nav aria-label="{self._t("contents")}"><ul class="gr-contents">{links}</ul></nav>'
        opening = widgets.HTML(f'<style>{style}</style><p class="sp-lead">{self._t("lead")}</p>{contents}')
        sections = [
            section(
                f'<span id="graph-{name}">{self._t(f"heading.{name}")}</span>',
                self._t(f"lead.{name}"),
                part.root,
            )
            for name, part in named.items()
        ]
        self.root = widgets.VBox([opening, *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and starts each part, or shows the error in it, because the visitor does not see the
        kernel's log. Runs in a thread after the page is shown."""
        begin_each(self.parts, self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"graph.{key}", self.lang)


def visitor_page() -> GraphPage:
    """The page in the visitor's language, as created by the notebook."""
    return GraphPage(visitor.language())
