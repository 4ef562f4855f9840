"""paddle.distributed: training in several processes, over torch.distributed; with one process, rank 0 of
1."""

import importlib
from typing import Any

from . import collective as collective
from . import communication as communication
from . import environment as environment
from . import fleet as fleet
from . import layer_names
from . import parallel as parallel
from . import stream as stream
from . import sync_batch_norm as sync_batch_norm
from . import traffic as traffic
from . import utils as utils
from .collective import *
from .data_parallel import DataParallel as DataParallel
from .environment import *
from .gloo import gloo_barrier as gloo_barrier
from .gloo import gloo_init_parallel_env as gloo_init_parallel_env
from .gloo import gloo_release as gloo_release
from .launch.main import launch as launch
from .objects import *
from .point_to_point import *
from .spawn import spawn as spawn
from .static_names import *

parallel_helper = parallel.parallel_helper
layer_names.install()

# Found at first use: a program without distributed tensors imports nothing of them.
_AUTO_PARALLEL = frozenset(
    (
        "DistAttr",
        "LocalLayer",
        "ShardDataloader",
        "ShardingStage1",
        "ShardingStage2",
        "ShardingStage3",
        "local_map",
        "shard_dataloader",
        "shard_layer",
        "shard_optimizer",
        "shard_scaler",
        "Partial",
        "Placement",
        "ProcessMesh",
        "ReduceType",
        "Replicate",
        "Shard",
        "dtensor_from_fn",
        "dtensor_from_local",
        "dtensor_to_local",
        "get_mesh",
        "reshard",
        "set_mesh",
        "shard_tensor",
        "unshard_dtensor",
        "load_merged_state_dict",
        "load_state_dict",
        "save_state_dict",
        "DistModel",
        "Strategy",
        "to_static",
        "ColWiseParallel",
        "ContextParallel",
        "ConvParallel",
        "PrepareContextParallel",
        "ShardedStateDict",
        "ShardedWeight",
        "build_sharded_state_dict",
        "shard_op",
        "shard_weight",
        "to_distributed",
        "PrepareLayerInput",
        "PrepareLayerOutput",
        "RowWiseParallel",
        "SequenceParallelBegin",
        "SequenceParallelDisable",
        "SequenceParallelEnable",
        "SequenceParallelEnd",
        "SplitPoint",
        "parallelize",
    )
)
_ENTRIES = frozenset(("CountFilterEntry", "ProbabilityEntry", "ShowClickEntry"))


def __getattr__(name: str) -> Any:
    """Distributed tensors and tables on shards are imported at their first use, which takes a second."""
    if name in ("auto_parallel", "rpc", "sharding"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in _AUTO_PARALLEL:
        inside = {"shard_tensor": ".api", "Strategy": ".model"}.get(name, "")  # others of `fleet.auto`
        found = getattr(importlib.import_module(f"{__name__}.auto_parallel{inside}"), name)
        return globals().setdefault(name, found)
    if name in ("group_sharded_parallel", "save_group_sharded_model"):
        return getattr(importlib.import_module(f"{__name__}.sharding"), name)
    if name in ("InMemoryDataset", "QueueDataset"):
        return getattr(fleet, name)
    if name in _ENTRIES:
        found = getattr(importlib.import_module(f"{__name__}.parameter_server.entries"), name)
        return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Also the names that are not imported yet."""
    more = ("InMemoryDataset", "QueueDataset", "auto_parallel", "rpc", "sharding")
    sharded = ("group_sharded_parallel", "save_group_sharded_model")
    return sorted({*globals(), *_AUTO_PARALLEL, *_ENTRIES, *more, *sharded})
