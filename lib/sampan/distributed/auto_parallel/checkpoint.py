"""Checkpoints of distributed tensors by torch.distributed.checkpoint: each process writes and reads parts.

What was saved with some placements, or by some number of processes, is read into any others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from torch.distributed import checkpoint
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from ...engine import tape
from ...engine.errors import InvalidType
from ...engine.tensor import Tensor
from .sharded_weight import ShardedWeight, part

_pending: list[Any] = []  # saves that run in the background


def _buffers(nested: Any) -> Any:
    """Nested dictionaries with buffers in place of Tensors, also of each ShardedWeight."""
    if isinstance(nested, dict):
        return {key: _buffers(value) for key, value in nested.items()}
    if isinstance(nested, ShardedWeight):
        return part(nested)
    return nested.data if isinstance(nested, Tensor) else nested


def _folder(path: Any, unique_id: int | None) -> Path:
    return Path(path) if unique_id is None else Path(path) / str(unique_id)


def _alone() -> bool:
    return not torch.distributed.is_initialized()


@contextmanager
def _quiet() -> Iterator[None]:
    """torch warns that one process reads or writes alone, which is what was asked for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


def save_state_dict(
    state_dict: dict[str, Any],
    path: str,
    process_group: Any = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    async_save: bool = False,
) -> None:
    """Write a state, perhaps nested, to the folder `path`: the parts of all processes, each part once.

    state_dict: Tensors, distributed or not, or parts of them (`build_sharded_state_dict`).

    All processes call it. unique_id: write to the folder of this number in `path`. async_save: write in the
    background, from a copy; the next call and `wait_for_saves` wait for it.
    """
    if not isinstance(state_dict, dict):
        raise InvalidType(f"save_state_dict: state_dict: expected a dict, got {type(state_dict).__name__}")
    wait_for_saves()
    group = getattr(process_group, "process_group", process_group)
    settings = {"checkpoint_id": str(_folder(path, unique_id)), "process_group": group}
    if async_save:
        _pending.append(checkpoint.async_save(_buffers(state_dict), **settings))
    else:
        with _quiet():
            checkpoint.save(_buffers(state_dict), no_dist=_alone(), **settings)


def wait_for_saves() -> None:
    """Wait for saves in the background, and raise the error of one that failed."""
    while _pending:
        _pending.pop().result()


def load_state_dict(
    state_dict: dict[str, Any],
    path: str,
    process_group: Any = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    offload: bool = False,
) -> None:
    """Read a checkpoint into the Tensors of a state, in place, however they lie; other values are replaced.

    All processes call it. Raises an error for a name that the checkpoint does not have.
    """
    if not isinstance(state_dict, dict):
        raise InvalidType(f"load_state_dict: state_dict: expected a dict, got {type(state_dict).__name__}")
    wait_for_saves()
    group = getattr(process_group, "process_group", process_group)
    read = _buffers(state_dict)
    folder = str(_folder(path, unique_id))
    with _quiet():
        checkpoint.load(read, checkpoint_id=folder, process_group=group, no_dist=_alone())
    _taken(state_dict, read)


def _taken(state: dict[str, Any], read: dict[str, Any]) -> None:
    for key, value in state.items():
        if isinstance(value, dict):
            _taken(value, read[key])
        elif isinstance(value, Tensor | ShardedWeight):
            tensor = value if isinstance(value, Tensor) else value.local_tensor
            tape.written(tensor.data, counted=True)
        else:
            state[key] = read[key]


def load_merged_state_dict(
    path: str, prefix: str | None = None, unique_id: int | None = None, offload: bool = False
) -> dict[str, Any]:
    """The state in a checkpoint with whole, dense Tensors, by names with dots; each process reads for itself.

    prefix: only names that begin so. offload: is for GPUs; the Tensors are on the CPU.
    """
    folder = str(_folder(path, unique_id))
    known = checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata
    chosen = {name: entry for name, entry in known.items() if name.startswith(prefix or "")}
    read: dict[str, Any] = {
        name: torch.empty(entry.size, dtype=entry.properties.dtype)
        if isinstance(entry, TensorStorageMetadata)
        else None
        for name, entry in chosen.items()
    }
    with _quiet():
        checkpoint.load(read, checkpoint_id=folder, no_dist=True)
    return {name: Tensor(v) if isinstance(v, torch.Tensor) else v for name, v in read.items()}
