"""paddle.distributed.stream: collectives with the choice of the CUDA stream, and with one tensor for a list.

use_calc_stream: on a GPU, run in the order of the computations; then sync_op must be True, and nothing needs
to be waited for. A CPU has no streams.
"""

from collections.abc import Sequence
from typing import Any

from ..engine.tensor import Tensor
from . import collective, point_to_point
from .collective import ReduceOp, _get_default_group, check_tensors
from .group import Group
from .wire import Task

__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]


__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are this one


def _check_stream(sync_op: bool, use_calc_stream: bool) -> None:
    if use_calc_stream and not sync_op:
        raise RuntimeError("use_calc_stream can only be true in sync op behavior.")


def _parts(what: str, tensor: Any, group: Group | None) -> Any:
    """The list of tensors that one Tensor stands for: views of it along its first axis, one for each process;
    a list as it is."""
    if not isinstance(tensor, Tensor):
        return tensor
    count = (_get_default_group() if group is None else group).nranks
    rows = tensor.data.shape[0] if tensor.data.dim() else 0
    if rows % count or not rows:
        raise RuntimeError(
            f"{what}: {tensor._brief()} cannot be split into {count} equal parts along its first axis"
        )
    return [Tensor(piece) for piece in tensor.data.split(rows // count)]


def all_reduce(
    tensor: Tensor,
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.all_reduce`."""
    _check_stream(sync_op, use_calc_stream)
    return collective.all_reduce(tensor, op, group, sync_op)


def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.reduce`."""
    _check_stream(sync_op, use_calc_stream)
    return collective.reduce(tensor, dst, op, group, sync_op)


def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Task | None:
    """`paddle.distributed.broadcast`."""
    _check_stream(sync_op, use_calc_stream)
    return collective.broadcast(tensor, src, group, sync_op)


def all_gather(
    tensor_or_tensor_list: Tensor | list[Tensor],
    tensor: Tensor,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.all_gather`, into a list or one tensor with the parts along its first axis."""
    _check_stream(sync_op, use_calc_stream)
    outs = _parts("all_gather", tensor_or_tensor_list, group)
    return collective.all_gather(outs, tensor, group, sync_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.gather`."""
    _check_stream(sync_op, use_calc_stream)
    return collective.gather(tensor, gather_list, dst, group, sync_op)


def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.scatter`, of a list or one tensor with the parts along its first axis."""
    _check_stream(sync_op, use_calc_stream)
    parts = _parts("scatter", tensor_or_tensor_list, group)
    return collective.scatter(tensor, parts, src, group, sync_op)


def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor],
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.reduce_scatter`, of a list or one tensor with the parts along its first axis."""
    _check_stream(sync_op, use_calc_stream)
    parts = _parts("reduce_scatter", tensor_or_tensor_list, group)
    return collective.reduce_scatter(tensor, parts, op, group, sync_op)


_reduce_scatter_base = reduce_scatter  # Paddle's name for that of one tensor


def alltoall(
    out_tensor_or_tensor_list: Tensor | list[Tensor],
    in_tensor_or_tensor_list: Tensor | Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.alltoall`, of lists or of tensors with the parts along their first axis."""
    _check_stream(sync_op, use_calc_stream)
    outs = _parts("alltoall", out_tensor_or_tensor_list, group)
    parts = _parts("alltoall", in_tensor_or_tensor_list, group)
    return collective.alltoall(outs, parts, group, sync_op)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    out_split_sizes: Sequence[int] | None = None,
    in_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.alltoall_single`; the sizes of the output are before those of the input."""
    _check_stream(sync_op, use_calc_stream)
    return collective.alltoall_single(out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op)


def send(
    tensor: Tensor,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.send`."""
    _check_stream(sync_op, use_calc_stream)
    check_tensors("send", tensor=tensor)
    return point_to_point.send(tensor, dst, group, sync_op)


def recv(
    tensor: Tensor,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """`paddle.distributed.recv`."""
    _check_stream(sync_op, use_calc_stream)
    check_tensors("recv", tensor=tensor)
    return point_to_point.recv(tensor, src, group, sync_op)
