"""Graph: an ONNX graph while it is written, for the emitters.

What an emitter gives as an input of a node is a Ref of the Program, a name that another node returned, an
array, a list of ints and Lengths, or None for an input that is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod
from typing import Any

import numpy as np
import torch

from ..jit.program import Ref
from ..jit.symbolic import Axis, Length
from .facts import Fact
from .library import array_of, library, number_of


class Unsupported(Exception):
    """An emitter cannot say a call in ONNX; the text says why."""


class Graph:
    """Nodes and constants of a graph.

    names: the name of each Ref. known: its Fact. opset: the version of ONNX's operators. outside: name and
    buffer of each Ref from outside, which becomes a constant where it is used. result: the Ref, or
    the structure of them, that the call which is being written returns. line: where the model calls it.
    """

    def __init__(
        self, known: dict[Ref, Fact], opset: int, outside: dict[Ref, tuple[str, torch.Tensor]]
    ) -> None:
        self.known, self.opset, self.outside = known, opset, outside
        self.names: dict[Ref, str] = {}
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.result: Any = None
        self.line = ""
        self._shared: dict[Any, str] = {}
        self._numbers = count()

    def share(self, other: Graph) -> None:
        """Number nodes with those of another graph, whose constants this one knows too."""
        self._numbers = other._numbers
        self._shared = {key: name for key, name in other._shared.items() if type(key) is tuple}

    def fresh(self, kind: str) -> str:
        """A name that nothing has."""
        return f"{kind}_{next(self._numbers)}"

    # --- facts ---

    def fact(self, value: Any) -> Fact:
        """The Fact of a Ref."""
        if not isinstance(value, Ref):
            raise Unsupported(f"expected a Tensor, got {value!r}")
        return self.known[value]

    def rank(self, value: Any) -> int:
        """The number of axes of a Ref."""
        return self.fact(value).ndim

    def axis(self, value: Any, axis: int) -> int:
        """An axis of a Ref counted from the first."""
        return axis % max(self.rank(value), 1)

    def constant_fact(self, buffer: torch.Tensor) -> Fact:
        """The Fact of a constant."""
        return Fact(tuple(buffer.shape), buffer.dtype, buffer)

    @property
    def made(self) -> Fact:
        """The Fact of the one result of the call that is being written."""
        return self.known[self.result]

    # --- nodes ---

    def node(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """A node of ONNX's operator `kind`: the name of its output, or of each output."""
        given = [self.name(value) for value in inputs]
        while given and not given[-1]:
            given.pop()
        number = next(self._numbers)
        made = [f"{kind}_{number}" + (f"_{i}" if i else "") for i in range(outputs)]
        attributes = {name: value for name, value in attributes.items() if value is not None}
        node = library().helper.make_node(kind, given, made, f"{kind}_{number}", **attributes)
        node.doc_string = self.line
        self.nodes.append(node)
        return made[0] if outputs == 1 else tuple(made)

    def name(self, value: Any) -> str:
        """The name of what is an input of a node."""
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, Ref):
            if value not in self.names and value in self.outside:
                name, buffer = self.outside[value]
                self.names[value] = self.buffer(buffer, name)
            return self.names[value]
        if isinstance(value, np.ndarray):
            return self.constant(value)
        if isinstance(value, (list, tuple)):
            return self.ints(value)
        raise Unsupported(f"a value of type {type(value).__name__}")

    def constant(self, array: np.ndarray, name: str = "constant") -> str:
        """The name of an array that the file holds; small equal ones are one."""
        plain = name == "constant" and array.size <= 64
        key: Any = (str(array.dtype), array.shape, array.tobytes()) if plain else (name, id(array))
        if key not in self._shared:
            wanted = f"constant_{len(self.constants)}" if name == "constant" else name
            while wanted in self.constants:
                wanted = f"{wanted}_"
            self._shared[key] = wanted
            self.constants[wanted] = array
        return self._shared[key]

    def number(self, value: Any, dtype: torch.dtype) -> str:
        """A 0-d constant, or a Length as one."""
        if isinstance(value, Length):
            return self.cast(self.node("Squeeze", self.length(value), [0]), dtype)
        return self.buffer(torch.tensor(value, dtype=dtype))

    def buffer(self, buffer: torch.Tensor, name: str = "constant") -> str:
        """A buffer as a constant."""
        return self.constant(array_of(buffer), name)

    def ints(self, values: Sequence[Any]) -> str:
        """A 1-D int64 value of ints and Lengths."""
        if all(isinstance(value, int) for value in values):
            return self.constant(np.array([int(value) for value in values], np.int64))
        parts = [self.length(v) if isinstance(v, Length) else self.ints([v]) for v in values]
        return parts[0] if len(parts) == 1 else str(self.node("Concat", *parts, axis=0))

    def length(self, length: Length) -> str:
        """A Length as a value of shape [1]."""
        if length not in self._shared:
            found = self._axis(length.axes[0])
            for axis in length.axes[1:]:
                found = self.node("Mul", found, self._axis(axis))
            for kind, by, plain in (
                ("Mul", length.numerator, 1),
                ("Div", length.denominator, 1),
                ("Add", length.plus, 0),
            ):
                found = found if by == plain else self.node(kind, found, self.ints([by]))
            self._shared[length] = found
        return self._shared[length]

    def _axis(self, axis: Axis) -> str:
        if axis not in self._shared:
            place = self.names[Ref("x", axis.input)]
            self._shared[axis] = self.node("Shape", place, start=axis.axis, end=axis.axis + 1)
        return self._shared[axis]

    # --- what many emitters need ---

    def cast(self, value: Any, dtype: torch.dtype) -> str:
        """A value in a dtype. A name, whose dtype is not known here, is always converted."""
        if isinstance(value, Ref) and self.known[value].dtype is dtype:
            return self.name(value)
        return str(self.node("Cast", value, to=number_of(dtype)))

    def operand(self, value: Any, dtype: torch.dtype) -> str:
        """A Ref or a number as a value in a dtype."""
        return self.cast(value, dtype) if isinstance(value, Ref) else self.number(value, dtype)

    def shape(self, value: Any) -> str:
        """The lengths of a Ref's axes, a constant where they are known."""
        if isinstance(value, Ref) and None not in self.known[value].shape:
            return self.ints([int(n or 0) for n in self.known[value].shape])
        return str(self.node("Shape", value))

    def lengths(self, values: Sequence[Any]) -> Any:
        """What Reshape takes: one length that follows the input is -1."""
        free = [i for i, value in enumerate(values) if isinstance(value, Length)]
        known = [value for value in values if not isinstance(value, Length)]
        if len(free) == 1 and -1 not in known and 0 not in known:
            return [-1 if i in free else value for i, value in enumerate(values)]
        return list(values)

    def reduce(self, kind: str, value: Any, axes: Sequence[int] | None, keepdim: bool = False) -> str:
        """Reduce<kind> over axes, all for None. The axes became an input at another opset for each."""
        keep = int(keepdim)
        if axes is None:
            return str(self.node(f"Reduce{kind}", value, keepdims=keep))
        if self.opset >= 18 or kind == "Sum":
            return str(self.node(f"Reduce{kind}", value, list(axes), keepdims=keep))
        return str(self.node(f"Reduce{kind}", value, axes=list(axes), keepdims=keep))

    def static(self, value: Any, what: str) -> list[int]:
        """The shape of a Ref, which must not follow the input."""
        shape = self.fact(value).shape
        if None in shape:
            raise Unsupported(f"{what} of an input whose shape {list(shape)} is not known")
        return [int(n or 0) for n in shape]

    def numel(self, value: Any) -> str:
        """The number of entries of a Ref, as a value of shape [1]."""
        shape = self.fact(value).shape
        if None not in shape:
            return self.ints([prod(int(n or 0) for n in shape)])
        return str(self.node("Reshape", self.node("Size", value), [1]))
