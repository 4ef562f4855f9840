"""The page "Graph": a graph and the messages between its nodes (explore.py), training on a graph (train.py), meta-paths
(paths.py), and a stream of ratings (fraud.py).

`GraphPage` only combines them.
"""

from __future__ import annotations

from ..common import visitor
from ..common.parts_page import PartsPage
from .explore import ExplorePart
from .fraud import FraudPart
from .paths import PathsPart
from .train import TrainPart

STYLES = ("train.css", "sparse.css", "embeddings.css", "graph.css")


class GraphPage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        self.explore, self.train = ExplorePart(lang), TrainPart(lang)
        self.paths, self.fraud = PathsPart(lang), FraudPart(lang)
        parts = {
            "explore": self.explore,
            "train": self.train,
            "paths": self.paths,
            "fraud": self.fraud,
        }
        super().__init__(lang, "graph", parts, STYLES, contents=True)


def visitor_page() -> GraphPage:
    """The page in the visitor's language, as created by the notebook."""
    return GraphPage(visitor.language())
