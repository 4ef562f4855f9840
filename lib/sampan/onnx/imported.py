"""`load`: an ONNX file as a layer."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import ops
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit.python_flow import all_of, choose, repeat
from ..jit.record import recording
from ..jit.spec import InputSpec
from ..jit.translated import _checked
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from .reader import Model, read
from .readers import READERS, Node
from .readers.table import FLOWS, Cannot, Fixed, Inner, tensor


def load(path: str | os.PathLike[str]) -> ImportedLayer:
    """An ONNX file as a layer that evaluates and can be trained further.

    Its float constants are parameters, statistics of batches and numbers are not. Opset 7 and above. Raises
    InvalidArgument with the place for a file that is no ONNX, is cut off, has cycles, data outside its folder
    or above 2 GB, and with all operators that are not read. Nothing of the file is executed. Needs the extra
    `deploy`.
    """
    return ImportedLayer(read(path))


class ImportedLayer(Layer):
    """A layer that computes the nodes of an ONNX graph, in their order.

    inputs: an InputSpec for each argument. outputs: the names of the results: one Tensor, or a list of them.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.inputs, self.outputs, self._nodes = model.inputs, model.outputs, model.nodes
        self._values: dict[str, Any] = {}
        statistics = {
            n for node in model.nodes if node.kind == "BatchNormalization" for n in node.inputs[3:5]
        }
        for name, value in model.constants.items():
            self._values[name] = self._held(name, value, name in statistics)
        last = {name: i for i, node in enumerate(self._nodes) for name in node.reads()}
        self._ends: list[list[str]] = [[] for _ in self._nodes]
        for name, i in last.items():
            if name and name not in self._values and name not in self.outputs:
                self._ends[i].append(name)

    def _held(self, name: str, value: Any, statistic: bool) -> Any:
        """A constant: a parameter or buffer of this layer; an array where it is one number or of ints."""
        if isinstance(value, np.ndarray) and (value.dtype.kind != "f" or value.ndim == 0):
            return value.view(Fixed)
        data = value if isinstance(value, torch.Tensor) else torch.from_numpy(value)
        own = "".join(c if c.isalnum() else "_" for c in name) or "constant"
        own = own if own.isidentifier() and not hasattr(self, own) else f"constant_{len(self._values)}"
        if statistic:
            self.register_buffer(own, Tensor(data))
        else:
            setattr(self, own, Parameter(data))
        return getattr(self, own)

    @property
    def _input_spec(self) -> list[InputSpec]:
        return self.inputs

    def forward(self, *inputs: Any) -> Any:
        """The results for the inputs in the order of `inputs`."""
        if len(inputs) != len(self.inputs):
            names = [spec.name for spec in self.inputs]
            raise InvalidArgument(f"forward: expected {len(names)} inputs {names}, got {len(inputs)}")
        values = dict(self._values)
        for spec, given in zip(self.inputs, inputs, strict=True):
            values[str(spec.name)] = _checked(given, spec, "forward")
        for node, ends in zip(self._nodes, self._ends, strict=True):
            _computed(node, values)
            for name in ends:
                values.pop(name, None)
        found = [tensor(values[name]) for name in self.outputs]
        return found[0] if len(found) == 1 else found


def _computed(node: Node, values: dict[str, Any]) -> None:
    """Put the results of a node into `values`."""
    try:
        if node.kind in FLOWS:
            made = (_branch if node.kind == "If" else _loop)(node, values)
        else:
            made = READERS[node.kind](node, *(values[name] if name else None for name in node.inputs))
    except (Cannot, ValueError, TypeError, RuntimeError, IndexError, KeyError, AttributeError) as error:
        raise InvalidArgument(f"{node.name} ({node.kind}): {error}") from error
    listed = made if isinstance(made, (tuple, list)) else (made,)
    if len(listed) < len(node.outputs):
        raise InvalidArgument(
            f"{node.name} ({node.kind}): its output {node.outputs[len(listed)]!r} is not computed"
        )
    for name, value in zip(node.outputs, listed, strict=False):
        values[name] = (
            value.view(Fixed) if isinstance(value, np.ndarray) and not isinstance(value, Fixed) else value
        )


# --- loops and branches ---


def _answers(graph: Inner, values: dict[str, Any], given: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The outputs of a graph in a node. values: those around it."""
    own = {**values, **graph.constants, **dict(zip(graph.inputs, given, strict=True))}
    for node in graph.nodes:
        _computed(node, own)
    return tuple(own[name] for name in graph.outputs)


def _branch(node: Node, values: dict[str, Any]) -> tuple[Any, ...]:
    """If: the outputs of one of two graphs."""
    truth = values[node.inputs[0]]
    ways = [
        functools.partial(_tensors, node.settings[name], values) for name in ("then_branch", "else_branch")
    ]
    return choose(truth, ways[0], ways[1], (), node.outputs)


def _tensors(graph: Inner, values: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(map(tensor, _answers(graph, values)))


def _loop(node: Node, values: dict[str, Any]) -> tuple[Any, ...]:
    """Loop: the last values of its variables, and what each round gives beside them, in one Tensor each."""
    most, going, *state = (values[name] if name else None for name in node.inputs)
    body: Inner = node.settings["body"]
    scans: list[list[Any]] = [[] for _ in body.outputs[1 + len(state) :]]
    if scans and recording():
        raise Cannot("a loop that gives a result for each round, in a Program")
    names = ["the round", "the test", *(name or "a variable" for name in node.inputs[2:])]

    def test(turn: Any, again: Any, *now: Any) -> Any:
        return all_of(lambda: again, lambda: True if most is None else turn < most)

    def round_(turn: Any, again: Any, *now: Any) -> tuple[Any, ...]:
        at = turn if isinstance(turn, Tensor) else np.array(turn).view(Fixed)
        following, *found = _answers(body, values, [at, again, *now])
        for scan, value in zip(scans, found[len(now) :], strict=True):
            scan.append(tensor(value))
        return (turn + 1, following, *map(tensor, found[: len(now)]))

    begin = True if going is None else going
    last = repeat(test, round_, (0, begin, *map(tensor, state)), names)
    return (*last[2:], *(ops.stack(scan, 0) for scan in scans))
