"""`paddle.Model` in several processes, as in Paddle: each trains on its part of a data set, gradients are
means, and metrics are those of all processes.

`install` gives Model these methods: when processes are connected, and in programs of the launcher, where the
first Model connects them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from ..engine.tensor import Tensor
from ..hapi import feed
from ..hapi.model import Model
from ..hapi.run import Run
from ..io import DataLoader, DistributedBatchSampler
from ..names.hapi import _all_gather
from . import wire
from .collective import _get_default_group
from .data_parallel import DataParallel
from .environment import ParallelEnv, get_world_size, init_parallel_env, is_initialized
from .server_roles import SERVERS

_installed: list[bool] = []


def several() -> bool:
    """Whether several processes are connected."""
    return is_initialized() and get_world_size() > 1


def shares(model: Any) -> bool:
    """Whether a Model is trained by several processes. `alone` says that it is not: as that of an Engine,
    whose tensors lie over the processes."""
    return several() and not getattr(model, "alone", False)


def first_here() -> bool:
    """Whether this process prints and writes files for its machine."""
    return not several() or ParallelEnv().local_rank == 0


def install() -> None:
    """Give Model the methods for several processes, once."""
    if _installed:
        return
    _installed.append(True)
    feed.as_loader = _divided(feed.as_loader)
    changed: Any = Model
    for name, method in (
        ("__init__", _begun),
        ("_forward", _forward),
        ("_measure", _measure),
        ("_plain_loss", _plain_loss),
        ("_evaluate", _evaluate),
        ("_callbacks", _quiet_callbacks),
        ("_watched", _quiet_watched),
        ("save", _by_the_first),
    ):
        setattr(changed, name, method(getattr(changed, name)))
    run: Any = Run
    run.keep = _by_the_first(run.keep)


def _divided(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def as_loader(data: Any, batch_size: int, shuffle: bool, drop_last: bool, workers: int, name: str) -> Any:
        """As in one process, but a data set is divided among the processes; a loader is taken as it is."""
        is_set = hasattr(data, "__getitem__") and hasattr(data, "__len__")
        if not several() or not is_set or isinstance(data, str | dict | DataLoader):
            return usual(data, batch_size, shuffle, drop_last, workers, name)
        sampler = DistributedBatchSampler(data, batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(data, batch_sampler=sampler, num_workers=workers)

    return as_loader


def _begun(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def __init__(self: Any, *args: Any, **settings: Any) -> None:
        usual(self, *args, **settings)
        servers = os.environ.get(SERVERS)
        if ParallelEnv().nranks > 1 and not servers and not getattr(self, "alone", False):
            init_parallel_env()  # nothing where they are connected
            _parallel(self)

    return __init__


def _parallel(model: Any) -> Any:
    """The network as a DataParallel."""
    held = vars(model).get("_shared")
    if held is None:
        held = model._shared = DataParallel(model.network)
    return held


def _forward(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def forward(self: Any, *inputs: Any) -> Any:
        if not shares(self) or not self.network.training:
            return usual(self, *inputs)
        if self._precision is None:
            return _parallel(self)(*inputs)
        with self._precision.casting():
            return _parallel(self)(*inputs)

    return forward


def _measure(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def measure(self: Any, outputs: Any, labels: list[Any]) -> list[Any]:
        """In an evaluation the metrics see the batches of all processes, without what fills the last ones."""
        if not shares(self) or self.network.training or not self._metrics:
            return usual(self, outputs, labels)
        together = [_all_gather(part) for part in [*feed.as_list(outputs), *labels]]
        rows, left = together[0].shape[0], vars(self).get("_unseen")
        if left is not None:
            self._unseen = max(left - rows, 0)
            together = [part[: min(rows, left)] for part in together]
        count = len(together) - len(labels)
        return usual(self, together[:count], together[count:])

    return measure


def _plain_loss(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def loss(self: Any, outputs: Any, *labels: Any) -> Any:
        """In an evaluation the mean over the processes, so that all of them decide by the same one."""
        own = usual(self, outputs, *labels)
        if not shares(self) or self.network.training:
            return own
        value, group = own.data.clone(), _get_default_group()
        wire.all_reduce(value, wire.ReduceOp.SUM, group)
        return Tensor(value / group.nranks)

    return loss


def _evaluate(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def evaluate(self: Any, loader: Any, *args: Any) -> Any:
        data: Any = getattr(loader, "dataset", None)
        self._unseen = len(data) if hasattr(data, "__len__") else None
        return usual(self, loader, *args)

    return evaluate


def _quiet_callbacks(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def callbacks(self: Any, given: Any, log_freq: int, verbose: int, save_dir: Any, save_freq: int) -> Any:
        first = first_here()
        return usual(self, given, log_freq, verbose * first, save_dir if first else None, save_freq)

    return callbacks


def _quiet_watched(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def watched(self: Any, callbacks: Any, loader: Any, log_freq: int, verbose: int) -> Any:
        return usual(self, callbacks, loader, log_freq, verbose * first_here())

    return watched


def _by_the_first(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def write(self: Any, *args: Any, **settings: Any) -> None:
        """The first process of a machine writes, the others do nothing."""
        if first_here():
            usual(self, *args, **settings)

    return write
