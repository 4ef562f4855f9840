"""The table of readers: for the name of an operator of ONNX the function that computes it.

A reader takes the Node and its inputs, None where one is left out, and returns a value or a tuple of them. A
value is a Tensor, or a NumPy array where it is computed from shapes and constants alone: so lengths are
numbers of Python when a layer of ours takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...engine.tensor import Tensor

Reader = Callable[..., Any]
READERS: dict[str, Reader] = {}


@dataclass
class Node:
    """A node of a graph: its operator, settings, the names of its inputs and outputs, the opset it is of."""

    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]
    settings: dict[str, Any]
    opset: int

    @property
    def inner(self) -> list[Inner]:
        """The graphs of a loop or branch."""
        return [value for value in self.settings.values() if isinstance(value, Inner)]

    def reads(self) -> list[str]:
        """The names that it reads, also those that its graphs read of the values around it."""
        return [*self.inputs, *(name for graph in self.inner for name in graph.around())]

    def get(self, name: str, default: Any = None) -> Any:
        """A setting."""
        return self.settings.get(name, default)


@dataclass
class Inner:
    """A graph in a node: its nodes, constants, and the names of its inputs and outputs."""

    nodes: list[Node]
    constants: dict[str, Any]
    inputs: list[str]
    outputs: list[str]

    def around(self) -> list[str]:
        """The names that it reads of the values around it."""
        own = {*self.constants, *self.inputs, *(name for node in self.nodes for name in node.outputs)}
        read = [*(name for node in self.nodes for name in node.reads()), *self.outputs]
        return [name for name in dict.fromkeys(read) if name and name not in own]


FLOWS = ("If", "Loop")  # which imported.py computes


def reads(*names: str) -> Callable[[Reader], Reader]:
    """A decorator: this function computes these operators."""

    def entered(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(names, reader))
        return reader

    return entered


class Cannot(Exception):
    """A node asks for what its reader does not do; the text says what."""


class Fixed(np.ndarray):
    """An array of a graph. held: the Tensor with its content, made when a reader first needs it."""

    held: Tensor | None = None


def tensor(value: Any) -> Tensor:
    """A value as a Tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Fixed):
        if value.held is None:
            value.held = Tensor(torch.from_numpy(np.array(value)))
        return value.held
    return Tensor(torch.from_numpy(np.array(value)))


def array(value: Any) -> np.ndarray:
    """A value as an array; of a Tensor that is computed from the input its content."""
    found: np.ndarray = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    return found


def ints(value: Any) -> list[int]:
    """A 1-D value as ints."""
    return [int(n) for n in array(value).reshape(-1)]


def fixed(*values: Any) -> bool:
    """Whether none of the values is computed from the content of the input."""
    return not any(isinstance(value, Tensor) for value in values)
