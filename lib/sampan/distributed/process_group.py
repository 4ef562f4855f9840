"""What Paddle's `group.process_group` offers: collectives that return a Task, with processes numbered in the
group. Programs call it for exchanges without the checks of `paddle.distributed`."""

from __future__ import annotations

from typing import Any

import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from . import wire
from .collective import mark_written
from .group import Group
from .wire import ReduceOp, Task


class ProcessGroup:
    """The exchanges of one Group.

    A Tensor in place of a list stands for its equal parts along axis 0. Two orders of arguments are known, as
    in Paddle: (input, output), and with `sync_op` (output, input).
    """

    def __init__(self, group: Group) -> None:
        self._group = group

    @property
    def torch_group(self) -> Any:
        """torch's ProcessGroup."""
        return self._group.torch_group

    def rank(self) -> int:
        """This process's number in the group."""
        return self._group.rank

    def size(self) -> int:
        """How many processes there are."""
        return self._group.nranks

    def name(self) -> str:
        """The backend, in capitals."""
        return self._group.backend

    def _parts(self, what: str, value: Any) -> list[torch.Tensor]:
        """One buffer for each process."""
        count = self._group.nranks
        if isinstance(value, list | tuple):
            parts = [part.data for part in value]
        else:
            data = value.data
            parts = list(data.chunk(count)) if data.ndim and data.shape[0] % count == 0 else []
        if len(parts) != count:
            raise InvalidArgument(
                f"process_group.{what}: expected {count} Tensors, or one of {count} equal parts along "
                f"axis 0, got {value if isinstance(value, list | tuple) else value._brief()}"
            )
        return parts

    def _begun(self, written: Any, task: Task) -> Task:
        mark_written(*(written if isinstance(written, list | tuple) else [written]))
        return task

    # --- the exchanges ---

    def barrier(self, device_id: int = -1) -> Task:
        """Wait for all processes."""
        return self.all_reduce(Tensor(torch.zeros(1)))

    def all_reduce(self, tensor: Any, op: int = ReduceOp.SUM, sync_op: bool = False) -> Task:
        """The sum, or what `op` says, in place."""
        return self._begun(tensor, wire.all_reduce(tensor.data, op, self._group, sync_op))

    allreduce = all_reduce

    def reduce(self, tensor: Any, dst: int, op: int = ReduceOp.SUM, sync_op: bool = False) -> Task:
        """The sum, or what `op` says, in process `dst` alone."""
        return self._begun(tensor, wire.reduce(tensor.data, dst, op, self._group, sync_op))

    def broadcast(self, tensor: Any, src: int, sync_op: bool = False) -> Task:
        """The Tensor of process `src`, in place."""
        return self._begun(tensor, wire.broadcast(tensor.data, src, self._group, sync_op))

    def all_gather(self, first: Any, second: Any, sync_op: bool | None = None) -> Task:
        """The processes' Tensors in all of them."""
        given, out = (first, second) if sync_op is None else (second, first)
        outs = self._parts("all_gather", out)
        return self._begun(out, wire.all_gather(outs, given.data, self._group, bool(sync_op)))

    all_gather_into_tensor = all_gather

    def reduce_scatter(self, out: Any, given: Any, op: int = ReduceOp.SUM, sync_op: bool = False) -> Task:
        """The sum of the processes' parts for this one."""
        parts = self._parts("reduce_scatter", given)
        return self._begun(out, wire.reduce_scatter(out.data, parts, op, self._group, sync_op))

    reduce_scatter_tensor = reduce_scatter

    def scatter(self, first: Any, second: Any, src: int, sync_op: bool | None = None) -> Task:
        """The part for this process that process `src` has."""
        given, out = (first, second) if sync_op is None else (second, first)
        parts = self._parts("scatter", given) if self._group.rank == src else []
        return self._begun(out, wire.scatter(out.data, parts, src, self._group, bool(sync_op)))

    scatter_tensor = scatter

    def gather(self, given: Any, out: Any, dst: int, sync_op: bool = False) -> Task:
        """The processes' Tensors in process `dst`."""
        outs = self._parts("gather", out) if self._group.rank == dst else []
        return self._begun(out, wire.gather(outs, given.data, dst, self._group, sync_op))

    def alltoall(self, first: Any, second: Any, sync_op: bool | None = None) -> Task:
        """Part j of process i becomes part i of process j."""
        given, out = (first, second) if sync_op is None else (second, first)
        outs, parts = self._parts("alltoall", out), self._parts("alltoall", given)
        return self._begun(out, wire.all_to_all(outs, parts, self._group, bool(sync_op)))

    all_to_all = all_to_all_tensor = alltoall

    def send(self, tensor: Any, dst: int, sync_op: bool = False) -> Task:
        """Send to process `dst`."""
        return wire.send(tensor.data, dst, self._group, sync_op)

    def recv(self, tensor: Any, src: int, sync_op: bool = False) -> Task:
        """Receive from process `src`, in place."""
        return self._begun(tensor, wire.receive(tensor.data, src, self._group, sync_op))
