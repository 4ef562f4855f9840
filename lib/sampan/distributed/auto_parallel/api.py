"""Making distributed tensors and changing how they lie: shard_tensor, reshard and their kin."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...engine.error_translation import describe
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor, to_tensor
from ...nn.parameter import Parameter
from ..arguments import check_kind
from .dispatch import watch
from .placements import Partial, Placement, Replicate, Shard, to_torch
from .process_mesh import ProcessMesh
from .transfer import DTensor, distributed, from_local, is_outside, placed, replicated, to_local
from .transfer import reshard as _moved


def shard_tensor(
    data: Any,
    mesh: ProcessMesh,
    placements: Sequence[Placement],
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool | None = None,
) -> Tensor:
    """A distributed tensor of `data`, which each process has as a whole: each keeps its part.

    data: a Tensor or what `to_tensor` takes. Of a Parameter it is a Parameter with the same name and facts.
    placements: one for each axis of the mesh. dtype, place: as of `to_tensor`.
    stop_gradient: that of `data` where it is a Tensor and no dtype is given, as in Paddle; else True for
    None.
    Raises ValueError for a tensor that is distributed already (`reshard` moves it) and for placements that do
    not fit.

    >>> mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    >>> dist.shard_tensor(paddle.ones([4, 3]), mesh, [dist.Shard(0)])._local_shape
    [2, 3]
    """
    check_kind(mesh, ProcessMesh, "shard_tensor: mesh")
    if isinstance(data, Tensor) and data.is_dist():
        raise InvalidArgument(
            "shard_tensor: data: expected a dense tensor, got a distributed one; use reshard"
        )
    if not (isinstance(data, Tensor) and dtype is None):
        if stop_gradient is None:
            stop_gradient = getattr(data, "stop_gradient", True)
        made = to_tensor(data, dtype, place, stop_gradient)
        data = Parameter.from_tensor(made, **_facts(data)) if isinstance(data, Parameter) else made
    lies = to_torch("shard_tensor", placements, mesh, data.ndim)
    watch()
    device_mesh = mesh.device_mesh()
    part = _own_memory(placed(replicated(data.data, device_mesh), lies), data.data)
    if isinstance(data, Parameter):
        made = Parameter.from_tensor(Tensor(part), **_facts(data))
        made.optimize_attr, made.stop_gradient = dict(data.optimize_attr), data.stop_gradient
        made.is_distributed = data.is_distributed
        return made
    return Tensor(part, data.stop_gradient)


def _facts(parameter: Parameter) -> dict[str, Any]:
    return {"name": parameter.name, "regularizer": parameter.regularizer, "need_clip": parameter.need_clip}


def _own_memory(part: DTensor, source: torch.Tensor) -> DTensor:
    """A DTensor whose part is not a view of the whole, which then can be freed."""
    local = part._local_tensor
    shares = local.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
    if shares and local.numel():
        local = local.clone(memory_format=torch.contiguous_format)
        part = DTensor.from_local(
            local, part.device_mesh, part.placements, run_check=False, shape=part.shape, stride=part.stride()
        )
    return part


def dtensor_from_fn(
    fn: Callable[..., Tensor], mesh: ProcessMesh, placements: Sequence[Placement], *args: Any, **kwargs: Any
) -> Tensor:
    """`shard_tensor` of what `fn(*args, **kwargs)` gives, which must be the same in all processes."""
    if not callable(fn):
        raise InvalidType(f"fn: expected a function, got {describe(fn)}")
    return shard_tensor(fn(*args, **kwargs), mesh, placements)


def dtensor_from_local(local_tensor: Tensor, mesh: ProcessMesh, placements: Sequence[Placement]) -> Tensor:
    """The distributed tensor of which each process has this part; gradients flow to the parts.

    The parts along an axis that is cut must have equal lengths.
    """
    check_kind(mesh, ProcessMesh, "dtensor_from_local: mesh")
    check_kind(local_tensor, Tensor, "local_tensor")
    lies = to_torch("dtensor_from_local", placements, mesh, local_tensor.ndim)
    watch()
    shape = list(local_tensor.data.shape)
    for size, placement in zip(mesh.shape, lies, strict=True):
        if placement.is_shard():
            shape[placement.dim] *= size
    return from_local(local_tensor, mesh.device_mesh(), lies, shape)


def dtensor_to_local(dist_tensor: Tensor, mesh: ProcessMesh, placements: Sequence[Placement]) -> Tensor:
    """The part of this process with these placements; gradients flow back to the distributed tensor."""
    check_kind(mesh, ProcessMesh, "dtensor_to_local: mesh")
    check_kind(dist_tensor, Tensor, "dist_tensor")
    lies = to_torch("dtensor_to_local", placements, mesh, dist_tensor.ndim)
    if is_outside(device_mesh := mesh.device_mesh()):
        return Tensor(torch.empty(0, dtype=dist_tensor.data.dtype))
    return to_local(dist_tensor, device_mesh, lies)


def reshard(dist_tensor: Tensor, mesh: ProcessMesh, placements: Sequence[Placement]) -> Tensor:
    """The same values with other placements, perhaps on another mesh; gradients flow through it.

    Between meshes all processes of the program must call it.
    """
    check_kind(mesh, ProcessMesh, "reshard: mesh")
    check_kind(dist_tensor, Tensor, "dist_tensor")
    lies = to_torch("reshard", placements, mesh, dist_tensor.ndim)
    watch()
    device_mesh = mesh.device_mesh()
    if not dist_tensor.is_dist():
        raise InvalidArgument(
            "reshard: dist_tensor: expected a distributed tensor, got a dense one; use shard_tensor"
        )
    own: Any = dist_tensor.data
    if own.device_mesh == device_mesh and tuple(own.placements) == lies:
        return dist_tensor
    return _moved(dist_tensor, device_mesh, lies)


def unshard_dtensor(dist_tensor: Tensor) -> Tensor:
    """The whole tensor in each process, without parts; gradients flow through it. A dense one is returned as
    it is."""
    check_kind(dist_tensor, Tensor, "dist_tensor")
    if not isinstance(dist_tensor.data, DTensor):
        return dist_tensor
    mesh = dist_tensor.data.device_mesh
    return to_local(dist_tensor, mesh, to_torch("unshard_dtensor", [], _of(dist_tensor), dist_tensor.ndim))


def _of(tensor: Tensor) -> ProcessMesh:
    mesh = tensor.process_mesh
    assert isinstance(mesh, ProcessMesh)
    return mesh


class DistAttr:
    """How a tensor lies on a mesh: for each axis of the tensor the name of an axis of the mesh, or None."""

    def __init__(self, mesh: ProcessMesh, sharding_specs: list[str | None]) -> None:
        if not isinstance(mesh, ProcessMesh):
            raise ValueError("The mesh must be an instance of paddle.distributed.ProcessMesh.")
        if not isinstance(sharding_specs, list):
            raise ValueError("The sharding_specs must be an instance of list.")
        if not all(isinstance(name, str) or name is None for name in sharding_specs):
            raise AssertionError("The dimension name in sharding_specs must be an instance of str.")
        for name in sharding_specs:
            if name is not None and name not in mesh.dim_names:
                raise ValueError(
                    f"Invalid sharding dimension '{name}'. "
                    f"Available dimensions in mesh are: {mesh.dim_names}."
                )
        self.process_mesh, self.sharding_specs = mesh, sharding_specs
        self.dims_mapping = [-1 if name is None else mesh.dim_names.index(name) for name in sharding_specs]

    @property
    def placements(self) -> list[Placement]:
        """The placements that this describes."""
        found: list[Placement] = [Replicate() for _ in self.process_mesh.shape]
        for axis, name in enumerate(self.dims_mapping):
            if name >= 0:
                found[name] = Shard(axis)
        return found

    def __str__(self) -> str:
        """The text of PaddlePaddle's TensorDistAttr."""
        cut = "".join(f"[{'' if axis < 0 else axis}] " for axis in self.dims_mapping)
        none = ",".join("0" for _ in self.dims_mapping)
        return (
            f"{{process_mesh: {self.process_mesh.described()}, dim_mappings: [{cut}], batch_dim: 0, "
            f"chunk_id: 0, skip_check_mesh: 0, dynamic_dims: [{none}], annotated: [dims_mapping: "
            "1,process_mesh: 1], partial: [], split_factor: .}"
        )


__all__ = [
    "DistAttr",
    "Partial",
    "distributed",
    "dtensor_from_fn",
    "dtensor_from_local",
    "dtensor_to_local",
    "reshard",
    "shard_tensor",
    "unshard_dtensor",
]


# What Paddle's module of this name has too, and where it is here.
_ELSEWHERE = {
    **dict.fromkeys(("shard_layer", "ShardDataloader", "shard_dataloader"), "layers"),
    **dict.fromkeys(("DistModel", "Strategy", "to_static"), "model"),
    **dict.fromkeys(("ShardingStage1", "ShardingStage2", "ShardingStage3"), "optimizer"),
    **dict.fromkeys(("shard_optimizer", "shard_scaler"), "optimizer"),
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__package__}.{_ELSEWHERE[name]}"), name)
