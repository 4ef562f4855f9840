"""A network as a list of layers, of which each process makes its own part."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...engine.backward import no_grad
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn.container import LayerDict
from ...nn.layer import Layer
from ...random import get_rng_state, seed, set_rng_state
from ...serialization import load, save
from .. import environment, wire
from ..collective import new_group
from ..group import Group
from .recompute import recomputed

__all__ = ["LayerDesc", "PipelineLayer", "SegmentLayers", "SharedLayerDesc"]

SEED = 1234  # of the parameters of layer 0: layer i gets them from SEED + i, wherever it is made


class LayerDesc:
    """A layer that is made where it is needed: `LayerDesc(nn.Linear, 4, 8)`.

    TypeError for what is not a class of layers.
    """

    def __init__(self, layer_func: Any, *inputs: Any, **kwargs: Any) -> None:
        if not (isinstance(layer_func, type) and issubclass(layer_func, Layer)):
            raise TypeError(f"LayerDesc: layer_func: expected a class of layers, got {layer_func!r}")
        self.layer_func, self.inputs, self.kwargs = layer_func, inputs, kwargs

    def build_layer(self, **extra_kwargs: Any) -> Layer:
        """Make the layer."""
        made: Layer = self.layer_func(*self.inputs, **{**self.kwargs, **extra_kwargs})
        return made

    def __repr__(self) -> str:
        given = [*map(repr, self.inputs), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.layer_func.__name__}({', '.join(given)})"


class SharedLayerDesc(LayerDesc):
    """A layer that occurs several times, with the same weights: an embedding that is also the output layer.

    key: equal for all occurrences. forward_func: called with the layer and the inputs, in place of the layer.
    shared_weight_attr: names of the weights that occurrences in different processes keep equal; the gradients
    are added up.
    """

    def __init__(
        self,
        key: str,
        layer_func: Any,
        forward_func: Callable[..., Any] | None = None,
        shared_weight_attr: str | list[str] = "weight",
        *inputs: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(layer_func, *inputs, **kwargs)
        self.layer_name, self.forward_func = key, forward_func
        listed = [shared_weight_attr] if isinstance(shared_weight_attr, str) else shared_weight_attr
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise InvalidArgument(f"shared_weight_attr: expected names, got {shared_weight_attr!r}")
        self.shared_weight_attr = listed


class SegmentLayers:
    """Where a list of layers is cut into parts.

    num_parts: processes, p. method: "uniform"; "layer:Name": as many layers whose class matches Name in each
    part; a list with the first layer of each part, and the number of layers at the end unless left out.
    num_virtual_pipeline_stage: parts of each process, v; with "layer:Name" p v parts are made.
    """

    def __init__(
        self,
        layers_desc: Sequence[Any],
        num_parts: int,
        method: str | list[int] = "uniform",
        num_virtual_pipeline_stage: int | None = None,
    ) -> None:
        if len(layers_desc) < num_parts:
            raise InvalidArgument(
                f"layers: expected at least as many layers as stages, {num_parts}, got {len(layers_desc)}"
            )
        self._layers_desc, self.method, self.num_parts = layers_desc, method, num_parts
        self.num_items = len(layers_desc)
        self.total_parts = num_parts * (num_virtual_pipeline_stage or 1)

    def do_segment(self) -> list[int]:
        """The first layer of each part, and the number of layers. Raises InvalidArgument."""
        if isinstance(self.method, list):
            return self._given(self.method)
        if self.method == "uniform":
            return self.uniform(self.num_items, self.num_parts)
        if self.method.startswith("layer:"):
            return self._by_name(self.method.split(":")[1])
        raise InvalidArgument(f"seg_method: expected uniform, layer:Name or a list, got {self.method!r}")

    def _given(self, starts: list[int]) -> list[int]:
        if len(starts) == self.num_parts:
            starts = [*starts, self.num_items]
        fits = len(starts) == self.num_parts + 1 and all(isinstance(start, int) for start in starts)
        if not (fits and starts[0] == 0 and starts[-1] == self.num_items and starts == sorted(starts)):
            raise InvalidArgument(
                f"seg_method: expected {self.num_parts} rising numbers from 0 on, and then the number of "
                f"layers, {self.num_items}, or nothing; got {self.method!r}"
            )
        return starts

    def uniform(self, num_items: int, num_parts: int) -> list[int]:
        """Parts of equal length; those at the end have one layer more where needed."""
        size, more = divmod(num_items, num_parts)
        return [part * size + max(0, part - (num_parts - more)) for part in range(num_parts + 1)]

    def _by_name(self, name: str) -> list[int]:
        """Parts that end after an equal number of layers whose class matches."""
        found = [
            place for place, layer in enumerate(self._layers_desc) if re.search(name, _name(layer), re.I)
        ]
        if not found or len(found) % self.total_parts:
            raise InvalidArgument(
                f"seg_method: expected a multiple of {self.total_parts}, the number of stages, as number of "
                f"layers named {name!r}; got {len(found)} of {self.num_items}"
            )
        size = len(found) // self.total_parts
        return [0, *(place + 1 for place in found[size - 1 : -1 : size]), self.num_items]


def _name(layer: Any) -> str:
    """The name of a layer's class, or of a function."""
    if isinstance(layer, LayerDesc):
        return str(layer.layer_func.__name__)
    return type(layer).__name__ if isinstance(layer, Layer) else str(getattr(layer, "__name__", ""))


class PipelineLayer(Layer):
    """The layers of a network that belong to this process's stages of a pipeline.

    layers: LayerDesc, SharedLayerDesc, layers and functions of one argument, run one after another; between
    them goes a Tensor, or a tuple, list or dictionary with Tensors. num_stages: processes of a pipeline, p.
    topology: a CommunicateTopology, which says the same. loss_fn: called with the last layer's outputs and
    the labels; a list of several is allowed. seg_method: see `SegmentLayers`. recompute_interval: so many
    layers together keep their inputs alone and run again in the backward pass; 0: none do.
    num_virtual_pipeline_stages: stages of each process, v; more than 1 interleaves them, and needs
    seg_method="layer:Name". use_cudagraph: has no effect.

    Layer i draws its parameters from a seed of its own, so that they do not depend on where the network is
    cut. Sublayers have the number of the layer in the list as name, also in `state_dict`, which has the
    parameters of this process alone; with v > 1 it follows that of the stage's first layer.
    """

    def __init__(
        self,
        layers: Any,
        num_stages: int | None = None,
        topology: Any = None,
        loss_fn: Any = None,
        seg_method: str | list[int] = "uniform",
        recompute_interval: int = 0,
        recompute_ctx: dict[str, Any] | None = None,
        num_virtual_pipeline_stages: int | None = None,
        use_cudagraph: bool = False,
        use_dualpipev: bool = False,
    ) -> None:
        super().__init__()
        if num_stages is None and topology is None:
            raise ValueError("PipelineLayer: should provide num_stages or topology")
        if use_dualpipev:
            raise InvalidArgument("use_dualpipev: expected False, got True: DualPipeV does not exist here")
        self._num_virtual_pipeline_stages = chunks = num_virtual_pipeline_stages or 1
        if chunks > 1 and not (isinstance(seg_method, str) and seg_method.startswith("layer:")):
            raise InvalidArgument(
                f"seg_method: expected layer:Name with several stages in each process, got {seg_method!r}"
            )
        self._loss_fn = loss_fn if isinstance(loss_fn, list) else [loss_fn]
        self._recompute_interval, self.recompute_ctx = recompute_interval, recompute_ctx
        self._layers_desc = list(layers)
        self._num_layers = len(self._layers_desc)
        self.global_rank = environment.get_rank()
        self._topo = topology
        self._pipelines = _pipelines(num_stages, topology)
        ranks = next(each for each in self._pipelines if self.global_rank in each)
        self._num_stages, self._stage_id = len(ranks), ranks.index(self.global_rank)
        cut = SegmentLayers(self._layers_desc, self._num_stages, seg_method, num_virtual_pipeline_stages)
        self.segment_parts = cut.do_segment()
        self.shared_layers = LayerDict()
        self._parts = self._build()
        self.run_function = self._parts[0]
        self._shared_groups = self._groups_of_shared()
        self._synchronize_shared_weights()

    # --- making ---

    def _build(self) -> list[list[Any]]:
        """The functions of each stage of this process."""
        before = get_rng_state()
        parts = []
        for chunk in range(self._num_virtual_pipeline_stages):
            stage = chunk * self._num_stages + self._stage_id
            start, end = self.segment_parts[stage : stage + 2]
            functions = []
            for place in range(start, end):
                seed(SEED + place)
                functions.append(self._made(self._layers_desc[place]))
            self._name_sublayers(functions, start)
            parts.append(functions)
        set_rng_state(before)
        return parts

    def _made(self, described: Any) -> Any:
        if isinstance(described, SharedLayerDesc):
            if described.layer_name not in self.shared_layers:
                self.shared_layers[described.layer_name] = described.build_layer()
            layer = self.shared_layers[described.layer_name]
            return layer if described.forward_func is None else partial(described.forward_func, layer)
        return described.build_layer() if isinstance(described, LayerDesc) else described

    def _name_sublayers(self, functions: list[Any], start: int) -> None:
        shared = [*self.shared_layers.values()]
        own = [(place, f) for place, f in enumerate(functions) if isinstance(f, Layer) and f not in shared]
        if self._num_virtual_pipeline_stages == 1:
            for place, layer in own:
                self.add_sublayer(str(start + place), layer)
            return
        chunk = Layer()
        for place, layer in own:
            chunk.add_sublayer(str(place), layer)
        self.add_sublayer(str(start), chunk)

    def _groups_of_shared(self) -> list[tuple[Group, list[Tensor]]]:
        """The groups of processes with the same shared weights, and those weights, for this process."""
        found: list[tuple[Group, list[Tensor]]] = []
        stages: dict[str, dict[int, set[str]]] = {}  # key: {stage: names}
        for place, layer in enumerate(self._layers_desc):
            if isinstance(layer, SharedLayerDesc):
                names = stages.setdefault(layer.layer_name, {}).setdefault(
                    self.get_stage_from_index(place), set()
                )
                names.update(layer.shared_weight_attr)
        for key, named in stages.items():
            if len(named) == 1:
                continue
            common = sorted(set.intersection(*named.values()))
            for ranks in self._pipelines:
                group = new_group([ranks[stage] for stage in named])
                if group.is_member():
                    shared = self.shared_layers[key]
                    found.append((group, [getattr(shared, name) for name in common]))
        return found

    def _synchronize_shared_weights(self) -> None:
        """Let shared weights be those of the first stage that has them."""
        with no_grad():
            for group, weights in self._shared_groups:
                for weight in weights:
                    wire.broadcast(weight.data, 0, group)
                    shared: Any = weight
                    shared.is_firstly_shared = group.rank == 0  # for norms: see Clipping

    def allreduce_shared_weight_gradients(self) -> None:
        """Add up the gradients of shared weights over the stages that have them."""
        for group, weights in self._shared_groups:
            for number, weight in enumerate(weights):  # its own name is another one in each process
                if weight.grad is None:
                    weight.grad = Tensor(weight.data.new_zeros(weight.data.shape))
                label = f"gradient of shared weight {number}"
                wire.all_reduce(weight.grad.data, wire.ReduceOp.SUM, group, label=label)

    # --- where layers are ---

    def get_stage_from_index(self, layer_idx: int) -> int:
        """The process, in its pipeline, that has a layer of the list."""
        if not 0 <= layer_idx < self._num_layers:
            raise InvalidArgument(f"layer_idx: expected 0 to {self._num_layers - 1}, got {layer_idx}")
        starts = self.segment_parts[:-1]
        return max(stage for stage, start in enumerate(starts) if start <= layer_idx) % self._num_stages

    def get_num_virtual_stages(self) -> int:
        """Stages of each process."""
        return self._num_virtual_pipeline_stages

    def get_model_chunks(self) -> list[list[Any]] | None:
        """The functions of each stage of this process, None where it has one."""
        return None if self._num_virtual_pipeline_stages == 1 else self._parts

    # --- running ---

    def forward(self, input: Any, chunk_id: int | None = None) -> Any:
        """The outputs of a stage of this process. chunk_id: its number here."""
        functions = self._parts[chunk_id or 0]
        every = self._recompute_interval
        if not every:
            return _run(functions, input)
        for start in range(0, len(functions), every):
            part = functions[start : start + every]
            input = recomputed(partial(_run, part), input)
        return input

    def save_state_dict(self, path: str) -> None:
        """Write the parameters of each layer of this process to a file of its own, in a folder. Of several
        pipelines the first writes."""
        if self.global_rank not in self._pipelines[0]:
            return
        os.makedirs(path, exist_ok=True)
        for file, layer in self._files(path):
            save(layer.state_dict(), str(file))

    def set_state_dir(self, path: str) -> None:
        """Read the files of `save_state_dict`. They fit any number of stages. InvalidArgument where one is
        missing."""
        for file, layer in self._files(path):
            if not file.exists():
                raise InvalidArgument(f"path: expected the file {file.name} in it, got {path!r}")
            layer.set_state_dict(load(str(file)))
        self._synchronize_shared_weights()

    def _files(self, path: str) -> list[tuple[Path, Layer]]:
        """A file for each layer of this process that has parameters or buffers."""
        found = []
        for chunk, functions in enumerate(self._parts):
            start = self.segment_parts[chunk * self._num_stages + self._stage_id]
            for place, function in enumerate(functions, start):
                layer = function.args[0] if isinstance(function, partial) and function.args else function
                if isinstance(layer, Layer):
                    found.append((Path(path, f"layer_{place:02d}-model_states.pdparams"), layer))
        return found


def _run(functions: Sequence[Any], value: Any) -> Any:
    for function in functions:
        value = function(value)
    return value


def _pipelines(num_stages: int | None, topology: Any) -> list[list[int]]:
    """The processes of each pipeline, in the order of their stages."""
    count = environment.get_world_size()
    if topology is not None:
        found: list[list[int]] = topology.get_comm_list("pipe")
        if num_stages and len(found[0]) != num_stages:
            raise InvalidArgument(
                f"num_stages: expected that of the topology, {len(found[0])}, got {num_stages}"
            )
        return found
    assert num_stages is not None  # one of the two is given
    if num_stages < 1 or count % num_stages:
        raise ValueError(
            f"PipelineLayer: num_stages: expected a divisor of {count}, the number of processes, "
            f"got {num_stages}"
        )
    return [list(range(first, first + num_stages)) for first in range(0, count, num_stages)]
