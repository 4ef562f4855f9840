"""Messages between two processes."""

from collections.abc import Callable, Sequence
from typing import Any

from ..engine.tensor import Tensor
from . import wire
from .collective import check_tensors, mark_written, member, ready
from .group import Group
from .wire import Task

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _peer(what: str, group: Group, rank: int) -> int:
    """The number in the group of the other process. RuntimeError where there is no other."""
    if group.nranks == 1:
        raise RuntimeError(f"{what}: process {rank} is this one, or does not exist")
    peer = member(what, group, rank)
    if peer == group.rank:
        raise RuntimeError(f"{what}: process {rank} is this one")
    return peer


def send(tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Send a tensor to process dst, which must call `recv` with one of the same shape and dtype."""
    if (members := ready("send", group)) is None:
        return None
    check_tensors("send", tensor=tensor)
    return wire.send(tensor.data, _peer("send", members, dst), members, sync_op)


def recv(tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Receive into a tensor what process src sends."""
    if (members := ready("recv", group)) is None:
        return None
    check_tensors("recv", tensor=tensor)
    peer = _peer("recv", members, src)
    mark_written(tensor)
    return wire.receive(tensor.data, peer, members, sync_op)


def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Task | None:
    """`send` that returns at once; the tensor must not change before the Task has ended."""
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Task | None:
    """`recv` that returns at once; the values are there when the Task has ended."""
    return recv(tensor, src or 0, group, sync_op=False)


class P2POp:
    """One message of `batch_isend_irecv`.

    op: `isend` or `irecv`. peer: the other process's number among all. RuntimeError for another op.
    """

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int, group: Group | None = None) -> None:
        if op not in (isend, irecv):
            raise RuntimeError(f"P2POp: expected isend or irecv as op, got {getattr(op, '__name__', op)!r}")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Task]:
    """Start all messages of a list. Returns their Tasks; RuntimeError for an empty list or another entry."""
    if not isinstance(p2p_op_list, list | tuple) or not p2p_op_list:
        raise RuntimeError(f"batch_isend_irecv: expected a list of P2POp, got {p2p_op_list!r}")
    for one in p2p_op_list:
        if not isinstance(one, P2POp):
            raise RuntimeError(f"batch_isend_irecv: expected a list of P2POp, got {type(one).__name__} in it")
    tasks = [one.op(one.tensor, one.peer, one.group) for one in p2p_op_list]
    return [task for task in tasks if task is not None]
