"""Placements: how a tensor lies on one axis of a mesh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from torch.distributed import tensor as torch_tensor

from ...engine.errors import InvalidArgument, InvalidType
from .process_mesh import ProcessMesh


class ReduceType(IntEnum):
    """How the parts of a Partial tensor combine."""

    kRedSum, kRedMax, kRedMin, kRedProd, kRedAvg, kRedAny, kRedAll = range(7)

    def __str__(self) -> str:
        return f"ReduceType.{self.name}"


# torch's names. It has none for kRedAny and kRedAll.
_TORCH = {0: "sum", 1: "max", 2: "min", 3: "product", 4: "avg"}
_SHOWN = ("SUM", "MAX", "MIN", "PROD", "AVG", "ANY", "ALL")


class Placement:
    """How a tensor lies on one axis of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut along an axis, along `dim` where that is given."""
        return False

    def is_replicated(self) -> bool:
        """Whether each process has all of it."""
        return False

    def is_partial(self) -> bool:
        """Whether each process has a term of it."""
        return False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *vars(self).values()))


class Shard(Placement):
    """Cut along axis `dim` of the tensor: the first processes get one more where it does not divide."""

    def __init__(self, dim: int) -> None:
        if not isinstance(dim, int):
            raise InvalidType(f"Shard: dim: expected an int, got {type(dim).__name__}")
        self.dim = dim

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim

    def get_dim(self) -> int:
        """The axis of the tensor."""
        return self.dim

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


class Replicate(Placement):
    """Each process has all of the tensor."""

    def is_replicated(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "Replicate()"


class Partial(Placement):
    """Each process has a term: the tensor is their sum, or what reduce_type says."""

    def __init__(self, reduce_type: ReduceType = ReduceType.kRedSum) -> None:
        self._reduce_type = ReduceType(reduce_type)

    def is_partial(self) -> bool:
        return True

    def reduce_type(self) -> ReduceType:
        """How the terms combine."""
        return self._reduce_type

    def __repr__(self) -> str:
        return f"Partial(reduce_type={_SHOWN[self._reduce_type]})"


def to_torch(name: str, placements: Sequence[Placement], mesh: ProcessMesh, ndim: int) -> tuple[Any, ...]:
    """torch's placements for a tensor of `ndim` axes; axes of the mesh without one replicate.

    Raises InvalidArgument for too many of them and for an axis that the tensor does not have.
    """
    if not isinstance(placements, list | tuple):
        raise InvalidType(f"{name}: placements: expected a list, got {type(placements).__name__}")
    if any(not isinstance(placement, Replicate) for placement in placements[mesh.ndim :]):
        raise InvalidArgument(
            f"{name}: placements: expected {mesh.ndim}, one for each axis of the mesh, got {len(placements)}"
        )
    placements = placements[: mesh.ndim]  # Replicate for axes that the mesh does not have says nothing
    found: list[Any] = []
    for placement in placements:
        if isinstance(placement, Shard):
            if not -ndim <= placement.dim < ndim:
                raise InvalidArgument(
                    f"{name}: placements: {placement} of a tensor with {ndim} axes; "
                    f"expected -{ndim} to {ndim - 1}"
                )
            found.append(torch_tensor.Shard(placement.dim % ndim))
        elif isinstance(placement, Partial):
            if placement.reduce_type() not in _TORCH:
                raise InvalidArgument(f"{name}: placements: {placement} is not supported; use MAX or MIN")
            found.append(torch_tensor.Partial(_TORCH[placement.reduce_type()]))
        elif isinstance(placement, Replicate):
            found.append(torch_tensor.Replicate())
        else:
            raise InvalidType(
                f"{name}: placements: expected Shard, Replicate or Partial, got {type(placement).__name__}"
            )
    return (*found, *[torch_tensor.Replicate()] * (mesh.ndim - len(found)))


def from_torch(placements: Sequence[Any]) -> list[Placement]:
    """Paddle's placements for torch's."""
    return [_one(placement) for placement in placements]


def _one(placement: Any) -> Placement:
    if placement.is_shard():
        return Shard(placement.dim)
    if placement.is_replicate():
        return Replicate()
    kinds = {name: kind for kind, name in _TORCH.items()}
    return Partial(ReduceType(kinds[placement.reduce_op]))


# --- axes of a tensor and axes of a mesh, under the names of Paddle's module `placement_type` ---


def to_placements(
    dim_map: Sequence[int], mesh: ProcessMesh, partial_idx: Sequence[int] = ()
) -> list[Placement]:
    """The placements of a tensor whose axis i is cut along axis `dim_map[i]` of the mesh, -1 where it is not.

    partial_idx: axes of the mesh whose processes have terms of it. InvalidArgument for an axis of the mesh
    that is named twice.
    """
    found: list[Placement] = [Replicate() for _ in mesh.shape]
    named: list[tuple[int, Placement]] = [(axis, Partial()) for axis in partial_idx]
    named += [(axis, Shard(dim)) for dim, axis in enumerate(dim_map) if axis >= 0]
    for axis, placement in named:
        if not found[axis].is_replicated():
            raise InvalidArgument(
                f"to_placements: axis {axis} of the mesh: expected one placement, got {found[axis]} and "
                f"{placement}"
            )
        found[axis] = placement
    return found


def to_dim_map(placements: Sequence[Placement], tensor_dims: int) -> tuple[list[int], dict[int, ReduceType]]:
    """For each axis of a tensor the axis of the mesh along which it is cut, -1 where it is not; the axes of
    the mesh with terms, and how these combine."""
    cut = {p.dim: axis for axis, p in enumerate(placements) if isinstance(p, Shard)}
    terms = {axis: p.reduce_type() for axis, p in enumerate(placements) if isinstance(p, Partial)}
    return [cut.get(dim, -1) for dim in range(tensor_dims)], terms


def get_shard_spec(mesh: ProcessMesh, placements: Sequence[Placement], tensor_dims: int) -> list[str | None]:
    """`to_dim_map` with the names of the mesh's axes, None where an axis is not cut."""
    return [None if axis < 0 else mesh.dim_names[axis] for axis in to_dim_map(placements, tensor_dims)[0]]


def check_placements_equal(this: list[Placement], that: list[Placement]) -> bool:
    """Whether they say the same; axes that one of them leaves out replicate."""
    if not (isinstance(this, list) and isinstance(that, list)):
        raise InvalidType(f"check_placements_equal: expected two lists, got {this!r} and {that!r}")
    pairs = itertools.zip_longest(this, that, fillvalue=Replicate())
    return all(one == other for one, other in pairs)
