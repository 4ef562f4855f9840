"""Paddle's module `fleet.meta_parallel`: networks that are cut over processes."""

import sys

from .. import pipeline
from ..pipeline import LayerDesc as LayerDesc
from ..pipeline import NoPipelineParallel as NoPipelineParallel
from ..pipeline import PipelineDatasetPreprocessor as PipelineDatasetPreprocessor
from ..pipeline import PipelineLayer as PipelineLayer
from ..pipeline import PipelineParallel as PipelineParallel
from ..pipeline import PipelineParallelMicroStepLocations as PipelineParallelMicroStepLocations
from ..pipeline import PipelineParallelWithInterleave as PipelineParallelWithInterleave
from ..pipeline import PipelineParallelWithInterleaveFthenB as PipelineParallelWithInterleaveFthenB
from ..pipeline import SharedLayerDesc as SharedLayerDesc
from ..pipeline import register_global_pipeline_parallel_hook as register_global_pipeline_parallel_hook
from . import group_sharded, layers
from .mp_layers import ColumnParallelLinear as ColumnParallelLinear
from .mp_layers import ParallelCrossEntropy as ParallelCrossEntropy
from .mp_layers import ParallelMultiLabelCrossEntropy as ParallelMultiLabelCrossEntropy
from .mp_layers import RowParallelLinear as RowParallelLinear
from .mp_layers import VocabParallelEmbedding as VocabParallelEmbedding
from .parallel_model import ShardingParallel as ShardingParallel
from .parallel_model import TensorParallel as TensorParallel
from .parallel_random import RNGStatesTracker as RNGStatesTracker
from .parallel_random import get_rng_state_tracker as get_rng_state_tracker
from .parallel_random import model_parallel_random_seed as model_parallel_random_seed

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are names of this one
parallel_layers = sys.modules[f"{__name__}.parallel_layers"] = sys.modules[__name__]
for _name, _module in (("mp_layers", layers.mp_layers), ("random", layers.random)):
    sys.modules[f"{__name__}.parallel_layers.{_name}"] = _module
sys.modules[f"{__name__}.parallel_layers.pp_layers"] = pipeline.layers
pipeline_parallel = sys.modules[f"{__name__}.pipeline_parallel"] = pipeline.parallel
sharding = sys.modules[f"{__name__}.sharding"] = group_sharded
for _name in ("optimizer_stage2", "stage2", "stage3", "utils"):
    sys.modules[f"{__name__}.sharding.group_sharded_{_name}"] = group_sharded
tensor_parallel = sharding_parallel = sys.modules[__name__]
for _name in ("tensor_parallel", "sharding_parallel"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
