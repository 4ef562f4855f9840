"""Parts of parameters with their place in the whole.

`save_state_dict` writes them, of networks whose layers are cut by hand, as those of `fleet.meta_parallel`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
)
from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ..arguments import check_kind
from ..group import Group, group_of

__all__ = [
    "ShardedStateDict",
    "ShardedWeight",
    "build_sharded_state_dict",
    "create_sharded_weight_with_new_local",
    "make_replicated_sharded_weight",
    "make_tp_sharded_weight_for_checkpoint",
    "shard_weight",
]


class ShardedWeight:
    """The part of a parameter that this process has.

    key: the parameter's name. local_tensor, local_shape: the part. global_shape: the whole. global_offset:
    where the part begins along each axis. is_flattened, flattened_range: are kept, and refused by
    `save_state_dict`.
    """

    def __init__(
        self,
        key: str,
        local_tensor: Tensor,
        local_shape: tuple[int, ...],
        global_shape: tuple[int, ...],
        global_offset: tuple[int, ...],
        is_flattened: bool = False,
        flattened_range: slice | None = None,
    ) -> None:
        check_kind(local_tensor, Tensor, "local_tensor")
        self.key = key
        if local_tensor.is_dist():
            whole: Any = local_tensor  # its methods are those of `tensor`
            self.local_tensor: Any = whole._local_value()
            self.local_tensor.name = local_tensor.name
            self.local_shape = tuple(self.local_tensor.shape)
        else:
            self.local_tensor, self.local_shape = local_tensor, tuple(local_shape)
        self.global_shape, self.global_offset = global_shape, global_offset
        self.is_flattened, self.flattened_range = is_flattened, flattened_range

    def __str__(self) -> str:
        return (
            f"ShardedWeight(\n  key={self.key},\n"
            f"  local_tensor={type(self.local_tensor).__name__}(shape={[*self.local_tensor.shape]}),\n"
            f"  local_shape={self.local_shape},\n  global_shape={self.global_shape},\n"
            f"  global_offset={self.global_offset},\n  flattened_range={self.flattened_range}\n)"
        )


ShardedStateDict = dict[str, ShardedWeight]


def shard_weight(key: str, weight: Tensor, axis: int, group: Group) -> ShardedWeight:
    """The place of `weight`, which is this process's part along `axis` of a parameter over the group.

    All parts have the same shape. Raises ValueError for an axis that the weight does not have.
    """
    check_kind(weight, Tensor, "weight")
    group = group_of(group, "group")
    check_kind(axis, int, "axis")
    local = tuple(int(length) for length in weight.shape)
    if not 0 <= axis < len(local):
        raise InvalidArgument(f"Shard axis {axis} is invalid for tensor with shape {[*local]}")
    whole, offset = list(local), [0] * len(local)
    whole[axis] *= group.nranks
    if group.nranks > 1:
        offset[axis] = group.rank * local[axis]
    return ShardedWeight(key, weight, local, tuple(whole), tuple(offset))


def make_tp_sharded_weight_for_checkpoint(
    key: str, tensor: Tensor, tensor_parallel_axis: int = 0
) -> ShardedWeight:
    """The place of a part that tensor parallelism has cut along an axis."""
    from ..fleet import fleet

    check_kind(tensor, Tensor, "tensor")
    group = fleet.get_hybrid_communicate_group().get_model_parallel_group()
    return shard_weight(key, tensor, tensor_parallel_axis, group)


def make_replicated_sharded_weight(key: str, tensor: Tensor) -> ShardedWeight:
    """The place of a Tensor that each process has whole."""
    check_kind(tensor, Tensor, "tensor")
    shape = tuple(int(length) for length in tensor.shape)
    return ShardedWeight(key, tensor, shape, shape, (0,) * len(shape))


def create_sharded_weight_with_new_local(
    new_key: str, new_local_tensor: Tensor, reference_tensor: ShardedWeight
) -> ShardedWeight:
    """Another Tensor in the place of `reference_tensor`, such as its moment.

    Raises ValueError for another shape.
    """
    check_kind(reference_tensor, ShardedWeight, "reference_tensor")
    check_kind(new_local_tensor, Tensor, "new_local_tensor")
    place = reference_tensor.local_shape, reference_tensor.global_shape, reference_tensor.global_offset
    if tuple(new_local_tensor.shape) != place[0]:
        raise InvalidArgument(
            f"new_local_tensor: expected the shape {[*place[0]]} of reference_tensor, got "
            f"{[*new_local_tensor.shape]}"
        )
    return ShardedWeight(new_key, new_local_tensor, *place)


def build_sharded_state_dict(
    state_dict: dict[str, Tensor], shard_rules: dict[str, int] | None = None, prefix: str = ""
) -> dict[str, ShardedWeight]:
    """The state of a layer with the place of each part.

    shard_rules: the axis of each Tensor that tensor parallelism cuts, by name; the others are whole in each
    process. prefix: is put before each name.
    """
    check_kind(state_dict, dict, "state_dict")
    found, rules = {}, shard_rules or {}
    for key, tensor in state_dict.items():
        name = f"{prefix}{key}"
        check_kind(tensor, Tensor, f"state_dict: {key!r}")
        if key in rules:
            found[name] = make_tp_sharded_weight_for_checkpoint(name, tensor, rules[key])
        else:
            found[name] = make_replicated_sharded_weight(name, tensor)
    return found


class Part(torch.Tensor):
    """The memory of a ShardedWeight as torch.distributed.checkpoint takes it: its protocol of
    `_checkpointable`, which it asks only of tensors."""

    place: ChunkStorageMetadata
    whole: torch.Size
    buffer: torch.Tensor

    def size(self) -> torch.Size:  # type: ignore[override]  # without Tensor's argument dim
        """The shape of the whole, which is compared with that in the checkpoint."""
        return self.whole

    def __create_write_items__(self, fqn: str, object: Any) -> list[WriteItem]:
        data = TensorWriteData(self.place, TensorProperties.create_from_tensor(self.buffer), self.whole)
        return [WriteItem(MetadataIndex(fqn, self.place.offsets), WriteItemType.SHARD, tensor_data=data)]

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        return [self.place]

    def __get_tensor_shard__(self, index: MetadataIndex) -> torch.Tensor:
        return self.buffer


def part(weight: ShardedWeight, copied: bool = False) -> Part:
    """What `save_state_dict` and `load_state_dict` give to torch for a ShardedWeight, or for a copy of it."""
    if weight.is_flattened:
        raise InvalidArgument(
            f"state_dict: {weight.key!r} is a flattened part; give it in the shape of the parameter"
        )
    buffer = weight.local_tensor.data.detach().clone() if copied else weight.local_tensor.data
    if tuple(buffer.shape) != weight.local_shape:
        raise InvalidArgument(
            f"state_dict: {weight.key!r}: expected a local_tensor of shape {[*weight.local_shape]}, got "
            f"{[*buffer.shape]}"
        )
    places = (weight.global_offset, weight.local_shape, weight.global_shape)
    if {len(place) for place in places} != {buffer.ndim} or any(
        not 0 <= begin <= begin + length <= whole for begin, length, whole in zip(*places, strict=True)
    ):
        raise InvalidArgument(
            f"state_dict: {weight.key!r}: expected a part inside the whole, got shape {[*places[1]]} at "
            f"{[*places[0]]} of {[*places[2]]}"
        )
    made = buffer.as_subclass(Part)
    made.buffer, made.whole = buffer, torch.Size(weight.global_shape)
    made.place = ChunkStorageMetadata(torch.Size(weight.global_offset), torch.Size(weight.local_shape))
    return made
