"""`to_distributed`: a network, an optimizer and a loader of one process, for several."""

from __future__ import annotations

from typing import Any

from ...engine.errors import InvalidArgument
from ...io import DataLoader
from ...nn import Layer
from ...optimizer.optimizer import Optimizer
from ..arguments import check_kind
from .layers import ShardDataloader, shard_dataloader
from .plans import parallelize
from .process_mesh import ProcessMesh


class ToDistributedConfig:
    """input_spec, sequence_parallel: PaddlePaddle chooses a strategy by them; here they have no effect."""

    def __init__(self) -> None:
        self.input_spec: Any = None
        self.sequence_parallel = False


def to_distributed(
    model: Layer,
    optimizer: Optimizer,
    dataloader: DataLoader,
    device_num: int,
    node_num: int | None = 1,
    config: ToDistributedConfig | None = None,
) -> tuple[Layer, Optimizer | None, ShardDataloader]:
    """The network, the optimizer and the loader for `device_num` processes, with the steps of one process.

    The strategy is data parallelism: parameters are replicated, and each batch of the loader, which is the
    same in all processes, is cut along its first axis. PaddlePaddle also cuts the layers of decoders that it
    recognises, with 4 processes or more: use `parallelize` for that.
    Raises AssertionError for several nodes, as PaddlePaddle, and InvalidArgument for fewer than one process.
    """
    if node_num != 1:
        raise AssertionError(f"to_distributed: node_num: expected 1, got {node_num}")
    if not isinstance(device_num, int) or device_num < 1:
        raise InvalidArgument(f"device_num: expected the number of processes, got {device_num!r}")
    check_kind(model, Layer, "model")
    check_kind(optimizer, Optimizer, "optimizer")
    mesh = ProcessMesh(list(range(device_num)), dim_names=["dp"])
    model, stepped = parallelize(model, optimizer, mesh, {"dp_config": {"sharding_level": 0}})
    return model, stepped, shard_dataloader(dataloader, mesh, shard_dims="dp")
