"""Paddle's collectives: values that the processes of a group exchange.

As in Paddle they raise RuntimeError before `init_parallel_env`, write into the memory of the tensors given,
and are not recorded on the tape: differentiable.py has those that are. With one process Paddle's raise too;
here the group of one works, so that a program need not check first. A process that is not in the group gets a
warning and None.
"""

import importlib
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..engine import tape
from ..engine.tensor import Tensor
from . import environment, wire
from .environment import get_rank, initialized
from .environment import is_available as is_available
from .environment import is_initialized as is_initialized
from .group import Group, groups
from .static_names import split as split
from .wire import ReduceOp as ReduceOp
from .wire import Task as Task

__all__ = [
    "Group",
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "broadcast",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "new_group",
    "reduce",
    "reduce_scatter",
    "scatter",
    "wait",
]


def _get_default_group() -> Group:
    if not initialized():
        raise AssertionError(
            "Call paddle.distributed.init_parallel_env first to initialize the distributed environment."
        )
    return groups.setdefault(0, Group())


def _get_global_group() -> Group:
    """The group of all processes. RuntimeError before init_parallel_env."""
    if not initialized():
        raise RuntimeError("The global group is not initialized.")
    return _get_default_group()


def _is_global_group(group: Group) -> bool:
    return group.id == 0


def _get_or_throw_group_rank(global_rank: int, group: Group) -> int:
    """The number in the group of a process. AssertionError where it is not a member."""
    found = group.get_group_rank(global_rank)
    if found < 0:
        raise AssertionError(f"The input rank {global_rank} can not be found inside the group {group.name}")
    return found


# Operators of tensor parallelism, which PaddlePaddle 2 had in this module.
_MOVED = (
    "_c_concat",
    "_c_identity",
    "_c_lookup_table",
    "_c_softmax_with_cross_entropy",
    "_c_split",
    "_mp_allreduce",
)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        return getattr(importlib.import_module(f"{__package__}.fleet.mp_ops"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def ready(what: str, group: Group | None) -> Group | None:
    """The group of a call, None where this process is not in it. RuntimeError before init_parallel_env, and
    after the group was destroyed."""
    if group is not None and not isinstance(group, Group):
        raise TypeError(f"{what}: expected a Group, got {type(group).__name__}")
    if not initialized():
        raise RuntimeError(f"{what}: The global group is not initialized. Call init_parallel_env first.")
    group = _get_default_group() if group is None else group
    if group.is_member():
        if group.nranks > 1 and groups.get(group.id) is not group:
            raise RuntimeError(f"{what}: group {group.name} was destroyed; make it anew with new_group")
        return group
    text = f"{what}: Current global rank {get_rank()} is not in group {group.name}"
    warnings.warn(text, UserWarning, stacklevel=3)
    return None


def member(what: str, group: Group, rank: int | None) -> int:
    """The number in the group of a process, given by its number among all. ValueError for another."""
    if rank in group.ranks:
        return group.ranks.index(rank)
    if group.nranks == 1:
        raise RuntimeError(f"{what}: process {rank} does not exist: there is one process, {group.ranks[0]}")
    raise ValueError(f"{what}: process {rank} is not in group {group.name}, whose ranks are {group.ranks}")


def check_tensors(what: str, **given: Any) -> None:
    """ValueError for what is no Tensor."""
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise ValueError(f"{what}: expected a Tensor as {name}, got {type(value).__name__}")


def check_list(what: str, name: str, values: Any, count: int, like: Tensor | None = None) -> list[Tensor]:
    """A list with one Tensor for each process, all of the dtype and shape of `like` where that is given."""
    if not isinstance(values, list | tuple) or len(values) != count:
        one = "1 Tensor" if count == 1 else f"{count} Tensors"
        raise RuntimeError(f"{what}: expected a list of {one} as {name}, got {values!r}")
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(f"{what}: expected Tensors in {name}, got {type(value).__name__}")
        if like is not None and (
            value.data.shape != like.data.shape or value.data.dtype is not like.data.dtype
        ):
            raise RuntimeError(
                f"{what}: expected Tensors like {like._brief()} in {name}, got {value._brief()}"
            )
    return list(values)


def _outputs(what: str, name: str, listed: Any, likes: Sequence[Tensor]) -> list[Tensor]:
    """The tensors to receive into: an empty list is filled with new ones, like `likes`."""
    if not isinstance(listed, list):
        raise TypeError(f"{what}: expected a list as {name}, got {type(listed).__name__}")
    if not listed:
        listed.extend(Tensor(like.data.new_empty(like.data.shape)) for like in likes)
    elif len(listed) != len(likes):
        count = f"{len(likes)} process{'es' if len(likes) > 1 else ''}"
        raise RuntimeError(f"{what}: expected an empty list or one Tensor for {count}, got {len(listed)}")
    return listed


def check_op(what: str, op: Any) -> None:
    """ValueError for an unknown operation."""
    if op not in range(5):
        raise ValueError(f"{what}: Unknown reduce_op type for {op}.")


def mark_written(*tensors: Tensor) -> None:
    """Tell the tape that the memory is about to change. Paddle's `inplace_version` does not count an
    exchange."""
    for tensor in tensors:
        tape.written(tensor.data)


# --- groups ---


def get_group(id: int = 0) -> Group | None:
    """The group with this id, or None. Paddle's answer for the whole group of one process is None too."""
    group = groups.get(id)
    return None if id == 0 and group is not None and group.torch_group is None else group


def new_group(
    ranks: Sequence[int] | None = None,
    backend: str | None = None,
    timeout: timedelta | None = None,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """A group of some processes, all for None. Every process must call it, members or not, in the same order.

    timeout: how long its collectives wait, None for that of `init_parallel_env`. AssertionError for more
    processes than there are, RuntimeError for one that does not exist.
    """
    count = environment.get_world_size()
    listed = list(range(count)) if ranks is None else sorted(set(ranks))
    if len(listed) > count > 1:
        raise AssertionError(
            "new_group: Size of new group must be less than or equal to that of the default global group."
        )
    if strange := [r for r in listed if not 0 <= r < count]:
        raise RuntimeError(f"new_group: the processes {strange} do not exist: there are {count}")
    if len(listed) > 1 and not initialized():
        raise RuntimeError("new_group: The global group is not initialized. Call init_parallel_env first.")
    return environment.made_group(listed, timeout)


def destroy_process_group(group: Group | None = None) -> None:
    """Remove a group, or all of them; then `init_parallel_env` connects the processes anew."""
    if not initialized():
        ready("destroy_process_group", group)
    if group is None:
        environment.disconnect()
    else:
        environment.shutdown_process_group(group)


def get_backend(group: Group | None = None) -> str:
    """The backend's name: GLOO, as Paddle's on a CPU, or NCCL."""
    checked = ready("get_backend", group)
    return "GLOO" if checked is None else checked.backend


# --- exchanges ---


def all_reduce(
    tensor: Tensor, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """The combination of all processes' tensors, in place. sync_op: False returns before it is there."""
    if (members := ready("all_reduce", group)) is None:
        return None
    check_op("all_reduce", op)
    check_tensors("all_reduce", tensor=tensor)
    mark_written(tensor)
    return wire.all_reduce(tensor.data, op, members, sync_op)


def reduce(
    tensor: Tensor, dst: int, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """`all_reduce` for one process, dst. The tensors of the others stay as they are."""
    if (members := ready("reduce", group)) is None:
        return None
    check_op("reduce", op)
    check_tensors("reduce", tensor=tensor)
    root = member("reduce", members, dst)
    mark_written(tensor)
    return wire.reduce(tensor.data, root, op, members, sync_op)


def broadcast(tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """The tensor of process src, in place."""
    if (members := ready("broadcast", group)) is None:
        return None
    check_tensors("broadcast", tensor=tensor)
    root = member("broadcast", members, src)
    mark_written(tensor)
    return wire.broadcast(tensor.data, root, members, sync_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """The tensors of all processes, of one shape: into new tensors in an empty list, or into those of the
    list."""
    if (members := ready("all_gather", group)) is None:
        return None
    check_tensors("all_gather", tensor=tensor)
    outs = _outputs("all_gather", "tensor_list", tensor_list, [tensor] * members.nranks)
    outs = check_list("all_gather", "tensor_list", outs, members.nranks, tensor)
    mark_written(*outs)
    return wire.all_gather([out.data for out in outs], tensor.data, members, sync_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """`all_gather` for one process, dst; the others need no list."""
    if (members := ready("gather", group)) is None:
        return None
    check_tensors("gather", tensor=tensor)
    root = member("gather", members, dst)
    outs: list[Tensor] = []
    if members.rank == root:
        if gather_list is None:
            raise AssertionError("gather: gather_list is needed in process dst")
        outs = _outputs("gather", "gather_list", gather_list, [tensor] * members.nranks)
        outs = check_list("gather", "gather_list", outs, members.nranks, tensor)
        mark_written(*outs)
    return wire.gather([out.data for out in outs], tensor.data, root, members, sync_op)


def scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """This process's entry of process src's list, into tensor; the others need no list."""
    if (members := ready("scatter", group)) is None:
        return None
    check_tensors("scatter", tensor=tensor)
    root = member("scatter", members, src)
    parts: list[Tensor] = []
    if members.rank == root:
        parts = check_list("scatter", "tensor_list", tensor_list, members.nranks, tensor)
    mark_written(tensor)
    return wire.scatter(tensor.data, [part.data for part in parts], root, members, sync_op)


def reduce_scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor],
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """This process's entry of the combined lists, into tensor."""
    if (members := ready("reduce_scatter", group)) is None:
        return None
    check_op("reduce_scatter", op)
    check_tensors("reduce_scatter", tensor=tensor)
    parts = check_list("reduce_scatter", "tensor_list", tensor_list, members.nranks, tensor)
    mark_written(tensor)
    return wire.reduce_scatter(tensor.data, [part.data for part in parts], op, members, sync_op)


def alltoall(
    out_tensor_list: list[Tensor],
    in_tensor_list: Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Entry j of process i's list becomes entry i of process j's. An empty list of outputs is filled with
    tensors like those sent."""
    if (members := ready("alltoall", group)) is None:
        return None
    parts = check_list("alltoall", "in_tensor_list", in_tensor_list, members.nranks)
    outs = _outputs("alltoall", "out_tensor_list", out_tensor_list, parts)
    outs = check_list("alltoall", "out_tensor_list", outs, members.nranks)
    check_dtypes("alltoall", parts, outs)
    mark_written(*outs)
    return wire.all_to_all([out.data for out in outs], [part.data for part in parts], members, sync_op)


def check_dtypes(what: str, *lists: Sequence[Tensor]) -> None:
    """RuntimeError where not all tensors have the same dtype."""
    if len({tensor.data.dtype for tensors in lists for tensor in tensors}) > 1:
        briefs = [tensor._brief() for tensors in lists for tensor in tensors]
        raise RuntimeError(f"{what}: expected Tensors of one dtype, got {', '.join(briefs)}")


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """`alltoall` of the parts of one tensor along its first axis: equal ones, or of the given numbers of
    rows."""
    if (members := ready("alltoall_single", group)) is None:
        return None
    check_tensors("alltoall_single", out_tensor=out_tensor, in_tensor=in_tensor)
    check_dtypes("alltoall_single", [in_tensor, out_tensor])
    parts = _rows("alltoall_single", "in_split_sizes", in_tensor, in_split_sizes, members.nranks)
    outs = _rows("alltoall_single", "out_split_sizes", out_tensor, out_split_sizes, members.nranks)
    mark_written(out_tensor)
    return wire.all_to_all(outs, parts, members, sync_op, "alltoall_single")


def _rows(what: str, name: str, tensor: Tensor, sizes: Sequence[int] | None, count: int) -> Any:
    """Views of a tensor's buffer along its first axis, one for each process."""
    if tensor.data.dim() == 0:
        raise RuntimeError(f"{what}: expected at least 1 axis, got {tensor._brief()}")
    rows = tensor.data.shape[0]
    if not sizes:
        if rows % count:
            raise RuntimeError(f"{what}: {rows} rows cannot be split into {count} equal parts; give {name}")
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows or min(sizes) < 0:
        equal = f"[{rows}]" if count == 1 else f"{count} sizes with the sum {rows}"
        raise RuntimeError(f"{what}: expected sizes of {equal} as {name}, got {list(sizes)}")
    return tensor.data.split(list(sizes))


def barrier(group: Group | None = None) -> None:
    """Wait until all processes of the group are here."""
    if (members := ready("barrier", group)) is not None:
        wire.barrier(members)


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait for the exchanges of a tensor on a GPU; on a CPU `Task.wait` does that."""
    check_tensors("wait", tensor=tensor)
    if tensor.data.is_cuda:
        from torch.cuda import current_stream

        current_stream(tensor.data.device).synchronize()
