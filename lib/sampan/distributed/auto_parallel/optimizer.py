"""Optimizers on distributed parameters: a step works on the part of this process.

The state lies as the parameter does, or is cut further along an axis of the mesh on which the parameter is
replicated (ZeRO, Rajbhandari et al. 2020): then each process steps its part, and the parts are gathered. A
rule that needs norms of a whole parameter (Lamb, Lars) steps the whole in every process.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from ...optimizer.optimizer import Group, Optimizer, Slot
from . import counted
from .counted import all_reduce
from .dispatch import watch
from .process_mesh import ProcessMesh, get_mesh
from .transfer import REPLICATE, DTensor, Shard, assembled, at_first_use, is_outside, placed, replicated

WHOLE = frozenset(("Lamb", "LarsMomentum", "Lars", "LBFGS", "Muon"))  # their rules read norms or matrices


class _Stage:
    """How far an optimizer's memory is cut: see `shard_optimizer`.

    sharding_mesh_dim: the axis of the mesh, by its name or number, on which the parameters are replicated.
    mesh: that of the parameters; by default the one of `set_mesh`.
    """

    def __init__(self, sharding_mesh_dim: int | str, mesh: ProcessMesh | None = None) -> None:
        self.sharding_mesh_dim, self.mesh = sharding_mesh_dim, mesh

    def axis(self, mesh: ProcessMesh) -> int:
        """The number of the axis."""
        if isinstance(self.sharding_mesh_dim, int):
            return self.sharding_mesh_dim
        if self.sharding_mesh_dim not in mesh.dim_names:
            raise InvalidArgument(
                f"sharding_mesh_dim: expected one of {mesh.dim_names}, got {self.sharding_mesh_dim!r}"
            )
        return mesh.dim_names.index(self.sharding_mesh_dim)


class ShardingStage1(_Stage):
    """The state of the optimizer is cut (ZeRO 1)."""


class ShardingStage2(_Stage):
    """The state is cut, and each gradient as soon as it is complete (ZeRO 2)."""


class ShardingStage3(_Stage):
    """The parameters are cut too (ZeRO 3): each layer gathers its own when it runs."""


STAGES = (ShardingStage1, ShardingStage2, ShardingStage3)


def shard_optimizer(
    optimizer: Optimizer,
    shard_fn: _Stage | Callable[[str, Tensor, Tensor], Tensor] | None = None,
    gradient_accumulation_steps: int = 1,
) -> Optimizer:
    """The optimizer, whose state lies as its parameters do, or as `shard_fn` says: a ShardingStage1, 2 or 3.

    gradient_accumulation_steps: of a static program; here gradients are added until `clear_grad`.
    Raises InvalidType for another shard_fn, as PaddlePaddle 3.3 does, and ValueError where there is no mesh.
    """
    if not isinstance(optimizer, Optimizer):
        raise InvalidType(
            f"shard_optimizer: optimizer: expected an optimizer, got {type(optimizer).__name__}"
        )
    if shard_fn is None:
        return optimizer
    if not isinstance(shard_fn, _Stage):
        raise InvalidType(
            "shard_optimizer: shard_fn: expected ShardingStage1, ShardingStage2 or ShardingStage3, got "
            f"{type(shard_fn).__name__}"
        )
    mesh = get_mesh() or shard_fn.mesh
    if mesh is None:
        raise ValueError("The global mesh or shard_fn mesh should be set for the sharding strategy.")
    watch()
    for parameter in optimizer._parameter_list:
        own: Any = parameter.data
        if not isinstance(own, DTensor):
            if shard_fn.mesh is None:
                continue
            whole = [REPLICATE] * mesh.ndim
            parameter.data = own = placed(replicated(own, mesh.device_mesh()), whole)
        lies = _cut(parameter, shard_fn)
        if isinstance(shard_fn, ShardingStage3):
            parameter.data = placed(own, lies)
        elif isinstance(shard_fn, ShardingStage2) and not parameter.stop_gradient:
            parameter.register_hook(partial(_moved_to, lies))
    optimizer._sharding = shard_fn  # type: ignore[attr-defined] # read by `_lies`
    return optimizer


def _moved_to(lies: list[Any], gradient: Tensor) -> Tensor:
    data: Any = gradient.data
    return Tensor(placed(data, lies))


def _cut(parameter: Tensor, stage: _Stage) -> list[Any]:
    """The placements of a parameter with its first axis that is whole also cut along the stage's axis."""
    data: Any = parameter.data
    mesh = parameter.process_mesh
    assert isinstance(mesh, ProcessMesh)
    lies, axis = list(data.placements), stage.axis(mesh)
    taken = {lie.dim for lie in lies if lie.is_shard()}
    for dim, length in enumerate(data.shape):
        if lies[axis].is_replicate() and dim not in taken and length >= mesh.shape[axis]:
            lies[axis] = Shard(dim)
    return lies


def _lies(optimizer: Optimizer, slot: Slot) -> Sequence[Any]:
    """The placements in which a parameter is stepped."""
    data: Any = slot.parameter.data
    if any(kind.__name__ in WHOLE for kind in type(optimizer).__mro__):
        return [REPLICATE] * data.device_mesh.ndim
    stage = getattr(optimizer, "_sharding", None)
    return data.placements if stage is None else tuple(_cut(slot.parameter, stage))


def _step_group(self: Optimizer, group: Group, slots: list[Slot], gradients: list[Any], lr: float) -> None:
    """`Optimizer._step_group`, on parts where parameters are distributed."""
    if not any(isinstance(slot.parameter.data, DTensor) for slot in slots):
        _usual_step(self, group, slots, gradients, lr)
        return
    clip, group = group.clip, copy.copy(group)
    group.clip = None
    held: list[tuple[Slot, DTensor, Sequence[Any]]] = []
    lying: list[Any] = []
    for place, slot in enumerate(slots):
        own: Any = slot.parameter.data
        lying.append(None)
        if isinstance(own, DTensor):
            lies = _lies(self, slot)
            lying[-1] = placed(replicated(gradients[place], own.device_mesh), lies)
            gradients[place] = lying[-1]._local_tensor
            held.append((slot, own, lies))
    if clip is not None:
        chosen = [i for i, slot in enumerate(slots) if getattr(slot.parameter, "need_clip", True)]
        for i, clipped in zip(chosen, _clipped(clip, gradients, lying, chosen), strict=True):
            gradients[i] = clipped
    parts = []
    try:
        for slot, own, lies in held:
            parts.append(placed(own, lies))
            slot.parameter.data = parts[-1]._local_tensor
        _usual_step(self, group, slots, gradients, lr)
    finally:
        for slot, own, _ in held:
            slot.parameter.data = own
    for (_, own, _), part in zip(held, parts, strict=True):
        if part is not own:
            own._local_tensor.copy_(placed(part, own.placements)._local_tensor)


def _clipped(clip: Any, gradients: list[Any], lying: list[Any], chosen: list[int]) -> list[Any]:
    """Gradients, clipped by the norms of the whole ones."""
    given = [gradients[i] for i in chosen]
    if isinstance(clip, ClipGradByValue):
        return clip.clip(given)
    if not isinstance(clip, ClipGradByNorm | ClipGradByGlobalNorm):
        name = type(clip).__name__
        raise InvalidType(
            f"grad_clip: {name} is not supported with distributed parameters; use a built-in one"
        )
    squares = [_square(g, lying[i]) for g, i in zip(given, chosen, strict=True)]
    if isinstance(clip, ClipGradByNorm):
        return [
            g * (clip.clip_norm / s.sqrt()).clamp(max=1.0).to(g.dtype)
            for g, s in zip(given, squares, strict=True)
        ]
    norm = _total(squares, [lying[i] for i in chosen]).sqrt()
    factor = clip.clip_norm / norm.clamp(min=clip.clip_norm)
    return [g * factor.to(g.dtype) for g in given]


def _total(squares: list[torch.Tensor], gradients: list[DTensor | None]) -> torch.Tensor:
    """The sum of squared norms. Where parameters are on several meshes the processes of each tell the others
    theirs, so all processes must take the step."""
    meshes: dict[Any, torch.Tensor] = {}
    for square, gradient in zip(squares, gradients, strict=True):
        mesh = None if gradient is None else gradient.device_mesh
        meshes[mesh] = meshes.get(mesh, torch.zeros((), dtype=torch.float64)) + square
    if len(meshes) > 1 + (None in meshes):
        for mesh, total in meshes.items():
            if mesh is not None:
                counted.broadcast(total, int(mesh.mesh.flatten()[0]))
    return torch.stack([*meshes.values()]).sum()


def _square(part: torch.Tensor, gradient: DTensor | None) -> torch.Tensor:
    """The squared norm of a gradient, of which `part` is here; float64."""
    square = (part if part.dtype is torch.float64 else part.float()).norm().double().square()
    if gradient is not None and not is_outside(gradient.device_mesh):
        for axis, lie in enumerate(gradient.placements):
            if lie.is_shard():
                all_reduce(square, gradient.device_mesh.get_group(axis))
    return square


@contextmanager
def _distributed_state(optimizer: Optimizer) -> Any:
    """Within, the state of distributed parameters consists of distributed buffers."""
    held = []
    for group in optimizer._groups:
        for slot in group.slots:
            own: Any = slot.parameter.data
            if isinstance(own, DTensor):
                lies = _lies(optimizer, slot)
                held.append((slot, own, lies))
                slot.state = tuple(_spread(part, own, lies) for part in slot.state)
                if slot.master is not None:
                    slot.master = _spread(slot.master, own, lies)
    try:
        yield
    finally:
        for slot, own, lies in held:
            slot.state = tuple(_part(buffer, own, lies) for buffer in slot.state)
            if slot.master is not None:
                slot.master = _part(slot.master, own, lies)


def _spread(part: torch.Tensor, own: DTensor, lies: Sequence[Any]) -> torch.Tensor:
    """A buffer of the state with parts as its parameter; one of another shape is left alone."""
    shape = placed(own, lies)._local_tensor.shape
    return assembled(part, own.device_mesh, lies, own.shape) if part.shape == shape else part


def _part(buffer: torch.Tensor, own: DTensor, lies: Sequence[Any]) -> torch.Tensor:
    """The part here of a buffer of the state."""
    if buffer.shape != own.shape:
        return buffer
    return placed(replicated(buffer, own.device_mesh), lies)._local_tensor


def _state_dict(self: Optimizer) -> dict[str, Any]:
    with _distributed_state(self):
        return _usual_state(self)


def _set_state_dict(self: Optimizer, state_dict: dict[str, Any]) -> None:
    owns = {id(s): s.parameter.data for g in self._groups for s in g.slots}
    if not any(isinstance(own, DTensor) for own in owns.values()):
        _usual_set(self, state_dict)
        return
    slots = [slot for group in self._groups for slot in group.slots]
    with _distributed_state(self):
        try:
            for slot in slots:  # its shape is compared, and its device is read
                own = owns[id(slot)]
                if isinstance(own, DTensor):
                    slot.parameter.data = torch.zeros((), dtype=own.dtype).expand(own.shape)
            _usual_set(self, state_dict)
        finally:
            for slot in slots:
                slot.parameter.data = owns[id(slot)]


_usual_step, _usual_state = Optimizer._step_group, Optimizer.state_dict
_usual_set = Optimizer.set_state_dict


def _install() -> None:
    """Let optimizers step distributed parameters."""
    methods = {"_step_group": _step_group, "state_dict": _state_dict}
    methods |= dict.fromkeys(("set_state_dict", "load_state_dict", "set_dict"), _set_state_dict)
    for name, method in methods.items():
        setattr(Optimizer, name, method)


at_first_use.append(_install)


def shard_scaler(scaler: Any) -> Any:
    """The scaler itself: it reads whether whole gradients are finite, so all processes decide alike."""
    return scaler
