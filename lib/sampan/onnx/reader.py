"""Reading an ONNX file: bytes to checked nodes and arrays. Nothing of the file is ever executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit.spec import InputSpec
from .library import DTYPES, library
from .readers import READERS, Node
from .readers.table import FLOWS, Fixed, Inner

LARGEST = 2**31 - 1  # bytes, of a protobuf
LOWEST = 7  # an opset, of 2017
_DEPTH = 16  # of graphs in nodes of graphs


class Model(NamedTuple):
    """What is in a file: constants by name (arrays, and buffers of dtypes that NumPy has not)."""

    nodes: list[Node]
    constants: dict[str, Any]
    inputs: list[InputSpec]
    outputs: list[str]


def read(path: str | os.PathLike[str]) -> Model:
    """The content of a file. InvalidArgument, with the place, for whatever is wrong with it."""
    file = Path(path)
    if not file.is_file():
        raise InvalidArgument(f"load: path: no file {str(path)!r}")
    if file.stat().st_size > LARGEST:
        raise InvalidArgument(f"load: {file.name}: expected at most 2 GB, got {file.stat().st_size} bytes")
    model = library().ModelProto()
    try:
        model.ParseFromString(file.read_bytes())
    except Exception as error:  # protobuf's error is of another class in each of its implementations
        raise InvalidArgument(f"load: {file.name}: not an ONNX file, or cut off: {error}") from error
    try:
        return _checked(model, file)
    except InvalidArgument as error:
        raise InvalidArgument(f"load: {file.name}: {error}") from error


def _checked(model: Any, file: Path) -> Model:
    if not model.HasField("graph") or not model.opset_import:
        raise InvalidArgument("not an ONNX file: it has no graph")
    opset = max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0)
    highest = library().defs.onnx_opset_version()
    if not LOWEST <= opset <= highest:
        raise InvalidArgument(f"expected an opset from {LOWEST} to {highest}, got {opset}")
    graph = model.graph
    constants = _constants(graph, file.parent)
    nodes = [_node(one, opset, i, file.parent) for i, one in enumerate(graph.node)]
    if lacking := _lacking(nodes):
        raise InvalidArgument(f"{len(lacking)} nodes of operators that are not read: {', '.join(lacking)}")
    inputs = [_spec(one) for one in graph.input if one.name not in constants]
    outputs = [one.name for one in graph.output]
    _ordered(nodes, {*constants, *(str(spec.name) for spec in inputs)}, outputs)
    return Model(nodes, constants, inputs, outputs)


def _constants(graph: Any, folder: Path) -> dict[str, Any]:
    if graph.sparse_initializer:
        name = graph.sparse_initializer[0].values.name
        raise InvalidArgument(f"tensor {name!r}: sparse tensors are not read")
    return {one.name: _content(one, f"tensor {one.name!r}", folder) for one in graph.initializer}


def _lacking(nodes: list[Node]) -> list[str]:
    """The nodes of operators that are not read, also those in loops and branches."""
    found = [f"{node.name} ({node.kind})" for node in nodes if node.kind not in (*READERS, *FLOWS)]
    return found + [name for node in nodes for graph in node.inner for name in _lacking(graph.nodes)]


def _inner(graph: Any, opset: int, folder: Path, depth: int) -> Inner:
    """A graph in a node."""
    if depth > _DEPTH:
        raise InvalidArgument(f"graph {graph.name!r}: expected at most {_DEPTH} graphs in one another")
    nodes = [_node(one, opset, i, folder, depth) for i, one in enumerate(graph.node)]
    names = [[one.name for one in part] for part in (graph.input, graph.output)]
    constants = _constants(graph, folder)
    held = {name: v.view(Fixed) if isinstance(v, np.ndarray) else Tensor(v) for name, v in constants.items()}
    return Inner(nodes, held, *names)


def _node(proto: Any, opset: int, place: int, folder: Path, depth: int = 0) -> Node:
    kind = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
    name = proto.name or f"node {place}"
    settings = {}
    # A node of an unknown operator is reported with all others; its settings need no reading.
    for attribute in proto.attribute if kind in READERS or kind in FLOWS else ():
        value = library().helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif isinstance(value, library().GraphProto):
            value = _inner(value, opset, folder, depth + 1)
        elif isinstance(value, library().TensorProto):
            value = _content(value, f"{name}: {attribute.name}", folder)
        elif isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
            value = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
        elif not isinstance(value, (int, float)):
            raise InvalidArgument(f"{name}: {attribute.name}: {type(value).__name__} is not read")
        settings[attribute.name] = value
    return Node(kind, name, list(proto.input), list(proto.output), settings, opset)


def _ordered(nodes: list[Node], known: set[str], outputs: list[str]) -> None:
    """Refuse a graph that reads what nothing has made before."""
    made = set(known)
    later = {name: node for node in nodes for name in node.outputs if name}
    for node in nodes:
        for name in node.reads():
            if name and name not in made:
                if name in later:
                    other = later[name].name
                    raise InvalidArgument(
                        f"{node.name} reads {name!r} before {other} makes it: a cycle, or no order"
                    )
                raise InvalidArgument(f"{node.name} reads {name!r}, which nothing makes")
        for graph in node.inner:
            _ordered(graph.nodes, made | {*graph.constants, *graph.inputs}, graph.outputs)
        for name in node.outputs:
            if name and name in made:
                raise InvalidArgument(f"{node.name} makes {name!r} again")
            made.add(name)
    for name in outputs:
        if name not in made:
            raise InvalidArgument(f"the output {name!r} is made by nothing")


def _spec(info: Any) -> InputSpec:
    kind = info.type.tensor_type
    if not info.type.HasField("tensor_type") or kind.elem_type not in DTYPES:
        raise InvalidArgument(f"input {info.name!r}: expected a tensor of numbers")
    if not kind.HasField("shape"):
        raise InvalidArgument(f"input {info.name!r}: expected a shape")
    shape = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
    return InputSpec(shape, DTYPES[kind.elem_type], info.name)


def _content(proto: Any, where: str, folder: Path) -> Any:
    """The array of a tensor; a buffer for bfloat16."""
    if proto.data_type not in DTYPES:
        raise InvalidArgument(f"{where}: dtype number {proto.data_type} is not read")
    if any(n < 0 for n in proto.dims):
        raise InvalidArgument(f"{where}: negative lengths {list(proto.dims)}")
    if proto.data_location == library().TensorProto.EXTERNAL:
        _bring(proto, where, folder)
    try:
        found = library().numpy_helper.to_array(proto)
    except Exception as error:  # of several classes
        raise InvalidArgument(f"{where}: damaged: {error}") from error
    if DTYPES[proto.data_type] is torch.bfloat16:
        return torch.from_numpy(found.view(np.int16).copy()).view(torch.bfloat16)
    return np.array(found)


def _bring(proto: Any, where: str, folder: Path) -> None:
    """Put the bytes of another file, which must lie in the model's folder, into a tensor."""
    given = {entry.key: entry.value for entry in proto.external_data}
    location = given.get("location", "")
    other = (folder / location).resolve()
    if not location or os.path.isabs(location) or folder.resolve() not in other.parents:
        raise InvalidArgument(f"{where}: its data is outside the model's folder: {location!r}")
    if not other.is_file():
        raise InvalidArgument(f"{where}: no file {location!r}")
    try:
        start, count = int(given.get("offset", 0)), given.get("length")
        size = other.stat().st_size
        length = size - start if count is None else int(count)
    except ValueError as error:
        raise InvalidArgument(f"{where}: offset and length: {error}") from error
    if start < 0 or length < 0 or start + length > size or length > LARGEST:
        raise InvalidArgument(f"{where}: bytes {start} to {start + length} of {location!r}, which has {size}")
    with other.open("rb") as file:
        file.seek(start)
        proto.raw_data = file.read(length)
    proto.data_location = library().TensorProto.DEFAULT
