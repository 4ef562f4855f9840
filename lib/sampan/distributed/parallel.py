"""Paddle's module `distributed.parallel`: names of environment.py, spawn.py and launch/."""

import sys
from typing import NoReturn

from .data_parallel import DataParallel as DataParallel
from .environment import ParallelEnv as ParallelEnv
from .environment import ParallelMode as ParallelMode
from .environment import get_rank as get_rank
from .environment import get_world_size as get_world_size
from .environment import init_parallel_env as init_parallel_env
from .environment import is_available as is_available
from .environment import is_initialized as is_initialized
from .launch.main import launch as launch
from .spawn import spawn as spawn

parallel_helper = sys.modules["sampan.distributed.parallel_helper"] = sys.modules[__name__]
_is_parallel_ctx_initialized = is_initialized


def several(what: str) -> NoReturn:
    """Raise the RuntimeError of `what`, a function that does not work with more than one process yet."""
    raise RuntimeError(f"{what}: not with several processes yet; run the program as one process")
