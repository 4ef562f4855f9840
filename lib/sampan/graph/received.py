"""What functions of a user see of messages: features gathered for each edge, and messages to be reduced."""

from collections.abc import Iterator, Mapping

import numpy as np

from ..creation import to_tensor
from ..engine.tensor import Tensor
from ..ops import gather
from .messages import receive
from .routes import Routes
from .segments import softmax_of_received


class Gathered(Mapping[str, Tensor]):
    """Features of nodes, as [edges, ...] for one end of the edges; each is gathered when it is read."""

    def __init__(self, features: Mapping[str, Tensor], ends: np.ndarray) -> None:
        self._features, self._ends = features, ends

    def __getitem__(self, name: str) -> Tensor:
        return gather(self._features[name], to_tensor(self._ends))

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)


class Received:
    """Messages [edges, ...] by name, and their reductions to a row for each node."""

    def __init__(self, messages: Mapping[str, Tensor], routes: Routes) -> None:
        self._messages, self._routes = messages, routes

    def __getitem__(self, name: str) -> Tensor:
        return self._messages[name]

    def reduce(self, msg: Tensor, pool_type: str = "sum") -> Tensor:
        """The sum, mean, max or min of the messages to each node: [nodes, ...]."""
        return receive(msg, self._routes.arriving, pool_type)

    def reduce_sum(self, msg: Tensor) -> Tensor:
        return self.reduce(msg, "sum")

    def reduce_mean(self, msg: Tensor) -> Tensor:
        return self.reduce(msg, "mean")

    def reduce_max(self, msg: Tensor) -> Tensor:
        return self.reduce(msg, "max")

    def reduce_min(self, msg: Tensor) -> Tensor:
        return self.reduce(msg, "min")

    def reduce_softmax(self, msg: Tensor) -> Tensor:
        """The softmax over the messages to one node: [edges, ...]."""
        return softmax_of_received(msg, self._routes)

    def edge_expand(self, msg: Tensor) -> Tensor:
        """For each message the row of the node that it goes to: [nodes, ...] to [edges, ...]."""
        return gather(msg, to_tensor(self._routes.targets))
