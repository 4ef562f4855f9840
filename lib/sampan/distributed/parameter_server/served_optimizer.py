"""An optimizer whose tables are stepped on shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...embedding.growing import GrowingParameter
from ...engine.tensor import InvalidArgument
from .client import Client
from .dense import NAME, DenseParameters
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


def _not_recorded(optimizer: Any) -> AbstractContextManager[None]:
    """Within it, calls are not added to the Program that is built in static mode."""
    if not optimizer.static:
        return nullcontext()
    from ...names.static_graph.building import paused  # which dynamic programs need not load

    return paused()


class ServedOptimizer:
    """Steps the parameters of this process with `optimizer`, and pushes the gradients of tables to their
    shards, which step them by the same rule and at the same rate.

    layers: those whose rows lie on shards. dense: all other float32 parameters, where several workers train
    them; everything else is the optimizer's.
    """

    def __init__(
        self,
        optimizer: Any,
        connect: Callable[[], Client],
        layers: Sequence[RemoteEmbedding | GeoEmbedding],
        dense: DenseParameters | None = None,
    ) -> None:
        self.inner_opt, self._connect, self._layers, self._dense = optimizer, connect, layers, dense
        self._parameters: list[Any] = []  # of a Program, which the optimizer gets when it runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner_opt, name)

    def begin(self) -> None:
        """Take the parameters of the shards, where several workers train them."""
        if self._dense is not None and not self._dense.is_made:
            found = self._parameters or self.inner_opt._parameter_list
            own = [p for p in found if not p.stop_gradient and not isinstance(p, GrowingParameter)]
            with _not_recorded(self.inner_opt):
                if own:
                    self._dense.make(own)

    def step(self) -> None:
        """One step of all parameters and tables. Returns when the push before this one was answered."""
        self.begin()
        dense = self._dense if self._dense is not None and self._dense.is_made else None
        rate = self.inner_opt.get_lr()
        gradients: dict[str, tuple[np.ndarray, np.ndarray, float]] = {}
        for layer in self._layers:
            if isinstance(layer, RemoteEmbedding) and layer.is_made:
                gradients[layer.table_name] = (*layer.gradients(), rate)
        if dense is not None and (given := dense.to_push(rate)) is not None:
            gradients[NAME] = given
        self.inner_opt.step()
        changed = []
        for layer in self._layers:
            if isinstance(layer, GeoEmbedding) and (delta := layer.stepped()) is not None:
                gradients[layer.table_name] = (*delta, 1.0)
                changed.append((layer, delta[0]))
        if dense is not None and (moved := dense.changes()) is not None:
            gradients[NAME] = moved
        if gradients:
            self._connect().push(gradients)
        for layer in self._layers:
            if isinstance(layer, RemoteEmbedding):
                layer.pushed()
        for layer, ids in changed:
            layer.refresh(ids)
        if dense is not None and NAME in gradients:
            dense.pull()

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
            done = type(self.inner_opt).static(self, loss, parameters)
            self._parameters = [parameter for parameter, _ in done[1]]
            return done
        pairs = self.inner_opt.backward(loss, startup_program, parameters, no_grad_set)
        self.step()
        return [], pairs
