"""Collectives of Python objects: pickled, so only among processes that trust one another."""

import pickle
from collections.abc import Sequence
from typing import Any

import torch

from . import wire
from .collective import member, ready
from .group import Group
from .point_to_point import _peer

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _pickled(value: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _value(buffer: torch.Tensor) -> Any:
    # Bytes of this job's other processes, which run the same program.
    return pickle.loads(buffer.numpy().tobytes())


def _everyones(value: Any, group: Group) -> list[Any]:
    """The values of all members: the pickles padded to the longest."""
    own = _pickled(value)
    size = torch.tensor([own.numel()])
    sizes = [torch.empty_like(size) for _ in group.ranks]
    wire.all_gather(sizes, size, group)
    longest = max(map(int, sizes))
    padded = torch.zeros(longest, dtype=torch.uint8)
    padded[: own.numel()] = own
    pickles = [torch.empty_like(padded) for _ in group.ranks]
    wire.all_gather(pickles, padded, group)
    return [_value(one[: int(length)]) for one, length in zip(pickles, sizes, strict=True)]


def _from(values: Any, root: int, group: Group) -> Any:
    """What member `root` gives."""
    here = group.rank == root
    own = _pickled(values) if here else torch.empty(0, dtype=torch.uint8)
    size = torch.tensor([own.numel()])
    wire.broadcast(size, root, group)
    used = own if here else torch.empty(int(size), dtype=torch.uint8)
    wire.broadcast(used, root, group)
    return _value(used)


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """The objects of all processes, appended to a list."""
    if (members := ready("all_gather_object", group)) is not None:
        object_list.extend([obj] if members.nranks == 1 else _everyones(obj, members))


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """The objects of process src, in place. The other lists must have as many entries."""
    if (members := ready("broadcast_object_list", group)) is None:
        return
    root = member("broadcast_object_list", members, src)
    if members.nranks == 1:
        return
    values = _from(list(object_list), root, members)
    if len(values) != len(object_list):
        raise RuntimeError(
            f"broadcast_object_list: process {src} sent {len(values)} objects, "
            f"the list has {len(object_list)}"
        )
    if members.rank != root:
        object_list[:] = values


def scatter_object_list(
    out_object_list: list[Any],
    in_object_list: Sequence[Any] | None = None,
    src: int = 0,
    group: Group | None = None,
) -> None:
    """This process's entry of process src's list, as the one entry of a list."""
    if (members := ready("scatter_object_list", group)) is None:
        return
    root = member("scatter_object_list", members, src)
    if members.rank == root and (in_object_list is None or len(in_object_list) != members.nranks):
        count = f"{members.nranks} object{'s' if members.nranks > 1 else ''}"
        raise RuntimeError(f"scatter_object_list: expected a list of {count}, got {in_object_list!r}")
    if members.nranks > 1:
        in_object_list = _from(in_object_list, root, members)
    out_object_list[:] = [list(in_object_list or ())[members.rank]]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group | None = None,
    dst_in_group: int | None = None,
) -> None:
    """Send objects to process dst, or to member dst_in_group, which must call `recv_object_list`."""
    if (members := ready("send_object_list", group)) is None:
        return
    peer = _other("send_object_list", members, dst, dst_in_group)
    buffer = _pickled(list(object_list))
    wire.send(torch.tensor([buffer.numel()]), peer, members)
    wire.send(buffer, peer, members)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group | None = None,
    src_in_group: int | None = None,
) -> None:
    """Receive the objects that process src, or member src_in_group, sends, into a list of as many entries."""
    if (members := ready("recv_object_list", group)) is None:
        return
    peer = _other("recv_object_list", members, src, src_in_group)
    size = torch.empty(1, dtype=torch.int64)
    wire.receive(size, peer, members)
    buffer = torch.empty(int(size), dtype=torch.uint8)
    wire.receive(buffer, peer, members)
    values = _value(buffer)
    if len(values) != len(object_list):
        raise RuntimeError(f"recv_object_list: expected {len(object_list)} objects, got {len(values)}")
    object_list[:] = values


def _other(what: str, group: Group, rank: int | None, in_group: int | None) -> int:
    """The other process's number in the group."""
    if (rank is None) == (in_group is None):
        raise ValueError(f"{what}: expected a process's number, either among all or in the group")
    return _peer(what, group, group.ranks[in_group] if rank is None else rank)  # type: ignore[index]  # not None: above
