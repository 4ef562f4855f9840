"""Paddle's module `fleet.meta_optimizers`: optimizers and scalers of several processes."""

import sys

from . import hybrid_optimizer
from .hybrid_optimizer import DygraphShardingOptimizer as DygraphShardingOptimizer
from .hybrid_optimizer import DygraphShardingOptimizerV2 as DygraphShardingOptimizerV2
from .hybrid_optimizer import HybridParallelGradScaler as HybridParallelGradScaler
from .hybrid_optimizer import HybridParallelOptimizer as HybridParallelOptimizer

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are names of this one
dygraph_optimizer = sys.modules[f"{__name__}.dygraph_optimizer"] = sys.modules[__name__]
for _name in ("dygraph_sharding_optimizer", "hybrid_parallel_gradscaler", "hybrid_parallel_optimizer"):
    sys.modules[f"{__name__}.dygraph_optimizer.{_name}"] = hybrid_optimizer
