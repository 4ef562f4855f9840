"""The operator calls of a program, with the origin of each of their inputs: an oracle for programs that are traced.

A trace can be replayed on other inputs only if every Tensor in it is an input, a parameter, the value of an
earlier call, or a constant that does not depend on the inputs.
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


@dataclass
class Call:
    """One call. inputs: the origin of each buffer among the arguments; settings: all other arguments, flat."""

    operator: str
    inputs: list[Origin]
    settings: list[Any]


FACTORIES = {
    "zeros",
    "ones",
    "empty",
    "full",
    "arange",
    "eye",
    "linspace",
    "rand",
    "randn",
    "randint",
    "randperm",
}


class Recorder(TorchFunctionMode):
    """An observer, and a mode that sees torch's factories. `given`: the buffers that exist before: inputs and parameters. `constants`: all others that no
    call made."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.given = given
        self.calls: list[Call] = []
        self.constants: list[torch.Tensor] = []
        self._origins: dict[int, Origin] = {id(b): ("given", n) for n, b in enumerate(self.given)}
        self._alive: list[torch.Tensor] = []  # an id is unique only among objects that are alive
        self._made = self._depth = 0

    def origin(self, buffer: torch.Tensor) -> Origin:
        if id(buffer) not in self._origins:
            self._origins[id(buffer)] = ("constant", len(self.constants))
            self.constants.append(buffer)
        return self._origins[id(buffer)]

    def forward(self, operator: Operator, args: Any, buffers: list[Any], settings: dict[str, Any]) -> Any:
        if self._depth:  # operators inside an operator's function belong to it
            return operator.body(*buffers, **settings)
        flat = _flat([*buffers, *settings.values()])
        inputs = [self.origin(value) for value in flat if isinstance(value, torch.Tensor)]
        rest = [value for value in flat if not isinstance(value, torch.Tensor)]
        self.calls.append(Call(operator.name, inputs, rest))
        self._depth += 1
        try:
            result = operator.body(*buffers, **settings)
        finally:
            self._depth -= 1
        self._keep(_flat([result[0] if operator.saves else result]))
        return result

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if not self._depth and function.__name__ in FACTORIES:
            self.calls.append(Call(f"create {function.__name__}", [], _flat([args, kwargs or {}])))
            self._keep([made])
        return made

    def _keep(self, made: list[torch.Tensor]) -> None:
        for buffer in made:
            self._origins[id(buffer)] = ("call", self._made)
            self._alive.append(buffer)
            self._made += 1


def _flat(value: Any) -> list[Any]:
    """What is in nested lists, tuples, slices and dicts; Tensors as buffers."""
    if isinstance(value, paddle.Tensor):
        return [value.data]
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [part for each in value for part in _flat(each)]
    return [value]


def recorded(
    layer: Any, inputs: Sequence[Any], call: Callable[..., Any] | None = None
) -> tuple[Recorder, list]:
    """A call of a layer, and the origins of its results. inputs: Tensors, or nested lists of them, or None."""
    given = [b for b in _flat(list(inputs)) if isinstance(b, torch.Tensor)]
    kept = [p.data for p in layer.parameters()] + [b.data for b in layer.buffers()]
    recorder = Recorder([*given, *kept])
    with observed_by(recorder), recorder:
        result = (call or layer)(*inputs)
    return recorder, [recorder.origin(b) for b in _flat(result) if isinstance(b, torch.Tensor)]
