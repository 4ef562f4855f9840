"""`parallelize`: a network of one process, distributed by a plan for each of its layers.

The mesh's axis "mp" is for tensor parallelism (Shoeybi et al. 2019, Megatron-LM), "dp" for data parallelism.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...nn import Layer
from ...nn.functional.convolution import paddings
from ...optimizer.optimizer import Optimizer
from ..arguments import check_kind
from . import optimizer as sharding
from .api import reshard, shard_tensor
from .placements import Placement, Replicate, Shard, to_torch
from .process_mesh import ProcessMesh, get_mesh, set_mesh
from .spatial import fits
from .transfer import placed, replicated

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are this one


class PlanBase:
    """What `parallelize` does with a layer."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Place the layer's parameters, of which `shard_param_list` may name some, and add its hooks."""
        raise NotImplementedError("Don't call the PlanBase directly.")


def _axis(mesh: ProcessMesh) -> int:
    if "mp" not in mesh.dim_names:
        raise InvalidArgument(f"mp_config: expected a mesh with an axis 'mp', got {mesh}")
    return mesh.dim_names.index("mp")


def _place(parameter: Tensor, mesh: ProcessMesh, lies: list[Placement]) -> None:
    """Give a dense parameter parts; it stays the same object, so its optimizer and tied layers keep it."""
    if not parameter.is_dist():
        device_mesh = mesh.device_mesh()
        cut = to_torch("parallelize", lies, mesh, parameter.ndim)
        parameter.data = placed(replicated(parameter.data, device_mesh), cut).clone()


def _moved(value: Any, mesh: ProcessMesh, dim: int | None) -> Any:
    """A tensor, or the first of a tuple, cut along its axis `dim` over "mp"; whole for None."""
    first = value[0] if isinstance(value, tuple | list) else value
    lies = list(first.placements or [Replicate()] * mesh.ndim)
    lies[_axis(mesh)] = Replicate() if dim is None else Shard(dim)
    moved = reshard(first, mesh, lies) if first.is_dist() else shard_tensor(first, mesh, lies)
    return type(value)([moved, *value[1:]]) if isinstance(value, tuple | list) else moved


def _turned(value: Any) -> Any:
    """The first two axes exchanged, of a tensor or the first of a tuple."""
    if isinstance(value, tuple | list):
        return type(value)([value[0].transpose([1, 0, 2]), *value[1:]])
    return value.transpose([1, 0, 2])


def _into_sequence(value: Any, mesh: ProcessMesh, need_transpose: bool) -> Any:
    """[batch, time, width] to [time / mp, batch, width]; without need_transpose from [time, batch, width]."""
    return _moved(_turned(value) if need_transpose else value, mesh, 0)


def _out_of_sequence(value: Any, mesh: ProcessMesh, need_transpose: bool) -> Any:
    whole = _moved(value, mesh, None)
    return _turned(whole) if need_transpose else whole


class ColWiseParallel(PlanBase):
    """The weight of a Linear or Embedding is cut along its second axis, the bias along its only one.

    gather_output: the result is whole again, at the cost of an exchange.
    """

    def __init__(self, gather_output: bool = False) -> None:
        self.gather_output = gather_output

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        for name in shard_param_list or ["weight", "bias"]:
            parameter = getattr(layer, name, None)
            if parameter is not None:
                if parameter.ndim not in (1, 2):
                    raise ValueError(f"{parameter} should have 1 or 2 dims.")
                lies: list[Placement] = [Replicate()] * process_mesh.ndim
                lies[_axis(process_mesh)] = Shard(parameter.ndim - 1)
                _place(parameter, process_mesh, lies)
        if self.gather_output:
            layer.register_forward_post_hook(lambda _, inputs, output: _moved(output, process_mesh, None))


class RowWiseParallel(PlanBase):
    """The weight of a Linear or Embedding is cut along its first axis.

    is_input_parallel: whether the input is cut along its last axis already; else it is cut here.
    """

    def __init__(self, is_input_parallel: bool = True) -> None:
        self.is_input_parallel = is_input_parallel

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        for name in [n for n in shard_param_list if n != "bias"] or ["weight"]:
            parameter = getattr(layer, name, None)
            if parameter is not None:
                if parameter.ndim != 2:
                    raise ValueError(f"{parameter} should have 2 dims.")
                lies: list[Placement] = [Replicate()] * process_mesh.ndim
                lies[_axis(process_mesh)] = Shard(0)
                _place(parameter, process_mesh, lies)
        if not self.is_input_parallel:
            layer.register_forward_pre_hook(
                lambda _, inputs: _moved(inputs, process_mesh, inputs[0].ndim - 1)
            )


class _Prepare(PlanBase):
    """fn(process_mesh=mesh) gives the hook."""

    def __init__(self, fn: Callable[..., Any] | None = None) -> None:
        if not callable(fn):
            raise InvalidType(f"{type(self).__name__}: fn: expected a function, got {fn!r}")
        self.fn = fn


class PrepareLayerInput(_Prepare):
    """The layer gets what a hook makes of its inputs: fn(process_mesh=mesh) gives hook(layer, inputs)."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_pre_hook(self.fn(process_mesh=process_mesh))


class PrepareLayerOutput(_Prepare):
    """The layer gives what a hook makes of its result.

    fn(process_mesh=mesh) gives hook(layer, inputs, output).
    """

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_post_hook(self.fn(process_mesh=process_mesh))


class _Sequence(PlanBase):
    """need_transpose: outside it is [batch, time, width]; else [time, batch, width], as inside."""

    def __init__(self, need_transpose: bool = True) -> None:
        self.need_transpose = need_transpose


class SequenceParallelBegin(_Sequence):
    """After this layer the time axis is cut: for the last layer before what runs on parts of sequences."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_post_hook(
            lambda _, inputs, output: _into_sequence(output, process_mesh, self.need_transpose)
        )


class SequenceParallelEnd(_Sequence):
    """Before this layer the time axis is whole again: for the first layer after what runs on parts."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_pre_hook(
            lambda _, inputs: _out_of_sequence(inputs, process_mesh, self.need_transpose)
        )


class SequenceParallelEnable(PlanBase):
    """This layer alone runs on parts of sequences [batch, time, width]."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_pre_hook(lambda _, inputs: _into_sequence(inputs, process_mesh, True))
        layer.register_forward_post_hook(
            lambda _, inputs, output: _out_of_sequence(output, process_mesh, True)
        )


class SequenceParallelDisable(_Sequence):
    """This layer alone runs on whole sequences, among layers that run on parts."""

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        layer.register_forward_pre_hook(
            lambda _, inputs: _out_of_sequence(inputs, process_mesh, self.need_transpose)
        )
        layer.register_forward_post_hook(
            lambda _, inputs, output: _into_sequence(output, process_mesh, self.need_transpose)
        )


class ConvParallel(PlanBase):
    """The input of a Conv2D is cut along its width over the mesh's axis "mp", where the layer allows that.

    The width must be a multiple of the number of parts and the dilation along it 1. Without padding along the
    width the stride must be the width of the kernel; with padding the stride must be 1. Other layers stay as
    they are.
    """

    def apply(self, layer: Any, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        axis = _axis(process_mesh)
        dim = 3 if layer.data_format == "NCHW" else 2

        def cut(_: Any, inputs: Any) -> Any:
            x = inputs[0]
            size = [x.shape[dim - 1], x.shape[dim]]
            kernel = layer.weight.shape[2:]
            pads = paddings(layer.padding, size, kernel, layer.stride, False)[1]
            if layer.padding_mode != "zeros" or pads[0] != pads[1]:
                return inputs
            given = kernel[1], layer.stride[1], pads[0], layer.dilation[1]
            if not fits(size[1], process_mesh.shape[axis], *given):
                return inputs
            lies = list(x.placements or [Replicate()] * process_mesh.ndim)
            lies[axis] = Shard(dim)
            moved = reshard if x.is_dist() else shard_tensor
            return (moved(x, process_mesh, lies), *inputs[1:])

        layer.register_forward_pre_hook(cut)


class SplitPoint(IntEnum):
    """Where a pipeline is cut: before or after a layer."""

    BEGINNING, END = 0, 1


def parallelize(
    model: Layer,
    optimizer: Optimizer | None = None,
    mesh: ProcessMesh | None = None,
    config: dict[str, Any] | None = None,
) -> tuple[Layer, Optimizer | None]:
    """The network and its optimizer, distributed in place by `config`.

    config: "mp_config": {"parallelize_plan": {name of a layer or parameter, perhaps a regular expression: a
    plan or a list of plans}}; "cp_config": the same for plans of `context`; "dp_config": {"sharding_level": 0
    to 3}, for the optimizer (`shard_optimizer`). mesh: by default the one of `set_mesh`. Parameters without a
    plan are replicated.
    Raises InvalidArgument for "pp_config": `fleet.meta_parallel.PipelineLayer` makes pipelines.
    """
    if config is None:
        warnings.warn("The `parallelize will do nothing since the config is `None`.", stacklevel=2)
        return model, optimizer
    if not isinstance(config, dict):
        raise InvalidType(f"parallelize: config: expected a dictionary, got {type(config).__name__}")
    check_kind(model, Layer, "model")
    for key in config:
        if config[key] is not None and key not in ("mp_config", "dp_config", "cp_config"):
            raise InvalidArgument(
                f"parallelize: config: expected mp_config, dp_config or cp_config, got {key!r}"
                + (": make the pipeline of fleet.meta_parallel.PipelineLayer" if key == "pp_config" else "")
            )
    if mesh is not None:
        set_mesh(mesh)
    mesh = get_mesh()
    if mesh is None:
        raise AssertionError(
            "global mesh must not be None, please call fleet.auto.set_mesh(global_mesh) firstly"
        )
    data = config.get("dp_config")
    plans: dict[str, Any] = {}
    for name in ("mp_config", "cp_config"):
        plans |= (config.get(name) or {}).get("parallelize_plan") or {}
    for key, given in plans.items():
        _apply(model, mesh, key, given if isinstance(given, list) else [given])
    for _, layer in model.named_sublayers(include_self=True):
        for tensor in [*layer._parameters.values(), *layer._buffers.values()]:
            if tensor is not None:
                _place(tensor, mesh, [Replicate()] * mesh.ndim)
    if data is not None:
        if "dp" not in mesh.dim_names:
            raise AssertionError("dp must in the mesh dim_names when use sharded_data_parallel")
        if "sharding_level" not in data:
            text = "The dp_config doesn't contain sharding_level, will run under dp."
            warnings.warn(text, stacklevel=2)
        level = int(data.get("sharding_level") or 0)
        if level and optimizer is not None:
            stage = sharding.STAGES[level - 1](data.get("sharding_mesh_dim", "dp"), mesh)
            optimizer = sharding.shard_optimizer(optimizer, stage)
    return model, optimizer


def _apply(model: Layer, mesh: ProcessMesh, key: str, plans: list[Any]) -> None:
    """Apply plans to the layers that a key names: by name, regular expression, or one of their parameters."""
    if not isinstance(key, str) or not all(isinstance(plan, PlanBase) for plan in plans):
        raise AssertionError(f"parallelize_plan: expected names and plans, got {key!r}: {plans!r}")
    owner, _, last = key.rpartition(".")
    found = False
    for name, layer in model.named_sublayers():
        named = bool(owner) and isinstance(getattr(layer, last, None), Tensor)
        if re.fullmatch(owner if named else key, name):
            found = True
            for plan in plans:
                plan.apply(layer, mesh, [last] if named else [])
    if not found:
        warnings.warn(f"parallelize_plan: no layer or parameter has the name {key!r}", stacklevel=3)
