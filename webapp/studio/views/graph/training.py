"""A graph convolutional network that learns the groups of nodes. Independent of widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.curves import Curve
from ..common.work import Work, one_core_less
from ..embeddings.vector_map import aligned
from .data import Shown

RATE, DECAY, DROPPED = 0.01, 5e-4, 0.5  # as in Kipf and Welling (2017)
SPARSE = 0.02  # features of which fewer are not 0 are a sparse tensor
LOOK_S = 0.25  # seconds between two pictures
ASKED = 100  # how often in a run the other nodes are asked for


@dataclass(frozen=True, eq=False)
class Look:
    """A picture of the network: places float32 [nodes, 2] of the hidden layer, and the group that it gives each node."""

    points: NDArray[np.float32]
    predicted: NDArray[np.int64]


class GcnRun(Work):
    """Trains two GCN layers on the known nodes of a graph. `on_change` is called a few times a second, `on_look` when
    `look` is new. Up to `ASKED` times the other nodes are asked for: `right` is the share that is right."""

    def __init__(
        self,
        shown: Shown,
        width: int,
        epochs: int,
        on_change: Callable[[Any], None] = lambda _: None,
        on_look: Callable[[Any], None] = lambda _: None,
    ) -> None:
        if not shown.learnable:
            raise ValueError(f"shown: expected a graph with groups to learn, got {shown.name}")
        if width < 2 or epochs < 1:
            raise ValueError(f"width, epochs: expected 2 and 1 or more, got {width} and {epochs}")
        super().__init__("gcn", on_change)
        self.shown, self.width, self.epochs = shown, width, epochs
        self.curves = {name: Curve() for name in ("loss", "train", "test")}
        self.epoch = 0
        self.loss: float | None = None
        self.right: float | None = None
        self.look: Look | None = None
        self._on_look = on_look

    @property
    def progress(self) -> float:
        return self.epoch / self.epochs

    @property
    def largest(self) -> float:
        """The share of the asked nodes that are in the largest group: what guessing it reaches."""
        asked = self.shown.groups[self.shown.test]
        return float(np.bincount(asked).max() / len(asked))

    def _work(self) -> None:
        import sampan
        from sampan import optimizer
        from sampan.nn import functional as F

        one_core_less()
        sampan.seed(0)
        shown = self.shown
        graph = shown.graph.add_self_loops()
        x, y = _given(shown.features), sampan.to_tensor(shown.groups[shown.train])
        network = _network(x, self.width, int(shown.groups.max()) + 1)
        adam = optimizer.Adam(RATE, parameters=_decayed(network))
        known, looked = sampan.to_tensor(shown.train), 0.0
        every = max(1, self.epochs // ASKED)
        for epoch in range(1, self.epochs + 1):
            network.train()
            loss = F.cross_entropy(network(graph, x)[0][known], y)
            loss.backward()
            adam.step()
            adam.clear_grad()
            if not self._began:  # the first step compiles
                self._running()
            self.epoch, self.loss = epoch, float(loss)
            if not np.isfinite(self.loss):
                raise FloatingPointError(f"loss: expected a number, got {self.loss} in epoch {epoch}")
            if self._cancel.is_set():
                break
            if epoch % every and epoch != self.epochs:
                self._tell(every=0.2)
                continue
            hidden, predicted = self._asked(network, graph, x)
            if self.seconds - looked >= LOOK_S or self.look is None:
                self._picture(hidden, predicted)
                looked = self.seconds
            self._tell(every=0.2)
        self._picture(*self._asked(network, graph, x))

    def _asked(self, network: Any, graph: Any, x: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Hidden layer and answers for all nodes; notes the figures of the epoch."""
        import sampan

        network.eval()
        with sampan.no_grad():
            logits, hidden = network(graph, x)
        predicted = logits.numpy().argmax(1)
        hits = predicted == self.shown.groups
        self.right = float(hits[self.shown.test].mean())
        self.curves["loss"].add(self.epoch, self.loss or 0.0)
        self.curves["train"].add(self.epoch, float(hits[self.shown.train].mean()))
        self.curves["test"].add(self.epoch, self.right)
        return hidden.numpy(), predicted

    def _picture(self, hidden: NDArray[np.float32], predicted: NDArray[np.int64]) -> None:
        points = plane(hidden)
        if self.look is not None:
            numbers = np.arange(len(points))
            points = aligned(points, self.look.points, numbers, numbers)
        self.look = Look(points, predicted)
        self._on_look(self)


def _given(features: Any) -> Any:
    """The features as a tensor: a sparse one where nearly all are 0, as the words of papers are."""
    import sampan
    from sampan.models.citations import sparse_features

    sparse = np.count_nonzero(features) < SPARSE * features.size
    return sparse_features(features) if sparse else sampan.to_tensor(features)


def _network(x: Any, width: int, groups: int) -> Any:
    from sampan import nn
    from sampan.graph.nn import GCNConv
    from sampan.models.citations import SparseLinear
    from sampan.sparse import SparseTensor

    features, sparse = int(x.shape[1]), isinstance(x, SparseTensor)

    class Network(nn.Layer):
        """Logits [nodes, groups] and the hidden layer [nodes, width]."""

        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(features, width, "relu")
            if sparse:
                self.first.linear = SparseLinear(features, width, DROPPED)
            self.second = GCNConv(width, groups)
            self.dropout = nn.Dropout(DROPPED)

        def forward(self, graph: Any, x: Any) -> tuple[Any, Any]:
            hidden = self.first(graph, x if sparse else self.dropout(x))
            return self.second(graph, self.dropout(hidden)), hidden

    return Network()


def _decayed(network: Any) -> list[dict[str, Any]]:
    """The parameters for the optimizer: those of the first layer decay."""
    layers = (network.first, DECAY), (network.second, 0.0)
    return [{"params": layer.parameters(), "weight_decay": decay} for layer, decay in layers]


def plane(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows [n, d] on their two directions of largest variance, float32 [n, 2]."""
    centred = rows - rows.mean(0)
    _, vectors = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    return (centred @ vectors[:, -1:-3:-1]).astype(np.float32)
