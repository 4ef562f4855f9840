"""Collectives of a group of one process: Paddle's collectives with one entry per process, here
one.

As in Paddle they raise RuntimeError before `init_parallel_env`. After it Paddle's still do so with one
process; here the group of one works, so that a program need not check first.
"""

from collections.abc import Sequence
from typing import Any

from ..engine.tensor import Tensor
from .parallel import initialized, several

__all__ = [
    "Group",
    "P2POp",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "irecv",
    "isend",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "wait",
]


class ReduceOp:
    """How values are combined. With one process every operation is the identity."""

    SUM, MAX, MIN, PROD, AVG = range(5)


class Group:
    """Processes that exchange values: this one, or none."""

    def __init__(
        self, rank_in_group: int = 0, id: int = 0, ranks: Sequence[int] = (0,), name: str | None = None
    ) -> None:
        self.rank, self.id, self.ranks = rank_in_group, id, list(ranks)
        self.name = name or f"_default_pg{id or ''}"
        self.nranks = self.world_size = len(self.ranks)
        self.backend = "GLOO"

    def is_member(self) -> bool:
        return self.rank >= 0

    def get_group_rank(self, rank: int) -> int:
        """The rank of a process in the group, -1 if it is not a member."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def __repr__(self) -> str:
        ranks = ", ".join(map(str, self.ranks))
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {ranks}; name: {self.name}"


class Task:
    """An exchange that has ended."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""


_groups: dict[int, Group] = {}


def _get_default_group() -> Group:
    if not initialized():
        raise AssertionError(
            "Call paddle.distributed.init_parallel_env first to initialize the distributed environment."
        )
    return _groups.setdefault(0, Group())


def _ready(what: str, group: Group | None, *peers: int | None) -> None:
    """RuntimeError before init_parallel_env, and for a peer that is another process."""
    if group is not None and not isinstance(group, Group):
        raise TypeError(f"{what}: expected a Group, got {type(group).__name__}")
    if not initialized():
        raise RuntimeError(f"{what}: The global group is not initialized. Call init_parallel_env first.")
    for peer in peers:
        if peer not in (0, None):
            several(f"{what}: process {peer} does not exist")


def _tensors(what: str, **given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise ValueError(f"{what}: expected a Tensor as {name}, got {type(value).__name__}")


def _one(what: str, name: str, values: Any) -> Any:
    """The entry of a list with one for each process."""
    if not isinstance(values, list | tuple) or len(values) != 1:
        raise RuntimeError(f"{what}: expected a list of 1 Tensor as {name}, got {values!r}")
    _tensors(what, **{name: values[0]})
    return values[0]


def _fill(what: str, listed: list[Any], tensor: Tensor) -> None:
    """Write into the one tensor of a list, or append to an empty one."""
    if not listed:
        listed.append(tensor.detach().clone())
    elif len(listed) != 1:
        raise RuntimeError(f"{what}: expected an empty list or one Tensor for 1 process, got {len(listed)}")
    else:
        listed[0] = tensor.detach().clone()


def _check_op(what: str, op: Any) -> None:
    if op not in range(5):
        raise ValueError(f"{what}: Unknown reduce_op type for {op}.")


# --- groups ---


def get_group(id: int = 0) -> Group | None:
    """The group with this id, or None. Paddle's answer for the whole group of one process is None too."""
    return _groups.get(id) if id else None


def new_group(
    ranks: Sequence[int] | None = None,
    backend: str | None = None,
    timeout: Any = None,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """A group of processes: of this one."""
    listed = [0] if ranks is None else sorted(ranks)
    if strange := [r for r in listed if r != 0]:
        several(f"new_group: the processes {strange} do not exist")
    made = Group(0 if listed else -1, max([9, *_groups]) + 1, listed)
    return _groups.setdefault(made.id, made)


def destroy_process_group(group: Group | None = None) -> None:
    """Remove a group."""
    _ready("destroy_process_group", group)
    if group is None:
        _groups.clear()
    else:
        _groups.pop(group.id, None)


def get_backend(group: Group | None = None) -> str:
    """The backend's name: GLOO, as Paddle's on a CPU; one process transfers nothing."""
    _ready("get_backend", group)
    return "GLOO"


# --- exchanges ---


def all_reduce(
    tensor: Tensor, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task:
    """The combination of all processes' tensors, in place: of one, itself."""
    _ready("all_reduce", group)
    _check_op("all_reduce", op)
    _tensors("all_reduce", tensor=tensor)
    return Task()


def reduce(
    tensor: Tensor, dst: int, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task:
    """`all_reduce` for one process, dst."""
    _ready("reduce", group, dst)
    _check_op("reduce", op)
    _tensors("reduce", tensor=tensor)
    return Task()


def broadcast(tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True) -> Task:
    """The tensor of process src, in place."""
    _ready("broadcast", group, src)
    _tensors("broadcast", tensor=tensor)
    return Task()


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group | None = None, sync_op: bool = True
) -> Task:
    """The tensors of all processes: appended to an empty list, or in place of its entries."""
    _ready("all_gather", group)
    _tensors("all_gather", tensor=tensor)
    _fill("all_gather", tensor_list, tensor)
    return Task()


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task:
    """`all_gather` for one process, dst."""
    _ready("gather", group, dst)
    _tensors("gather", tensor=tensor)
    if gather_list is None:
        raise AssertionError("gather: gather_list is needed in process dst")
    _fill("gather", gather_list, tensor)
    return Task()


def scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task:
    """This process's entry of process src's list, into tensor."""
    _ready("scatter", group, src)
    _tensors("scatter", tensor=tensor)
    tensor.set_value(_one("scatter", "tensor_list", tensor_list))
    return Task()


def reduce_scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor],
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task:
    """This process's entry of the combined lists, into tensor."""
    _ready("reduce_scatter", group)
    _check_op("reduce_scatter", op)
    _tensors("reduce_scatter", tensor=tensor)
    tensor.set_value(_one("reduce_scatter", "tensor_list", tensor_list))
    return Task()


def alltoall(
    out_tensor_list: list[Tensor],
    in_tensor_list: Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
) -> Task:
    """Entry j of process i's list becomes entry i of process j's."""
    _ready("alltoall", group)
    _fill("alltoall", out_tensor_list, _one("alltoall", "in_tensor_list", in_tensor_list))
    return Task()


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Any = None,
    out_split_sizes: Any = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task:
    """`alltoall` of the parts of one tensor along its first axis."""
    _ready("alltoall_single", group)
    _tensors("alltoall_single", out_tensor=out_tensor, in_tensor=in_tensor)
    for sizes in (in_split_sizes, out_split_sizes):
        if sizes and list(sizes) != [in_tensor.shape[0]]:
            raise RuntimeError(f"alltoall_single: expected sizes of [{in_tensor.shape[0]}], got {sizes}")
    out_tensor.set_value(in_tensor)
    return Task()


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """The objects of all processes, appended to a list."""
    _ready("all_gather_object", group)
    object_list.append(obj)


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """The objects of process src, in place."""
    _ready("broadcast_object_list", group, src)


def scatter_object_list(
    out_object_list: list[Any],
    in_object_list: list[Any] | None = None,
    src: int = 0,
    group: Group | None = None,
) -> None:
    """This process's entry of process src's list, as the one entry of a list."""
    _ready("scatter_object_list", group, src)
    if in_object_list is None or len(in_object_list) != 1:
        raise RuntimeError(f"scatter_object_list: expected a list of 1 object, got {in_object_list!r}")
    out_object_list[:] = in_object_list


def barrier(group: Group | None = None) -> None:
    """Wait until all processes are here, as this one is."""
    _ready("barrier", group)


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait for the exchange of a tensor: it has ended."""
    _tensors("wait", tensor=tensor)


def send(tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Task:
    """InvalidArgument: there is no other process."""
    _ready("send", group)
    several(f"send: process {dst} is this one, or does not exist")


def recv(tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Task:
    """InvalidArgument: there is no other process."""
    _ready("recv", group)
    several(f"recv: process {src} is this one, or does not exist")


def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Task:
    """`send`, which raises RuntimeError: there is no other process."""
    return send(tensor, dst, group)


def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Task:
    """`recv`, which raises RuntimeError: there is no other process."""
    return recv(tensor, src or 0, group)


class P2POp:
    """One exchange of `batch_isend_irecv`."""

    def __init__(self, op: Any, tensor: Tensor, peer: int, group: Group | None = None) -> None:
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Task]:
    """Run the listed exchanges in order. RuntimeError: there is no other process."""
    return [one.op(one.tensor, one.peer, one.group) for one in p2p_op_list]
