"""Optimizers and scalers of networks that several processes train together (Paddle's module
`fleet.meta_optimizers`)."""

from __future__ import annotations

from typing import Any

from ...optimizer.optimizer import Optimizer
from ..sharding.agreement import agreeing
from ..sharding.norms import Clipping
from ..sharding.parts import ShardedOptimizer
from .topology import HybridCommunicateGroup

__all__ = [
    "DygraphShardingOptimizer",
    "DygraphShardingOptimizerV2",
    "HybridParallelGradScaler",
    "HybridParallelOptimizer",
]


class HybridParallelOptimizer(ShardedOptimizer):
    """An optimizer whose clipping counts each element of the whole network once, and whose state is cut over
    the group of sharding.

    hcg: the groups. strategy: is not used. Of parameters that tensor parallelism cuts, `state_dict` has this
    process's parts.
    """

    def __init__(self, optimizer: Optimizer, hcg: HybridCommunicateGroup, strategy: Any = None) -> None:
        self._hcg, self._strategy = hcg, strategy
        sharding = hcg.get_sharding_parallel_group()
        clipping = Clipping(hcg.get_model_parallel_group(), sharding, hcg.get_pipe_parallel_group())
        super().__init__(optimizer, sharding, clipping)


class DygraphShardingOptimizer(HybridParallelOptimizer):
    """The name of Paddle's optimizer of `sharding_degree` alone: (optimizer, hcg)."""


class DygraphShardingOptimizerV2(HybridParallelOptimizer):
    """The name of Paddle's second optimizer of `sharding_degree` alone: (optimizer, hcg)."""


class HybridParallelGradScaler:
    """A GradScaler that leaves a step out in all processes where one has a gradient that is not finite.
    Everything else is the scaler's own, `_scaler`."""

    def __init__(self, scaler: Any, hcg: HybridCommunicateGroup | None = None) -> None:
        self._scaler, self._hcg = agreeing(scaler, None), hcg

    def __getattr__(self, name: str) -> Any:
        """The scaler's own attributes and methods."""
        if name.startswith("__") or name == "_scaler":
            raise AttributeError(name)
        return getattr(self._scaler, name)
