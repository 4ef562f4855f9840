"""From a distributed tensor to its local part and back, as operators of the tape.

A distributed tensor is a Tensor whose buffer is torch's DTensor: the local part of this process, the mesh and
one placement for each axis of the mesh. An operator on distributed tensors is an operator on the local parts
between `to_local` and `from_local`, which are each other's derivative; so gradients of every order follow.

The gradient of a tensor lies as the tensor does; of a Partial one it is replicated, since each term gets the
whole gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from ...engine.apply import record
from ...engine.operator import recorded_by_hand
from ...engine.tensor import Tensor
from . import counted

REPLICATE = Replicate()

# Called when the first distributed tensor of the program is made: see `tensor` and `optimizer`. Until then
# every class of the library is as it is without them.
at_first_use: list[Callable[[], None]] = []


def is_distributed(value: Any) -> bool:
    """Whether a value is a Tensor with parts in several processes."""
    return isinstance(value, Tensor) and isinstance(value.data, DTensor)


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def assembled(local: torch.Tensor, mesh: Any, placements: Sequence[Any], shape: Sequence[int]) -> DTensor:
    """The DTensor of global `shape` with this local part."""
    while at_first_use:
        at_first_use.pop()()
    return DTensor.from_local(
        local, mesh, placements, run_check=False, shape=torch.Size(shape), stride=_strides(shape)
    )


def local_part(buffer: DTensor) -> torch.Tensor:
    """The memory of this process."""
    return buffer._local_tensor


def is_outside(mesh: Any) -> bool:
    """Whether this process is not one of the mesh, and so has no part of its tensors.

    It runs the same operators, on zeros of the global shape, so that it knows shapes and dtypes and its tape
    has the same exchanges between meshes as that of the others.
    """
    return mesh.get_coordinate() is None


def placed(buffer: DTensor, placements: Sequence[Any]) -> DTensor:
    """`buffer` with other placements on its mesh: an exchange among the processes where they differ.

    To Partial: the first process along the axis has the values, the others have zeros.
    """
    if tuple(buffer.placements) == tuple(placements):
        return buffer
    mesh = buffer.device_mesh
    new = [
        axis
        for axis, (before, after) in enumerate(zip(buffer.placements, placements, strict=True))
        if after.is_partial() and before != after
    ]
    steps = [REPLICATE if axis in new else after for axis, after in enumerate(placements)]
    # gloo's reduce_scatter does not take parts of different lengths: there the terms are added up first.
    between = [
        REPLICATE
        if before.is_partial() and isinstance(after, Shard) and buffer.shape[after.dim] % mesh.size()
        else before
        for before, after in zip(buffer.placements, steps, strict=True)
    ]
    if between != list(buffer.placements):
        buffer = _exchanged(buffer, between)
    moved = _exchanged(buffer, steps)
    if not new:
        return moved
    local = moved._local_tensor
    if any((mesh.get_coordinate() or [0] * mesh.ndim)[axis] for axis in new):
        local = torch.zeros_like(local)
    return assembled(local, mesh, placements, buffer.shape)


def _exchanged(buffer: DTensor, placements: Sequence[Any]) -> DTensor:
    """`redistribute`, whose collectives are counted where it needs any."""
    if all(b.is_replicate() or b == a for b, a in zip(buffer.placements, placements, strict=True)):
        return buffer.redistribute(buffer.device_mesh, placements)  # each process takes its part
    with counted.counting():
        return buffer.redistribute(buffer.device_mesh, placements)


def dual(placements: Sequence[Any]) -> list[Any]:
    """The placements of the gradient of a tensor with these."""
    return [REPLICATE if placement.is_partial() else placement for placement in placements]


def replicated(buffer: torch.Tensor, mesh: Any) -> DTensor:
    """A DTensor of a buffer that each process has as a whole, or the DTensor itself."""
    if isinstance(buffer, DTensor):
        return buffer
    return assembled(buffer, mesh, [REPLICATE] * mesh.ndim, buffer.shape)


def across(buffer: DTensor, mesh: Any, placements: Sequence[Any]) -> DTensor:
    """`buffer` with these placements on this mesh, which may be another than its own.

    To another mesh its first process sends the whole to all, so all processes of the program must call it.
    """
    if buffer.device_mesh == mesh:
        return placed(buffer, placements)
    source = int(buffer.device_mesh.mesh.flatten()[0])
    whole = placed(buffer, [REPLICATE] * buffer.device_mesh.ndim)._local_tensor
    member = buffer.device_mesh.get_coordinate() is not None
    whole = whole.contiguous() if member else torch.empty(buffer.shape, dtype=buffer.dtype)
    if set(mesh.mesh.flatten().tolist()) - set(buffer.device_mesh.mesh.flatten().tolist()):
        counted.broadcast(whole, source)
    return placed(replicated(whole, mesh), placements)


# --- on the tape ---

_to_local = recorded_by_hand("to_local")
_from_local = recorded_by_hand("from_local")
_reshard = recorded_by_hand("reshard")


def _made(operator: Any, source: Tensor, buffer: torch.Tensor, pullback: Any) -> Tensor:
    """A Tensor over `buffer`, made from `source` on the tape where that needs a gradient."""
    if source.stop_gradient or not torch.is_grad_enabled():
        return Tensor(buffer)
    if not (buffer.is_floating_point() or buffer.is_complex()):
        return Tensor(buffer)
    made: Tensor = record(operator, 1, [source.node or source], [source.data], {}, (buffer, pullback))
    return made


def _like(gradient: Any, function: Any) -> Any:
    """Call a function of Tensors with a gradient: a Tensor where the walk is recorded, else a buffer."""
    return function(gradient) if isinstance(gradient, Tensor) else function(Tensor(gradient)).data


def to_local(x: Tensor, mesh: Any, placements: Sequence[Any], varies: Sequence[bool] = ()) -> Tensor:
    """The part of this process, with these placements; zeros of the global shape where it `is_outside`.

    varies: for each axis of the mesh, whether what is computed from the part differs along it: then the
    gradient of a replicated tensor is a sum over the processes. A plain Tensor counts as replicated.
    """
    source = x.data
    buffer = placed(replicated(source, mesh), placements)
    varies = varies or [False] * mesh.ndim
    lies = [
        Partial() if p.is_replicate() and v else REPLICATE if p.is_partial() else p
        for p, v in zip(placements, varies, strict=True)
    ]
    shape, leaf = buffer.shape, x.node is None
    target = dual(source.placements) if isinstance(source, DTensor) else [REPLICATE] * mesh.ndim

    # Terms of a replicated tensor's gradient are added up once, where it was made; of a leaf here.
    kept = [
        lie if own.is_replicate() and lie.is_partial() and not leaf else own
        for own, lie in zip(target, lies, strict=True)
    ]

    def pullback(gradient: Any) -> Any:
        def global_gradient(g: Tensor) -> Tensor:
            whole = from_local(g, mesh, lies, shape)
            if not isinstance(source, DTensor):
                return to_local(whole, mesh, target)
            return reshard(whole, mesh, kept)

        return (_like(gradient, global_gradient),)

    own = torch.zeros(shape, dtype=buffer.dtype) if is_outside(mesh) else buffer._local_tensor
    return _made(_to_local, x, own, pullback)


def from_local(x: Tensor, mesh: Any, placements: Sequence[Any], shape: Sequence[int]) -> Tensor:
    """The distributed tensor of global `shape` with this part.

    Of the maximum of parts and the like there is no gradient: RuntimeError in backward.
    """
    lies = dual(placements)
    factor = 1.0
    for placement, size in zip(placements, mesh.shape, strict=True):
        if placement.is_partial() and placement.reduce_op == "avg":
            factor /= size
    other = [p.reduce_op for p in placements if p.is_partial() and p.reduce_op not in ("sum", "avg")]

    def pullback(gradient: Any) -> Any:
        if other:
            raise RuntimeError(f"backward: a Partial tensor of {other[0]} has no gradient; reshard it first")
        part = _like(gradient, lambda g: to_local(g, mesh, lies))
        return (part if factor == 1.0 else part * factor,)

    return _made(_from_local, x, assembled(x.data, mesh, placements, shape), pullback)


def reshard(x: Tensor, mesh: Any, placements: Sequence[Any]) -> Tensor:
    """The same values with other placements, perhaps on another mesh."""
    own = x.data
    assert isinstance(own, DTensor)
    back = dual(own.placements)
    return _made(
        _reshard,
        x,
        across(own, mesh, placements),
        lambda gradient: (_like(gradient, lambda g: reshard(distributed(g, mesh), own.device_mesh, back)),),
    )


def distributed(x: Tensor, mesh: Any) -> Tensor:
    """A Tensor with parts: `x` itself, or a plain one as replicated."""
    return x if isinstance(x.data, DTensor) else Tensor(replicated(x.data, mesh))


def whole(x: Tensor) -> Tensor:
    """A plain Tensor with all values, outside the tape; `x` itself where it has no parts."""
    if not isinstance(x.data, DTensor):
        return x
    mesh = x.data.device_mesh
    if is_outside(mesh):
        raise RuntimeError(
            f"the values of a tensor on processes {mesh.mesh.flatten().tolist()} are asked for in another "
            "process; read them there, or bring the tensor here with reshard"
        )
    full = placed(x.data, [REPLICATE] * mesh.ndim)
    return Tensor(full._local_tensor, x.stop_gradient)


__all__ = [
    "REPLICATE",
    "DTensor",
    "Partial",
    "Replicate",
    "Shard",
    "across",
    "assembled",
    "at_first_use",
    "distributed",
    "dual",
    "from_local",
    "is_distributed",
    "is_outside",
    "local_part",
    "placed",
    "replicated",
    "reshard",
    "to_local",
    "whole",
]
