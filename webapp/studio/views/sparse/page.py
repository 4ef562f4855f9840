"""The page "Sparse": what sparse and dense cost on a matrix (compare.py), and a network on a point cloud
(cloud.py).

`SparsePage` only combines the two. The library takes seconds to load, so it is loaded in a thread after the page is
shown.
"""

from __future__ import annotations

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from ..common import visitor
from ..common.pieces import begin_each, section
from ..common.widgets import put_up
from .cloud import CloudPart
from .compare import ComparePart


class SparsePage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang
        self.compare = ComparePart(lang)
        self.cloud = CloudPart(lang)
        self.parts: tuple[ComparePart, CloudPart] = (self.compare, self.cloud)
        style = "".join((STATIC / name).read_text("utf-8") for name in ("train.css", "sparse.css"))
        opening = widgets.HTML(f'<style>{style}</style><p class="sp-lead">{self._t("lead")}</p>')
        sections = []
        for name, root in (("matrices", self.compare.root), ("cloud", self.cloud.root)):
            sections.append(section(self._t(f"heading.{name}"), self._t(f"lead.{name}"), root))
        self.root = widgets.VBox([opening, *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and shows the first of everything, or shows the error on the page, because the
        visitor does not see the kernel's log. Runs in a thread after the page is shown."""
        begin_each(self.parts, self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"sparse.{key}", self.lang)


def visitor_page() -> SparsePage:
    """The page in the visitor's language, as created by the notebook."""
    return SparsePage(visitor.language())
