"""Layers with distributed parameters: shard_layer, local_map and LocalLayer, shard_dataloader."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...io import DataLoader
from ...nn import Layer
from ..arguments import check_kind
from .api import dtensor_from_local, dtensor_to_local, reshard, shard_tensor
from .placements import Placement, Replicate, Shard
from .process_mesh import ProcessMesh


def shard_layer(
    layer: Layer,
    process_mesh: ProcessMesh,
    shard_fn: Callable[[str, Layer, ProcessMesh], None] | None = None,
    input_fn: Callable[[Any, ProcessMesh], Any] | None = None,
    output_fn: Callable[[Any, ProcessMesh], Any] | None = None,
) -> Layer:
    """The layer with distributed parameters and buffers: as `shard_fn` places them, the others replicated.

    shard_fn(name, sublayer, mesh): called for the layer and each sublayer; it replaces parameters by
    `shard_tensor`. input_fn(inputs, mesh), output_fn(outputs, mesh): what the layer gets, and gives, instead.
    Raises ValueError for anything but a ProcessMesh.
    """
    if process_mesh is None:
        raise ValueError("The argument `process_mesh` cannot be empty.")
    if not isinstance(process_mesh, ProcessMesh):
        raise ValueError("The argument `process_mesh` is not `dist.ProcessMesh` type.")
    for name, sublayer in layer.named_sublayers(include_self=True):
        if shard_fn is not None:
            shard_fn(name, sublayer, process_mesh)
        replicate(sublayer, process_mesh)
    if input_fn is not None:
        layer.register_forward_pre_hook(lambda _, inputs: input_fn(inputs, process_mesh))
    if output_fn is not None:
        layer.register_forward_post_hook(lambda _, inputs, outputs: output_fn(outputs, process_mesh))
    return layer


def replicate(layer: Layer, mesh: ProcessMesh) -> None:
    """Make the layer's own dense parameters and buffers replicated ones."""
    for name, parameter in list(layer._parameters.items()):
        if parameter is not None and not parameter.is_dist():
            made: Any = shard_tensor(parameter, mesh, [Replicate()] * mesh.ndim)
            layer.add_parameter(name, made)
    for name, buffer in list(layer._buffers.items()):
        if buffer is not None and not buffer.is_dist():
            layer.register_buffer(name, shard_tensor(buffer, mesh, [Replicate()] * mesh.ndim))


def _mapped(function: Callable[[Tensor], Any], nested: Any) -> Any:
    if isinstance(nested, Tensor):
        return function(nested)
    if isinstance(nested, list | tuple):
        return type(nested)(_mapped(function, part) for part in nested)
    if isinstance(nested, dict):
        return {key: _mapped(function, part) for key, part in nested.items()}
    return nested


def local_map(
    func: Callable[..., Any],
    out_placements: Sequence[Sequence[Placement] | None],
    in_placements: Sequence[Sequence[Placement] | None] | None = None,
    process_mesh: ProcessMesh | None = None,
    reshard_inputs: bool = False,
) -> Callable[..., Any]:
    """A function of distributed tensors that calls `func` on the parts of this process.

    out_placements: how each result lies; None for one that is not a tensor. in_placements: what each
    positional argument must have; None takes it as it lies. reshard_inputs: bring an argument there instead
    of raising ValueError. process_mesh: by default that of the first distributed argument.
    """

    @functools.wraps(func)
    def mapped(*args: Any, **settings: Any) -> Any:
        mesh: Any = process_mesh
        flat = list(_leaves(args))
        if in_placements is not None and len(in_placements) != len(flat):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match number of input args {len(flat)}!"
            )
        wanted = iter(in_placements or [None] * len(flat))
        seen = False

        def part(value: Any) -> Any:
            nonlocal mesh, seen
            lies = next(wanted)
            if not (isinstance(value, Tensor) and value.is_dist()):
                return value
            seen, mesh = True, mesh or value.process_mesh
            lies = value.placements if lies is None else lies
            if list(lies) != value.placements:
                if not reshard_inputs:
                    raise ValueError(
                        f"in_placement {lies} does not match dist_tensor.placements {value.placements}"
                    )
                value = reshard(value, mesh, lies)
            return dtensor_to_local(value, mesh, lies)

        result = func(*_rebuilt(args, part), **settings)
        if not seen:
            return result
        results = list(_leaves((result,)))
        if len(results) != len(out_placements):
            raise AssertionError(
                "local_map requires one PlacementType for each output value, "
                f"got {len(out_placements)} placements but expected {len(results)}!"
            )
        lies = iter(out_placements)

        def whole(value: Any) -> Any:
            after: Any = next(lies)
            return dtensor_from_local(value, mesh, after) if isinstance(value, Tensor) else value

        return _rebuilt((result,), whole)[0]

    return mapped


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list | tuple):
        for part in nested:
            yield from _leaves(part)
    else:
        yield nested


def _rebuilt(nested: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(nested, list | tuple):
        return type(nested)(_rebuilt(part, function) for part in nested)
    return function(nested)


class LocalLayer(Layer):
    """A layer whose `forward` gets and gives the parts of this process.

    out_dist_attrs: (mesh, placements) of each result. grad_dist_attrs: those of the gradient of each input,
    which here follow from the inputs' own.
    """

    def __init__(
        self,
        out_dist_attrs: list[tuple[ProcessMesh, list[Placement]]],
        grad_dist_attrs: list[tuple[ProcessMesh, list[Placement]]] | None = None,
    ) -> None:
        super().__init__()
        self.out_dist_attrs, self.grad_dist_attrs = out_dist_attrs, grad_dist_attrs

    def __call__(self, *inputs: Any, **settings: Any) -> Any:
        def part(value: Tensor) -> Tensor:
            return dtensor_to_local(value, value.process_mesh, value.placements) if value.is_dist() else value

        outputs = super().__call__(*_mapped(part, inputs), **_mapped(part, settings))
        given = outputs if isinstance(outputs, list | tuple) else [outputs]
        if len(given) != len(self.out_dist_attrs):
            raise InvalidArgument(
                f"LocalLayer: out_dist_attrs: expected {len(given)}, one for each result, got "
                f"{len(self.out_dist_attrs)}"
            )
        made = [dtensor_from_local(v, *attr) for v, attr in zip(given, self.out_dist_attrs, strict=True)]
        return type(outputs)(made) if isinstance(outputs, list | tuple) else made[0]


class ShardDataloader:
    """The batches of a loader as distributed tensors: see `shard_dataloader`."""

    def __init__(
        self,
        dataloader: DataLoader,
        meshes: list[ProcessMesh],
        input_keys: Sequence[str] | None,
        shard_dims: Any,
        is_dataset_splitted: bool,
    ) -> None:
        self.dataloader, self.meshes, self.input_keys = dataloader, meshes, input_keys
        self.shard_dims, self.is_dataset_splitted = shard_dims, is_dataset_splitted
        self.batch_sampler = getattr(dataloader, "batch_sampler", None)

    def __len__(self) -> int:
        return len(self.dataloader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self.dataloader:
            if isinstance(batch, dict):
                keys = list(self.input_keys or batch)
                yield {key: self._placed(batch[key], keys.index(key)) for key in batch if key in keys}
            elif isinstance(batch, list | tuple):
                yield [self._placed(value, place) for place, value in enumerate(batch)]
            else:
                yield self._placed(batch, 0)

    def __call__(self) -> ShardDataloader:
        return self

    def _placed(self, value: Any, place: int) -> Any:
        mesh = self.meshes[min(place, len(self.meshes) - 1)]
        dims = self.shard_dims
        dim = dims[min(place, len(dims) - 1)] if isinstance(dims, list | tuple) else dims
        lies: list[Placement] = [Replicate()] * mesh.ndim
        if dim is not None:
            axis = mesh.dim_names.index(dim) if isinstance(dim, str) else int(dim)
            lies[axis] = Shard(0)

        def one(tensor: Tensor) -> Tensor:
            if self.is_dataset_splitted:
                return dtensor_from_local(tensor, mesh, lies)
            return shard_tensor(tensor, mesh, lies)

        return _mapped(one, value)


def shard_dataloader(
    dataloader: DataLoader,
    meshes: ProcessMesh | Sequence[ProcessMesh],
    input_keys: Sequence[str] | None = None,
    shard_dims: Any = None,
    is_dataset_splitted: bool = False,
    dense_tensor_idx: Any = None,
) -> ShardDataloader:
    """The batches of a loader, which is the same in all processes, as distributed tensors.

    meshes: one for all inputs, or one for each. input_keys: which entries of a batch that is a dictionary.
    shard_dims: the axis of the mesh, by name or number, along which the batch is cut; a list gives one for
    each input; None replicates. is_dataset_splitted: each process's loader has its own samples already.
    dense_tensor_idx: is for static programs.
    """
    listed = [meshes] if isinstance(meshes, ProcessMesh) else list(meshes)
    check_kind(dataloader, Iterable, "dataloader")
    for mesh in listed:
        check_kind(mesh, ProcessMesh, "meshes")
    return ShardDataloader(dataloader, listed, input_keys, shard_dims, is_dataset_splitted)
