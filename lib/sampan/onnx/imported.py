"""`load`: an ONNX file as a layer."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit.spec import InputSpec
from ..jit.translated import _checked
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from .reader import Model, read
from .readers import READERS, Node
from .readers.table import Cannot, Fixed, tensor


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
        last = {name: i for i, node in enumerate(self._nodes) for name in node.inputs}
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
