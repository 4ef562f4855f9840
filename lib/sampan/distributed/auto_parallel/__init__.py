"""Semi-automatic parallelism: tensors with parts in several processes, which operators treat as one.

Tensors are marked with `shard_tensor`; the program stays that of one process. It is Paddle's interface over
torch's DTensor: see `dispatch` for how an operator runs, `transfer` for the tape.
"""

import sys

from . import by_halves, context, engine_strategy, interface, optimizer, placements, plans
from . import layer_rules as layer_rules
from . import rules as rules
from . import tensor as tensor
from . import to_distributed as high_level_api
from .api import DistAttr as DistAttr
from .api import dtensor_from_fn as dtensor_from_fn
from .api import dtensor_from_local as dtensor_from_local
from .api import dtensor_to_local as dtensor_to_local
from .api import reshard as reshard
from .api import unshard_dtensor as unshard_dtensor
from .checkpoint import load_merged_state_dict as load_merged_state_dict
from .checkpoint import load_state_dict as load_state_dict
from .checkpoint import save_state_dict as save_state_dict
from .context import ContextParallel as ContextParallel
from .context import PrepareContextParallel as PrepareContextParallel
from .engine import Engine as Engine
from .engine_strategy import Strategy as Strategy
from .interface import create_mesh as create_mesh
from .interface import exclude_ops_in_recompute as exclude_ops_in_recompute
from .interface import parallel_manual_seed as parallel_manual_seed
from .interface import recompute as recompute
from .interface import shard_op as shard_op
from .interface import shard_tensor as shard_tensor
from .layers import LocalLayer as LocalLayer
from .layers import ShardDataloader as ShardDataloader
from .layers import local_map as local_map
from .layers import shard_dataloader as shard_dataloader
from .layers import shard_layer as shard_layer
from .model import DistModel as DistModel
from .model import to_static as to_static
from .optimizer import ShardingStage1 as ShardingStage1
from .optimizer import ShardingStage2 as ShardingStage2
from .optimizer import ShardingStage3 as ShardingStage3
from .optimizer import shard_optimizer as shard_optimizer
from .optimizer import shard_scaler as shard_scaler
from .placements import Partial as Partial
from .placements import Placement as Placement
from .placements import ReduceType as ReduceType
from .placements import Replicate as Replicate
from .placements import Shard as Shard
from .plans import ColWiseParallel as ColWiseParallel
from .plans import ConvParallel as ConvParallel
from .plans import PrepareLayerInput as PrepareLayerInput
from .plans import PrepareLayerOutput as PrepareLayerOutput
from .plans import RowWiseParallel as RowWiseParallel
from .plans import SequenceParallelBegin as SequenceParallelBegin
from .plans import SequenceParallelDisable as SequenceParallelDisable
from .plans import SequenceParallelEnable as SequenceParallelEnable
from .plans import SequenceParallelEnd as SequenceParallelEnd
from .plans import SplitPoint as SplitPoint
from .plans import parallelize as parallelize
from .process_mesh import ProcessMesh as ProcessMesh
from .process_mesh import get_mesh as get_mesh
from .process_mesh import set_mesh as set_mesh
from .sharded_weight import ShardedStateDict as ShardedStateDict
from .sharded_weight import ShardedWeight as ShardedWeight
from .sharded_weight import build_sharded_state_dict as build_sharded_state_dict
from .sharded_weight import shard_weight as shard_weight
from .to_distributed import ToDistributedConfig as ToDistributedConfig
from .to_distributed import to_distributed as to_distributed

# Paddle's modules inside, which are those here.
_MODULES = {
    "high_level_api": high_level_api,
    "placement_type": placements,
    "strategy": engine_strategy,
    "interface": interface,
    "random": interface,
    "intermediate": plans,
    "intermediate.context_parallel": context,
    "intermediate.parallelize": by_halves,
    "intermediate.pipeline_parallel": plans,
    "intermediate.sharded_data_parallel": optimizer,
    "intermediate.tensor_parallel": plans,
}
for _name, _module in _MODULES.items():
    sys.modules[f"{__name__}.{_name}"] = _module
