"""Checkpoints of distributed tensors by torch.distributed.checkpoint: each process writes and reads parts.

What was saved with some placements, or by some number of processes, is read into any others.
"""

from __future__ import annotations

import atexit
import copy
import secrets
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from torch.distributed import checkpoint
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.planner import SavePlan
from torch.distributed.checkpoint.storage import WriteResult

from ...engine import tape
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from .sharded_weight import ShardedWeight, part

_pending: list[Future[None]] = []  # saves that run in the background
_background = ThreadPoolExecutor(1, thread_name_prefix="save_state_dict")
# A group of the program: the group of saves in the background, see `_group_apart`.
_apart: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _buffers(nested: Any, copied: bool = False) -> Any:
    """Nested dictionaries with buffers in place of Tensors, also of each ShardedWeight; or with copies."""
    if isinstance(nested, dict):
        return {key: _buffers(value, copied) for key, value in nested.items()}
    if isinstance(nested, ShardedWeight):
        return part(nested, copied)
    if isinstance(nested, Tensor):
        return nested.data.detach().clone() if copied else nested.data
    return copy.deepcopy(nested) if copied else nested


def _group_apart(group: Any) -> Any:
    """A group of the same processes over which a save in the background sends its messages: in that of the
    program they would be mixed up with those of the training."""
    known = group or torch.distributed.group.WORLD
    if known not in _apart:
        ranks = torch.distributed.get_process_group_ranks(known)
        # One of some processes is named after the number of groups that each member is in: it must be equal.
        some = len(ranks) < torch.distributed.get_world_size()
        _apart[known] = torch.distributed.new_group(ranks, backend="gloo", use_local_synchronization=some)
    return _apart[known]


def _folder(path: Any, unique_id: int | None) -> Path:
    return Path(path) if unique_id is None else Path(path) / str(unique_id)


def _alone() -> bool:
    return not torch.distributed.is_initialized()


@contextmanager
def _by_torch(name: str, alone: bool) -> Iterator[None]:
    """Run torch's save or load for the function `name`. Its error is InvalidArgument with each rank's reason.

    alone: one process reads or writes, which torch warns of.
    """
    with warnings.catch_warnings() if alone else nullcontext():  # it is not for several threads
        if alone:
            warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        try:
            yield
        except checkpoint.CheckpointException as error:
            ranks: dict[str, list[str]] = {}  # the same reason is named once
            for rank, (reason, _) in error.failures.items():
                ranks.setdefault(f"{type(reason).__name__}: {reason}", []).append(str(rank))
            told = "; ".join(f"{reason} (rank {', '.join(of)})" for reason, of in ranks.items())
            raise InvalidArgument(f"{name}: state_dict: {told}") from error


class _Replacing(FileSystem):
    """Lets a new `.metadata` take the place of the old one in one step, without removing that first."""

    def rm_file(self, path: Any) -> None:
        pass  # `rename` replaces


class _Writer(checkpoint.FileSystemWriter):
    """Writes under new names, which `.metadata` lists: until that is replaced, at the end, the folder has the
    checkpoint that it had."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fs = _Replacing()

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Without torch's warning that the files are overwritten."""
        self.fs.mkdir(self.path)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """One process chooses the names for all."""
        kinds = [plan.storage_data for plan in super().prepare_global_plan(plans)]
        token = secrets.token_hex(4)
        names = [replace(kind, prefix=f"{token}{kind.prefix}") for kind in kinds]
        return [replace(plan, storage_data=name) for plan, name in zip(plans, names, strict=True)]

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Remove the files of earlier saves, finished or not, after the new checkpoint is valid."""
        super().finish(metadata, results)
        own = {place.relative_path for place in metadata.storage_data.values()}
        for file in Path(self.path).glob("*.distcp"):
            if file.name not in own:
                file.unlink()


def _present(name: str, folder: Path) -> str:
    if not (folder / ".metadata").is_file():
        raise FileNotFoundError(f"{name}: path: no checkpoint in {folder}")
    return str(folder)


def save_state_dict(
    state_dict: dict[str, Any],
    path: str,
    process_group: Any = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    async_save: bool = False,
) -> None:
    """Write a state, perhaps nested, to the folder `path`: the parts of all processes, each part once.

    A checkpoint in that folder is replaced in one step at the end; a save that fails leaves it as it was.

    state_dict: Tensors, distributed or not, or parts of them (`build_sharded_state_dict`).

    All processes call it. unique_id: write to the folder of this number in `path`. async_save: write in the
    background, from a copy; the next call and `wait_for_saves` wait for it.
    """
    if not isinstance(state_dict, dict):
        raise InvalidType(f"save_state_dict: state_dict: expected a dict, got {type(state_dict).__name__}")
    wait_for_saves()
    group = getattr(process_group, "torch_group", process_group)
    writer = _Writer(_folder(path, unique_id))
    if not async_save:
        _save(_buffers(state_dict), writer, group)
    else:
        group = None if _alone() else _group_apart(group)
        _pending.append(_background.submit(_save, _buffers(state_dict, copied=True), writer, group))


def _save(buffers: dict[str, Any], writer: _Writer, group: Any) -> None:
    with _by_torch("save_state_dict", _alone()):
        checkpoint.save(buffers, storage_writer=writer, process_group=group, no_dist=_alone())


@atexit.register  # where an error would be seen at the end
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
    group = getattr(process_group, "torch_group", process_group)
    read = _buffers(state_dict)
    folder = _present("load_state_dict", _folder(path, unique_id))
    with _by_torch("load_state_dict", _alone()):
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
    folder = _present("load_merged_state_dict", _folder(path, unique_id))
    known = checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata
    chosen = {name: entry for name, entry in known.items() if name.startswith(prefix or "")}
    read: dict[str, Any] = {
        name: torch.empty(entry.size, dtype=entry.properties.dtype)
        if isinstance(entry, TensorStorageMetadata)
        else None
        for name, entry in chosen.items()
    }
    with _by_torch("load_merged_state_dict", True):
        checkpoint.load(read, checkpoint_id=folder, no_dist=True)
    return {name: Tensor(v) if isinstance(v, torch.Tensor) else v for name, v in read.items()}
