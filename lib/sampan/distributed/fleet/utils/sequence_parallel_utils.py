"""Sequence parallelism within tensor parallelism: between the layers that are cut each process has a part of
the time axis (Korthikanti et al. 2022, "Reducing activation recomputation in large transformer models").

Tensors are [time, batch, width]. Paddle's module `fleet.utils.sequence_parallel_utils`.
"""

from __future__ import annotations

from typing import Any

import torch

from ....engine.backward import no_grad
from ....engine.errors import InvalidArgument
from ....engine.tensor import Tensor
from ....nn import functional as F
from ....nn.layer import Layer
from ...arguments import check_kind
from ...differentiable import recorded
from ...group import Group
from ...wire import ReduceOp
from ...wire import all_gather as gather_buffers
from ...wire import all_reduce as reduce_buffer
from ...wire import reduce_scatter as reduce_scatter_buffers
from .. import topology
from ..mp_layers import ColumnParallelLinear, RowParallelLinear

__all__ = [
    "AllGatherOp",
    "ColumnSequenceParallelLinear",
    "GatherOp",
    "ReduceScatterOp",
    "RowSequenceParallelLinear",
    "ScatterOp",
    "all_gather",
    "is_sequence_parallel_parameter",
    "mark_as_sequence_parallel_parameter",
    "reduce_scatter",
    "register_sequence_parallel_allreduce_hooks",
    "scatter",
]


def _gathered(x, group):
    parts = x.new_empty((group.nranks, *x.shape))
    gather_buffers(list(parts), x, group)
    return parts.flatten(0, 1)


def _own(x, group):
    return x.chunk(group.nranks)[group.rank].clone()


def _summed(x, group):
    parts = x.chunk(group.nranks)
    value = torch.empty_like(parts[0])
    reduce_scatter_buffers(value, parts, ReduceOp.SUM, group)
    return value


_scatter = recorded(lambda g, group: _gather(g, group))(lambda x, group: _own(x, group))
_gather = recorded(lambda g, group: _scatter(g, group))(lambda x, group: _gathered(x, group))
_all_gather = recorded(lambda g, group: _reduce_scatter(g, group))(lambda x, group: _gathered(x, group))
_reduce_scatter = recorded(lambda g, group: _all_gather(g, group))(lambda x, group: _summed(x, group))


def _group(what: str) -> Group:
    return topology.current(what).get_model_parallel_group()


def _checked(what: str, x: Tensor, group: Group) -> None:
    if not x.ndim or x.shape[0] % group.nranks:
        length = x.shape[0] if x.ndim else 1
        raise AssertionError(
            f"{what}: Input sequence length {length} can't be divided exactly by sequence parallelism "
            f"{group.nranks}"
        )


class _Exchange:
    """`apply(x)` is the value, on the tape."""

    _run: Any = None
    _cuts = False

    @classmethod
    def apply(cls, x: Tensor) -> Tensor:
        """[time, ...] of each process gives the value of this one."""
        check_kind(x, Tensor, f"{cls.__name__}: input")
        group = _group(cls.__name__)
        if cls._cuts:
            _checked(cls.__name__, x, group)
        value: Tensor = x if group.nranks == 1 else cls._run(x, group)
        return value


class ScatterOp(_Exchange):
    """This process's part of a Tensor that all have; the gradients of the parts are put together."""

    _run, _cuts = staticmethod(_scatter), True


class GatherOp(_Exchange):
    """The parts of all processes, one after another; the gradient, which all have, is cut."""

    _run = staticmethod(_gather)


class AllGatherOp(_Exchange):
    """The parts of all processes; the gradient is this process's part of the sum of theirs."""

    _run = staticmethod(_all_gather)


class ReduceScatterOp(_Exchange):
    """This process's part of the sum over the processes; the gradients of the parts are put together."""

    _run, _cuts = staticmethod(_reduce_scatter), True


def _outside_tape(exchange: type[_Exchange], input: Tensor) -> Tensor:
    check_kind(input, Tensor, "input")
    return exchange.apply(input.detach())


def scatter(input: Tensor) -> Tensor:
    """This process's part of the first axis, outside the tape."""
    return _outside_tape(ScatterOp, input)


def all_gather(input: Tensor) -> Tensor:
    """The processes' Tensors one after another, outside the tape."""
    return _outside_tape(GatherOp, input)


def reduce_scatter(input: Tensor) -> Tensor:
    """This process's part of the sum, outside the tape."""
    return _outside_tape(ReduceScatterOp, input)


def mark_as_sequence_parallel_parameter(parameter: Any) -> None:
    """The parameter is used on parts of sequences: `register_sequence_parallel_allreduce_hooks` adds up its
    gradients."""
    check_kind(parameter, Tensor, "parameter")
    parameter.sequence_parallel = True


def is_sequence_parallel_parameter(parameter: Any) -> bool:
    """Whether it was marked."""
    return bool(getattr(parameter, "sequence_parallel", False))


def register_sequence_parallel_allreduce_hooks(
    model: Layer, accumulation_steps: int = 1, fuse_sequence_parallel_allreduce: bool = False
) -> None:
    """Add up the gradients of marked parameters over the group of tensor parallelism, at each
    `accumulation_steps`-th backward pass. fuse_sequence_parallel_allreduce: the values are the same."""
    check_kind(model, Layer, "model")
    check_kind(accumulation_steps, int, "accumulation_steps")
    if accumulation_steps <= 0:
        return
    group = _group("register_sequence_parallel_allreduce_hooks")
    if group.nranks == 1:
        return
    for parameter in model.parameters():
        if is_sequence_parallel_parameter(parameter) and not parameter.stop_gradient:
            _sum_after(parameter, group, accumulation_steps)


def _sum_after(parameter: Any, group: Group, steps: int) -> None:
    count = [0]

    def add_up(gradient: Tensor) -> Tensor | None:
        """Called before the gradient is added to that of the passes before."""
        count[0] += 1
        if count[0] % steps:
            return None
        before, value = parameter.grad, gradient.detach().clone()
        if before is not None:
            with no_grad():
                value += before
                before.zero_()
        reduce_buffer(value.data, ReduceOp.SUM, group)
        return value

    parameter.register_hook(add_up)


class ColumnSequenceParallelLinear(ColumnParallelLinear):
    """ColumnParallelLinear of x [time / processes, batch, in_features].

    It gives [time, batch, out_features / processes]. InvalidArgument for gather_output.
    """

    def __init__(self, in_features: int, out_features: int, *args: Any, **settings: Any) -> None:
        super().__init__(in_features, out_features, *args, **settings)
        if self.gather_output:
            raise InvalidArgument(
                "ColumnSequenceParallelLinear: gather_output: expected False, since the value is cut"
            )

    def forward(self, x: Tensor) -> Tensor:
        """x W + b for the whole time axis."""
        group = self.model_parallel_group
        whole = x if group.nranks == 1 else _all_gather(x, group)
        return F.linear(whole, self.weight, self.bias)


class RowSequenceParallelLinear(RowParallelLinear):
    """RowParallelLinear of x [time, batch, in_features / processes].

    It gives [time / processes, batch, out_features]. InvalidArgument without input_is_parallel. The bias is
    marked.
    """

    def __init__(self, in_features: int, out_features: int, *args: Any, **settings: Any) -> None:
        super().__init__(in_features, out_features, *args, **settings)
        if not self.input_is_parallel:
            raise InvalidArgument("RowSequenceParallelLinear: input_is_parallel: expected True, got False")
        if self.bias is not None:
            mark_as_sequence_parallel_parameter(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """This process's part of x W + b along the time axis."""
        group, value = self.model_parallel_group, F.linear(x, self.weight)
        if group.nranks > 1:
            _checked("RowSequenceParallelLinear", value, group)
            value = _reduce_scatter(value, group)
        return value if self.bias is None else value + self.bias
