"""Paddle's module `distributed.parallel`: names of environment.py, spawn.py and launch/."""

import sys
from typing import NoReturn

from ..nn.layer import Layer
from . import replicas
from .collective import member, ready
from .data_parallel import DataParallel as DataParallel
from .environment import ParallelEnv as ParallelEnv
from .environment import ParallelMode as ParallelMode
from .environment import get_rank as get_rank
from .environment import get_world_size as get_world_size
from .environment import init_parallel_env as init_parallel_env
from .environment import is_available as is_available
from .environment import is_initialized as is_initialized
from .group import Group
from .launch.main import launch as launch
from .spawn import spawn as spawn

parallel_helper = sys.modules["sampan.distributed.parallel_helper"] = sys.modules[__name__]
_is_parallel_ctx_initialized = is_initialized


def sync_params_buffers(
    model: Layer,
    comm_group: Group | None = None,
    src_rank: int = 0,
    is_model_parallel: bool = False,
    fuse_params: bool = True,
    is_moe_sharding_parallel: bool = False,
) -> None:
    """Give the processes of a group the parameters and buffers of one of them, in place.

    comm_group: by default all processes. src_rank: the process's number among all. is_model_parallel: without
    parameters that tensor parallelism cuts. Those with an attribute `no_sync` are left out; with
    is_moe_sharding_parallel not where they have `expert`. fuse_params: there is one message for each dtype.
    """
    group = ready("sync_params_buffers", comm_group)
    if group is None or group.nranks == 1:
        return
    chosen = []
    for tensor in replicas.held(model).values():
        cut = is_model_parallel and getattr(tensor, "is_distributed", False)
        expert = is_moe_sharding_parallel and getattr(tensor, "expert", False)
        if not cut and (expert or not getattr(tensor, "no_sync", False)):
            chosen.append(tensor)
    replicas.broadcast_tensors(chosen, group.torch_group, member("sync_params_buffers", group, src_rank))


def several(what: str) -> NoReturn:
    """Raise the RuntimeError of `what`, a function that does not work with more than one process yet."""
    raise RuntimeError(f"{what}: not with several processes yet; run the program as one process")
