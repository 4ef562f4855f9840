"""Paddle's module `fleet.layers.mpu`: layers, operators and random states of tensor parallelism."""

import sys

from . import mp_layers as mp_layers
from . import mp_ops as mp_ops
from . import parallel_random as random
from .mp_layers import ColumnParallelLinear as ColumnParallelLinear
from .mp_layers import ParallelCrossEntropy as ParallelCrossEntropy
from .mp_layers import ParallelMultiLabelCrossEntropy as ParallelMultiLabelCrossEntropy
from .mp_layers import RowParallelLinear as RowParallelLinear
from .mp_layers import VocabParallelEmbedding as VocabParallelEmbedding
from .parallel_random import RNGStatesTracker as RNGStatesTracker
from .parallel_random import dropout as dropout
from .parallel_random import get_rng_state_tracker as get_rng_state_tracker
from .parallel_random import model_parallel_random_seed as model_parallel_random_seed

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are names of this one
mpu = sys.modules[f"{__name__}.mpu"] = sys.modules[__name__]
for _name, _module in (("mp_layers", mp_layers), ("mp_ops", mp_ops), ("random", random)):
    sys.modules[f"{__name__}.mpu.{_name}"] = _module
