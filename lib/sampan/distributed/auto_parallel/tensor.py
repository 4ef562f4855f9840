"""What distributed tensors add to Tensor: placements, the local part, and values of the whole.

What reads values (`numpy`, `item`, printing and the like) reads those of the whole tensor, so all processes
of its mesh must call it together, as in Paddle. Added when a program makes its first distributed tensor;
others keep the Tensor as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ...dtype import name_of
from ...engine import printing, tape
from ...engine.errors import InvalidArgument, with_name
from ...engine.tensor import UNKNOWN_TO_NUMPY, Tensor
from .placements import Placement, from_torch
from .process_mesh import ProcessMesh, mesh_of
from .transfer import DTensor, at_first_use, is_outside, local_part, placed, replicated, whole

# Methods that read the values.
READING = (
    "__array__", "__bool__", "__complex__", "__dlpack__", "__float__", "__format__", "__index__", "__int__",
    "__reduce__", "item", "numpy", "tolist",
)  # fmt: skip  # a list of names


def _of_whole(name: str) -> Callable[..., Any]:
    usual = getattr(Tensor, name)

    @functools.wraps(usual)
    def method(self: Tensor, *args: Any, **settings: Any) -> Any:
        if name == "__format__" and isinstance(self.data, DTensor) and is_outside(self.data.device_mesh):
            return repr(self)
        return usual(whole(self), *args, **settings)

    return with_name(name, method)  # which errors begin with


def _process_mesh(self: Tensor) -> ProcessMesh | None:
    """The mesh of a distributed tensor, None for any other."""
    return mesh_of(self.data.device_mesh) if isinstance(self.data, DTensor) else None


def _placements(self: Tensor) -> list[Placement] | None:
    """How a distributed tensor lies on each axis of its mesh, None for any other."""
    return from_torch(self.data.placements) if isinstance(self.data, DTensor) else None


def _local_shape(self: Tensor) -> list[int] | None:
    """The lengths of the axes of the part of this process, None where the tensor has no parts."""
    return list(local_part(self.data).shape) if isinstance(self.data, DTensor) else None


def _local_value(self: Tensor) -> Tensor | None:
    """The part of this process, which shares its memory, outside the tape; None where there are no parts."""
    if not isinstance(self.data, DTensor):
        return None
    return Tensor(local_part(self.data), self.stop_gradient)


def _is_dist(self: Tensor) -> bool:
    """Whether the tensor has parts in several processes."""
    return isinstance(self.data, DTensor)


def _num_shard(self: Tensor) -> int | None:
    """Into how many parts the tensor is cut, None where it has none."""
    if not isinstance(self.data, DTensor):
        return None
    count = 1
    for size, placement in zip(self.data.device_mesh.shape, self.data.placements, strict=True):
        count *= size if placement.is_shard() else 1
    return count


_plain_repr, _plain_set = Tensor.__repr__, Tensor.set_value


def _repr(self: Tensor) -> str:
    if not isinstance(self.data, DTensor):
        return _plain_repr(self)
    if is_outside(self.data.device_mesh):
        body = "on other processes"
    else:
        data = whole(self).data
        shown = data.float() if data.dtype in UNKNOWN_TO_NUMPY else data
        body = printing.layout(shown.cpu().resolve_conj().resolve_neg().numpy(), 7)
    return (
        f"Tensor(shape={list(self.shape)}, dtype={name_of(self.dtype)}, place={self.place}, "
        f"stop_gradient={self.stop_gradient}, process_mesh={mesh_of(self.data.device_mesh).described()}, "
        f"placements={from_torch(self.data.placements)}, GlobalDenseTensor=\n       {body})"
    )


def _set_value(self: Tensor, value: Any) -> None:
    """`Tensor.set_value`: each process takes its part of the value, which may be distributed."""
    if not isinstance(self.data, DTensor):
        _plain_set(self, whole(value) if isinstance(value, Tensor) else value)
        return
    given = value.data if isinstance(value, Tensor) else Tensor(value).data
    if given.shape != self.data.shape:
        raise InvalidArgument(f"set_value: expected shape {[*self.shape]}, got {list(given.shape)}")
    mesh = self.data.device_mesh
    part = placed(replicated(given, mesh), self.data.placements)
    local_part(self.data).copy_(local_part(part))
    tape.written(self.data, counted=True)


def _buffer_reads(name: str) -> Callable[..., Any]:
    usual = getattr(torch.Tensor, name)

    @functools.wraps(usual)
    def method(self: DTensor, *args: Any, **settings: Any) -> Any:
        return usual(whole(Tensor(self)).data, *args, **settings)

    return method


def _extend_buffers() -> None:
    """Let DTensor answer what code reads from a buffer: values of the whole tensor, memory of the part.

    torch's own refuses (`numpy`, the address) or gives the value of the part alone (`item`, `bool` of a sum
    of which each process has a term). Code that decides by it would decide differently in each process.
    """
    for name in ("__bool__", "__float__", "__index__", "__int__", "item", "numpy", "tolist"):
        setattr(DTensor, name, _buffer_reads(name))
    for name in ("data_ptr", "untyped_storage"):
        setattr(DTensor, name, _of_part(name))


def _of_part(name: str) -> Callable[[DTensor], Any]:
    return lambda buffer: getattr(local_part(buffer), name)()


def install() -> None:
    """Give Tensor these methods."""
    _extend_buffers()
    for name in READING:
        setattr(Tensor, name, _of_whole(name))
    facts: dict[str, Callable[[Tensor], Any]] = {
        "process_mesh": _process_mesh,
        "placements": _placements,
        "num_shard": _num_shard,
        "_local_shape": _local_shape,
    }
    for name, fact in facts.items():
        setattr(Tensor, name, property(fact))
    methods = {"_local_value": _local_value, "is_dist": _is_dist, "__repr__": _repr, "set_value": _set_value}
    for name, method in methods.items():
        setattr(Tensor, name, method)


at_first_use.append(install)
