"""Which process this is, of how many: by Paddle's environment variables PADDLE_TRAINER_ID and
PADDLE_TRAINERS_NUM."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..names.framework import DataParallel as DataParallel

__all__ = [
    "ParallelEnv",
    "ParallelMode",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
    "launch",
    "spawn",
]

parallel_helper = sys.modules["sampan.distributed.parallel_helper"] = sys.modules[__name__]
_state = {"initialized": False}


class ParallelMode:
    """Ways to share the work of training among processes."""

    DATA_PARALLEL, TENSOR_PARALLEL, PIPELINE_PARALLEL, SHARDING_PARALLEL = range(4)


class ParallelEnv:
    """What the environment says about this process."""

    def __init__(self) -> None:
        self._rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
        self._world_size = int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
        self._trainer_endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
        self._current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        selected = os.environ.get("FLAGS_selected_gpus", "0")  # noqa: SIM112 - Paddle's name
        self._device_id = int(selected.split(",")[0])
        self._device_type = os.environ.get("PADDLE_XCCL_BACKEND", "")

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def world_size(self) -> int:
        return self._world_size

    @property
    def device_id(self) -> int:
        """The number of this process's GPU, 0 where none was chosen."""
        return self._device_id

    @property
    def device_type(self) -> str:
        return self._device_type

    @property
    def current_endpoint(self) -> str:
        return self._current_endpoint

    @property
    def trainer_endpoints(self) -> list[str]:
        return self._trainer_endpoints

    @property
    def nrings(self) -> int:
        return 1

    local_rank, nranks, dev_id = rank, world_size, device_id


def get_rank(group: Any = None) -> int:
    """The number of this process, in a group's ranks where one is given."""
    return ParallelEnv().rank if group is None else group.rank


def get_world_size(group: Any = None) -> int:
    """How many processes there are, in a group where one is given."""
    return ParallelEnv().world_size if group is None else group.world_size


def is_available() -> bool:
    """True: the module works with one process."""
    return True


def is_initialized() -> bool:
    """Whether several processes are connected: they never are, as in Paddle with one process."""
    return False


_is_parallel_ctx_initialized = is_initialized


def several(what: str) -> NoReturn:
    """Raise the RuntimeError of `what`, a function that needs more than one process."""
    raise RuntimeError(
        f"{what}: Sampan does not train in several processes yet; run the program as one process"
    )


def init_parallel_env(nccl_config: Any = None) -> None:
    """Make ready for the collectives, which then act on a group of this process alone. RuntimeError in one of
    several."""
    if (count := get_world_size()) > 1:
        several(f"init_parallel_env: the environment's PADDLE_TRAINERS_NUM is {count}")
    if not _state["initialized"]:
        text = "init_parallel_env: there is one process; the collectives act on it alone"
        warnings.warn(text, UserWarning, stacklevel=2)
    _state["initialized"] = True


def initialized() -> bool:
    """Whether `init_parallel_env` was called."""
    return _state["initialized"]


class MultiprocessContext:
    """What `spawn` returns: the function has ended."""

    def join(self, timeout: float | None = None) -> bool:
        return True


def spawn(
    func: Callable[..., Any],
    args: Iterable[Any] = (),
    nprocs: int = -1,
    join: bool = True,
    daemon: bool = False,
    **options: Any,
) -> MultiprocessContext:
    """Call `func(*args)` in this process. RuntimeError for more than one process."""
    if nprocs not in (-1, 1):
        several(f"spawn: nprocs is {nprocs}")
    func(*args)
    return MultiprocessContext()


def launch() -> NoReturn:
    """InvalidArgument: `python -m paddle.distributed.launch` starts several processes."""
    several("launch")
