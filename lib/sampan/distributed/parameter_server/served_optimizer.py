"""An optimizer whose tables are stepped on shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine.tensor import InvalidArgument
from .client import Client
from .layer import GeoEmbedding, RemoteEmbedding


def rule_of(optimizer: Any) -> tuple[str, dict[str, Any]]:
    """(name, settings) of the rule with which shards step tables as this optimizer would."""
    decay, settings = optimizer._later
    decay = decay if optimizer.decoupled else None
    if optimizer._grad_clip is not None or (optimizer._later[0] is not None and decay is None):
        raise InvalidArgument(
            "distributed_optimizer: tables on shards take no grad_clip and no weight_decay in the gradient"
        )
    given = {key: value for key, value in settings.items() if isinstance(value, bool | int | float | str)}
    return type(optimizer).__name__, given | ({} if decay is None else {"weight_decay": float(decay)})


class ServedOptimizer:
    """Steps the parameters of this process with `optimizer`, and pushes the gradients of tables to their
    shards, which step them by the same rule and at the same rate.

    layers: those whose rows lie on shards. Everything else is the optimizer's.
    """

    def __init__(
        self, optimizer: Any, connect: Callable[[], Client], layers: Sequence[RemoteEmbedding | GeoEmbedding]
    ) -> None:
        self.inner_opt, self._connect, self._layers = optimizer, connect, layers

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner_opt, name)

    def step(self) -> None:
        """One step of all parameters and tables. Returns when the push before this one was answered."""
        rate = self.inner_opt.get_lr()
        gradients: dict[str, tuple[np.ndarray, np.ndarray, float]] = {}
        for layer in self._layers:
            if isinstance(layer, RemoteEmbedding) and layer.is_made:
                gradients[layer.table_name] = (*layer.gradients(), rate)
        self.inner_opt.step()
        changed = []
        for layer in self._layers:
            if isinstance(layer, GeoEmbedding) and (delta := layer.stepped()) is not None:
                gradients[layer.table_name] = (*delta, 1.0)
                changed.append((layer, delta[0]))
        if gradients:
            self._connect().push(gradients)
        for layer, ids in changed:
            layer.refresh(ids)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget all gradients, those of tables too."""
        for layer in self._layers:
            if isinstance(layer, RemoteEmbedding):
                layer.clear_gradients()
        self.inner_opt.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """`backward`, unless it was called, and a step; ([], pairs of parameter and gradient)."""
        if self.inner_opt.static:
            return type(self.inner_opt).static(self, loss, parameters)
        pairs = self.inner_opt.backward(loss, startup_program, parameters, no_grad_set)
        self.step()
        return [], pairs
