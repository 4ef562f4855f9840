"""Placements: how a tensor lies on one axis of a mesh."""

from __future__ import annotations

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
