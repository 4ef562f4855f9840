"""DataParallel: each process computes a part of the batch, and all take the same step.

The gradients of a step are the means over the processes, so they equal those of one process with the whole
batch where the loss is a mean and the parts are equally large.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from ..engine.backward import is_grad_enabled
from ..engine.operator import operator
from ..engine.tensor import InvalidArgument, Tensor
from ..nn.layer import Layer
from .arguments import check_kind
from .group import group_of

if TYPE_CHECKING:
    from .reducer import Reducer

__all__ = ["DataParallel"]


@operator(lambda g: g)
def _begun(token):
    """The token as it is. Its Node is the last of a walk: see `DataParallel._watched`."""
    return token.clone()


def _passed(g: Any, reducer: Reducer) -> Any:
    reducer.begin()
    return g


def _nothing(g: Any) -> Any:
    zero = torch.zeros(())
    return Tensor(zero) if isinstance(g, Tensor) else zero


@operator(_passed, _nothing, view=True)
def _output(x, token, reducer):
    """x. Its backward says so to the reducer, and also leads to the token."""
    return x.view_as(x)


class DataParallel(Layer):
    """A layer whose gradients are the means over all processes; with one process the layer unchanged.

    At the start the processes check that names, shapes and dtypes agree, and take the parameters and buffers
    of process 0. Then each backward through an output exchanges gradients while it runs. The module is
    called as the layer is, and its `state_dict` is the layer's, without a prefix.

    layers: the layer. strategy: is not used, as in Paddle. comm_buffer_size: megabytes of gradients that are
    sent as one message; last_comm_buffer_size: of the last message, whose time nothing hides.
    find_unused_parameters: allow parameters that the loss does not depend on; they contribute zeros, and keep
    the gradient that they have if no process uses them. Otherwise RuntimeError names them, in all processes.
    group: the processes; all unless given.
    Parameters with the attribute `no_sync` or `is_distributed` are left out, as in Paddle.
    A backward with `create_graph=True` also ends in means, but further derivatives are this process's own.
    """

    _left_out: tuple[str, ...] = (
        "no_sync",
        "is_distributed",
    )  # attributes of parameters whose gradients are not exchanged

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: int = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Any = None,
    ) -> None:
        check_kind(layers, Layer, "layers")
        super().__init__(layers.full_name() + "_data_parallel")
        group = None if group is None else group_of(group, "DataParallel: group")
        self._layers = layers
        self.find_unused_parameters, self.grad_need_sync, self.group = find_unused_parameters, True, group
        self.comm_buffer_size = int(comm_buffer_size * 2**20)
        self.last_comm_buffer_size = int(last_comm_buffer_size * 2**20)
        for name in ("state_dict", "set_state_dict", "set_dict", "load_dict"):
            object.__setattr__(self, name, getattr(layers, name))
        self._reducer: Reducer | None = None
        self._token = Tensor(torch.zeros(()), stop_gradient=False)
        if _processes(group) > 1:
            self._connect()

    def _connect(self) -> None:
        from . import replicas

        process_group = getattr(self.group, "torch_group", None)
        replicas.check(self._layers, process_group)
        replicas.broadcast(self._layers, process_group)
        named = [
            (name, parameter)
            for name, parameter in self._layers.named_parameters()
            if not any(getattr(parameter, mark, False) for mark in self._left_out)
        ]
        if all(parameter.stop_gradient for _, parameter in named):
            raise InvalidArgument("DataParallel: layers: expected parameters to train, got none")
        sizes = self.comm_buffer_size, self.last_comm_buffer_size
        self._reducer = self._reducer_of()(named, process_group, *sizes, self.find_unused_parameters)
        self._reducer.members = self.group
        self._token.register_post_accumulate_grad_hook(self._ended)

    @staticmethod
    def _reducer_of() -> type[Reducer]:
        """What exchanges gradients."""
        from .reducer import Reducer

        return Reducer

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """The layer's result. Shapes are those of the layer."""
        if self._reducer is None or not is_grad_enabled():
            return self._layers(*inputs, **settings)
        self._reducer.forward(self.training and self.grad_need_sync)
        outputs = self._layers(*inputs, **settings)
        return self._watched(outputs, self._reducer) if self.grad_need_sync else outputs

    def _watched(self, outputs: Any, reducer: Reducer) -> Any:
        """The outputs, whose backward is exchanged. It calls `_ended` when it has walked everything else.

        A walk takes the newest Node first. The token's Node is made the oldest of all, so its turn comes
        last, also after Nodes that were made before this call.
        """
        token: Any = _begun(self._token)
        token.node.sequence = -1

        def watched(tensor: Tensor) -> Any:
            return tensor if tensor.stop_gradient else _output(tensor, token, reducer)

        return mapped(watched, outputs)

    def _ended(self, token: Tensor) -> None:
        token._grad = None
        if self._reducer is not None:
            self._reducer.finish()

    def compress_with(self, exchange: Callable[[Any, Any], Any]) -> None:
        """Send buckets by one of `compression`: HalfPrecision, TopK or LowRank. With one process it has no
        effect. Rows of tables follow HalfPrecision's dtype."""
        if self._reducer is not None:
            self._reducer.exchange = exchange
            self._reducer.half = getattr(exchange, "dtype", None)
            self._reducer.watch()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients are added up in each process alone. The first backward of a forward outside
        exchanges them too."""
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def scale_loss(self, loss: Tensor) -> Tensor:
        """The loss unchanged: programs of Paddle 1 call it."""
        return loss

    def apply_collective_grads(self) -> None:
        """Does nothing, backward has exchanged the gradients: programs of Paddle 1 call it."""


def _processes(group: Any) -> int:
    """How many there are in the group. AssertionError where the environment names several, and they are not
    connected."""
    if group is not None:
        return int(group.nranks)
    c10d = torch.distributed
    if c10d.is_available() and c10d.is_initialized():
        return c10d.get_world_size()
    from .parallel import ParallelEnv

    if (count := ParallelEnv().world_size) > 1:
        raise AssertionError(
            f"DataParallel: the environment names {count} processes: call init_parallel_env() first"
        )
    return 1


def mapped(function: Callable[[Tensor], Any], value: Any) -> Any:
    """`value` with each Tensor in its lists, tuples, dictionaries and data classes replaced by
    `function(tensor)`."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(function, part) for part in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(function, part) for part in value)
    if isinstance(value, dict):
        return type(value)({key: mapped(function, part) for key, part in value.items()})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {
            f.name: mapped(function, getattr(value, f.name)) for f in dataclasses.fields(value) if f.init
        }
        return dataclasses.replace(value, **parts)
    return value
