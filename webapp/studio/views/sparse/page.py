"""The page "Sparse": what sparse and dense cost on a matrix (compare.py), and a network on a point cloud
(cloud.py).

`SparsePage` only combines the two.
"""

from __future__ import annotations

from ..common import visitor
from ..common.parts_page import PartsPage
from .cloud import CloudPart
from .compare import ComparePart


class SparsePage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        self.compare, self.cloud = ComparePart(lang), CloudPart(lang)
        parts = {"matrices": self.compare, "cloud": self.cloud}
        super().__init__(lang, "sparse", parts, ("train.css", "sparse.css"))


def visitor_page() -> SparsePage:
    """The page in the visitor's language, as created by the notebook."""
    return SparsePage(visitor.language())
