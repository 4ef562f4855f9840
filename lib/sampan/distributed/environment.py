"""Which process this is, of how many, and how it is connected to the others.

The environment's variables are Paddle's (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM, PADDLE_MASTER or
PADDLE_TRAINER_ENDPOINTS), or torchrun's (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) where Paddle's are
missing.
"""

import atexit
import os
import socket
import warnings
from datetime import timedelta
from importlib import import_module
from typing import Any

import torch
import torch.distributed as c10d

from ..engine.errors import InvalidArgument
from . import outbox
from .group import Group, groups, new_id
from .spawn import share_cores

__all__ = [
    "ParallelEnv",
    "ParallelMode",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
    "restart_process_group",
    "shutdown_process_group",
]

TIMEOUT = "SAMPAN_DISTRIBUTED_TIMEOUT"  # seconds that a collective waits for other processes
state: dict[str, Any] = {"initialized": False, "server": None, "store": None, "connections": 0}


class ParallelMode:
    """Ways to share the work of training among processes."""

    DATA_PARALLEL, TENSOR_PARALLEL, PIPELINE_PARALLEL, SHARDING_PARALLEL, SEGMENT_PARALLEL = range(5)


def _first_set(default: str, *names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), default)


class ParallelEnv:
    """What the environment says about this process."""

    def __init__(self) -> None:
        self._rank = int(_first_set("0", "PADDLE_TRAINER_ID", "RANK"))
        self._world_size = int(_first_set("1", "PADDLE_TRAINERS_NUM", "WORLD_SIZE"))
        self._trainer_endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
        self._current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        selected = _first_set("0", "FLAGS_selected_gpus", "LOCAL_RANK")
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


def get_rank(group: Group | None = None) -> int:
    """The number of this process, in a group's ranks where one is given."""
    return ParallelEnv().rank if group is None else group.rank


def get_world_size(group: Group | None = None) -> int:
    """How many processes there are, in a group where one is given."""
    return ParallelEnv().world_size if group is None else group.world_size


def is_available() -> bool:
    """True: the module works with one process too."""
    return True


def is_initialized() -> bool:
    """Whether several processes are connected; with one process False, as in Paddle."""
    return 0 in groups and groups[0].torch_group is not None


def initialized() -> bool:
    """Whether `init_parallel_env` was called."""
    return bool(state["initialized"])


def timeout() -> timedelta:
    """How long a collective waits for other processes: 60 s, or what SAMPAN_DISTRIBUTED_TIMEOUT says."""
    return timedelta(seconds=float(os.environ.get(TIMEOUT, "60")))


def init_parallel_env(nccl_config: Any = None) -> Group | None:
    """Connect this process to the others. Returns the group of all of them; None with one process.

    With one process the collectives then act on a group of this process alone. Processes are connected by
    gloo, and by NCCL for tensors on GPUs where each process has its own. Raises ValueError without the
    address of rank 0, RuntimeError where its port is taken or not all processes arrive within the time-out.
    """
    env = ParallelEnv()
    if env.world_size <= 1:
        if not state["initialized"]:
            text = "init_parallel_env: there is one process; the collectives act on it alone"
            warnings.warn(text, UserWarning, stacklevel=2)
            state["initialized"] = True
        return None
    if is_initialized():
        return groups[0]
    if not 0 <= env.rank < env.world_size:
        raise InvalidArgument(
            f"the rank {env.rank} of the environment is not below {env.world_size} processes"
        )
    host, port = _master(env)
    if _on_one_machine(host, env):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
    try:
        _connect(env, host, port)
    except (RuntimeError, OSError) as error:
        raise RuntimeError(
            f"init_parallel_env: rank {env.rank} of {env.world_size} could not meet the others at "
            f"{host}:{port} within {timeout().total_seconds():g} s: {str(error).splitlines()[0]}. "
            "Either not all of them were started, or another program uses that port"
        ) from error
    state["initialized"] = True
    share_cores(int(_first_set("1", "LOCAL_WORLD_SIZE", "PADDLE_LOCAL_SIZE")))
    # io.DistributedBatchSampler reads torchrun's variables, also where only Paddle's are set.
    os.environ.update(RANK=str(env.rank), WORLD_SIZE=str(env.world_size))
    import_module(f"{__package__}.shared_model").install()
    return groups[0]


def _master(env: ParallelEnv) -> tuple[str, int]:
    """Host and port of the key-value store, which rank 0 serves."""
    address = os.environ.get("PADDLE_MASTER") or env.trainer_endpoints[0]
    if not address and os.environ.get("MASTER_ADDR"):
        address = f"{os.environ['MASTER_ADDR']}:{os.environ.get('MASTER_PORT', '')}"
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if not host or not port.isdigit():
        raise InvalidArgument(
            f"there are {env.world_size} processes, and the address of rank 0 is {address!r}; expected "
            "host:port in PADDLE_MASTER or PADDLE_TRAINER_ENDPOINTS, or MASTER_ADDR and MASTER_PORT"
        )
    return host, int(port)


def _on_one_machine(host: str, env: ParallelEnv) -> bool:
    local = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("PADDLE_LOCAL_SIZE")
    return host == "localhost" or host.startswith("127.") or local == str(env.world_size)


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name in ("lo", "lo0")), "")


def _connect(env: ParallelEnv, host: str, port: int) -> None:
    """Make the group of all processes.

    Keys of the store begin with the number of earlier connections of this process. Those of a store of
    torchrun's agent begin with the attempt too, since it outlives a restart of the processes and still holds
    the addresses of dead ones. A store of rank 0 ends with it; attempts are not in its keys, since a machine
    that takes the place of a lost one counts its own.
    """
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if state["server"] is None:
        serves = env.rank == 0 and not agent
        state["server"] = c10d.TCPStore(
            host, port, env.world_size, is_master=serves, timeout=timeout(), wait_for_workers=False
        )
        atexit.register(_leave)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if agent else "0"
    state["store"] = c10d.PrefixStore(f"attempt{attempt}/{state['connections']}", state["server"])
    state["connections"] += 1
    c10d.init_process_group(
        _backend(env), store=state["store"], rank=env.rank, world_size=env.world_size, timeout=timeout()
    )
    group = Group(env.rank, 0, range(env.world_size), c10d.group.WORLD)
    group.checks = c10d.new_group(backend="gloo", timeout=timeout())
    groups[0] = group


def _backend(env: ParallelEnv) -> str:
    """gloo for tensors on the CPU; for those on GPUs NCCL, which needs one GPU for each process of a machine.

    With fewer GPUs than processes gloo is used for both: the processes share the GPUs, and tensors cross by
    the CPU. ValueError where PADDLE_DISTRI_BACKEND asks for NCCL then; its own error, "Duplicate GPU
    detected", would come with the first collective.
    """
    asked = os.environ.get("PADDLE_DISTRI_BACKEND", "auto")
    local = int(_first_set(str(env.world_size), "LOCAL_WORLD_SIZE", "PADDLE_LOCAL_SIZE"))
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == "nccl" and found < local:
        raise InvalidArgument(
            f"init_parallel_env: NCCL needs one GPU for each of the {local} processes of this machine, found "
            f"{found}; expected PADDLE_DISTRI_BACKEND=gloo, with which tensors on a GPU cross by the CPU"
        )
    if asked == "gloo" or found < local:
        return "gloo"
    torch.cuda.set_device(env.device_id % found)
    return "cpu:gloo,cuda:nccl"


def _leave() -> None:
    """Close the connections; the store is closed with the process."""
    if c10d.is_initialized():
        outbox.close()
        c10d.destroy_process_group()


def disconnect() -> None:
    """Forget all groups; where there are several processes, also that `init_parallel_env` was called."""
    groups.clear()
    state["initialized"] = state["initialized"] and get_world_size() == 1
    _leave()


def shutdown_process_group(group: Group | None = None) -> None:
    """Close the connections of a group, or of all; see `restart_process_group`."""
    if group is None:
        disconnect()
    elif groups.pop(group.id, None) and group.torch_group is not None:
        outbox.close([group.torch_group])
        c10d.destroy_process_group(group.torch_group)
        c10d.destroy_process_group(group.checks)
        group.torch_group = None


def restart_process_group(group: Group | None = None) -> None:
    """Connect the processes of a group, or all, anew. Every member must call it."""
    if group is None or group.id == 0:
        disconnect()
        init_parallel_env()
        if group is not None and 0 in groups:
            group.torch_group = groups[0].torch_group
            groups[0] = group
        return
    shutdown_process_group(group)
    connect_group(group)


def connect_group(group: Group, wait: timedelta | None = None) -> None:
    """Make torch's process group of a Group with several members. All processes must call it."""
    if group.nranks > 1:
        made = c10d.new_group(group.ranks, timeout=wait or timeout())
        checks = c10d.new_group(group.ranks, backend="gloo", timeout=wait or timeout())
        if group.is_member():
            group.torch_group, group.checks = made, checks
    groups[group.id] = group


def made_group(ranks: list[int], wait: timedelta | None) -> Group:
    """A new group of these ranks."""
    own = get_rank()
    group = Group(ranks.index(own) if own in ranks else -1, new_id(), ranks)
    connect_group(group, wait)
    return group
