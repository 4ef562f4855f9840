"""Names of paddle.distributed that are for static programs or for GPUs: each says at its call what to use."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["create_nccl_config", "enable_auto_dp", "in_auto_parallel_align_mode", "io", "split"]


def create_nccl_config(nccl_config: dict[str, Any] | None = None) -> None:
    """None, which `new_group` takes, as in PaddlePaddle where the backend is not NCCL."""


def split(*args: Any, **settings: Any) -> NoReturn:
    """ValueError, as in PaddlePaddle with dynamic graphs."""
    raise ValueError(
        "paddle.distributed.split cannot be used in dynamic graph mode, please use VocabParallelEmbedding, "
        "RowParallelLinear or ColumnParallelLinear of fleet.meta_parallel instead."
    )


def in_auto_parallel_align_mode() -> bool:
    """False: there is one way of adding up gradients."""
    return False


def enable_auto_dp() -> NoReturn:
    """NotImplementedError."""
    raise NotImplementedError(
        "enable_auto_dp: distributed tensors have one global shape; use shard_dataloader(shard_dims=...), "
        "with is_dataset_splitted=True where each process has its own samples, or paddle.DataParallel where "
        "the shapes of batches differ"
    )


def wait_server_ready(endpoints: Any) -> None:
    """Nothing, as in PaddlePaddle 3.3; `fleet.init_worker` waits for the servers."""


def _static(name: str, instead: str) -> Any:
    def refused(*args: Any, **settings: Any) -> NoReturn:
        raise NotImplementedError(
            f"paddle.distributed.io.{name}: is for static programs over processes; use {instead}"
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "NotImplementedError."
    return refused


io: Any = ModuleType(f"{__package__}.io", "Paddle's module of files of static programs over processes.")
io.is_persistable = lambda var: bool(getattr(var, "persistable", False))
io.save_persistables = _static("save_persistables", "paddle.save of state_dict(), or save_state_dict")
io.load_persistables = _static("load_persistables", "set_state_dict of paddle.load, or load_state_dict")
io.load_inference_model_distributed = _static(
    "load_inference_model_distributed", "paddle.static.load_inference_model"
)
sys.modules[io.__name__] = io
