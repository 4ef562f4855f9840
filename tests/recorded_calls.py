"""The operator calls of a program, with the origin of each of their inputs: an oracle for programs that are traced.

A trace can be replayed on other inputs only if every Tensor in it is an input, a parameter, the value of an
earlier call, made from a shape, or a constant that does not depend on the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

import sampan as paddle
from sampan.engine.apply import observed_by
from sampan.engine.operator import Operator

Origin = tuple[str, int]
EXITS = {
    "__array__",
    "__bool__",
    "__complex__",
    "__float__",
    "__index__",
    "__int__",
    "item",
    "numpy",
    "tolist",
}


@dataclass
class Call:
    """One call. inputs: the origin of each buffer among the arguments; settings: all other arguments, flat."""

    operator: str
    inputs: list[Origin]
    settings: list[Any]


class Recorder(TorchFunctionMode):
    """An observer of operators, and of functions of torch that make a buffer of no other, such as zeros.

    given: the buffers that exist before: inputs and parameters. constants: all others that no call made. What
    is computed from a buffer outside an operator is such a constant. left: by which functions a value became
    a number, a truth value or an array outside an operator.
    """

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.constants: list[torch.Tensor] = []
        self.left: list[str] = []
        self._origins: dict[int, Origin] = {id(b): ("given", n) for n, b in enumerate(given)}
        self._alive: list[Any] = [*given]  # an id is unique only among objects that are alive
        self._made = self._depth = 0

    def origin(self, buffer: torch.Tensor) -> Origin:
        if id(buffer) not in self._origins:
            self._origins[id(buffer)] = ("constant", len(self.constants))
            self.constants.append(buffer)
        return self._origins[id(buffer)]

    def forward(
        self, operator: Operator, args: tuple[Any, ...], buffers: list[Any], settings: dict[str, Any]
    ) -> Any:
        if self._depth:  # operators inside an operator's function belong to it
            return operator.body(*buffers, **settings)
        self._note(operator.name, [*buffers, *settings.values()])
        self._depth += 1
        try:
            result = operator.body(*buffers, **settings)
        finally:
            self._depth -= 1
        self._keep(result[0] if operator.saves else result)
        return result

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        settings = kwargs or {}
        result = function(*args, **settings)
        given = flat([*args, *settings.values()])
        if self._depth:
            return result
        if function.__name__ in EXITS:
            self.left.append(function.__name__)
        elif isinstance(result, torch.Tensor) and not any(map(torch.is_tensor, given)):
            self._note(function.__name__, given)
            self._keep(result)
        return result

    def _note(self, name: str, given: Sequence[Any]) -> None:
        values = flat(given)
        inputs = [self.origin(value) for value in values if isinstance(value, torch.Tensor)]
        self.calls.append(Call(name, inputs, [v for v in values if not isinstance(v, torch.Tensor)]))

    def _keep(self, made: Any) -> None:
        for buffer in flat(made):
            self._origins[id(buffer)] = ("call", self._made)
            self._alive.append(buffer)
            self._made += 1


def flat(value: Any) -> list[Any]:
    """What is in nested lists, tuples, slices and dicts; Tensors as buffers."""
    if isinstance(value, paddle.Tensor):
        return [value.data]
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [part for each in value for part in flat(each)]
    return [value]


def recorded(
    layer: Any, inputs: Sequence[Any], call: Callable[..., Any] | None = None
) -> tuple[Recorder, list[Origin]]:
    """A call of a layer, and the origins of its results. inputs: Tensors, or nested lists of them, or None."""
    given = [b for b in flat(list(inputs)) if isinstance(b, torch.Tensor)]
    kept = [p.data for p in layer.parameters()] + [b.data for b in layer.buffers()]
    recorder = Recorder([*given, *kept])
    with observed_by(recorder), recorder:
        result = (call or layer)(*inputs)
    return recorder, [recorder.origin(b) for b in flat(result) if isinstance(b, torch.Tensor)]
