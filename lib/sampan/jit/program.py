"""A Program: what one run of a function computed, as a flat list of calls on buffers.

It is recorded (record.py), turned into one Python function (code.py), and that function is called in place
of the original (function.py). Values have names: `x0` is an input, `p0` the buffer of a Tensor from outside
such as a parameter, `k0` another buffer from outside, `v0` a result, `s0` what an operator saved for its
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..engine.operator import Operator


class Leaf:
    """What stands for a number or a buffer in the arguments of a Call."""

    __slots__ = ()


@dataclass(frozen=True, order=True, repr=False)
class Ref(Leaf):
    """A value of a Program, by its kind and number."""

    kind: str
    index: int

    def __repr__(self) -> str:
        return f"{self.kind}{self.index}"


@dataclass
class Call:
    """One call: of an operator's body, or of a function of torch outside any operator.

    args, settings: what it is given, with a Ref in place of each buffer. result: what it returns, likewise;
    saved: the Ref of what an operator saves for its derivatives, None where it saves nothing.
    writes: values whose memory it changes. random: whether it draws random numbers.
    line: "file.py:12" outside the library.
    """

    function: Callable[..., Any]
    name: str
    args: tuple[Any, ...]
    settings: dict[str, Any]
    result: Any = None
    operator: Operator | None = None
    saved: Ref | None = None
    writes: tuple[Ref, ...] = ()
    random: bool = False
    line: str = ""

    def same(self, other: Any) -> bool:
        """Whether the other is the same call of the same values."""
        return (
            isinstance(other, Call)
            and self.function == other.function
            and self.result == other.result
            and equal(self.args, other.args)
            and equal(self.settings, other.settings)
        )

    def __repr__(self) -> str:
        given = [*map(_shown, self.args), *(f"{name}={_shown(v)}" for name, v in self.settings.items())]
        made = f"{_shown(self.result)} = " if self.result is not None else ""
        return f"{made}{self.name}({', '.join(given)})"


@dataclass
class Guard:
    """A value that left the graph, such as in `if x.sum() > 0`: `read` of `args`, and the result.

    What follows it in a Program is right only where the outcome is the same.
    """

    read: Callable[..., Any]
    name: str
    args: tuple[Any, ...]
    outcome: Any
    line: str = ""

    def same(self, other: Any) -> bool:
        """Whether the other reads the same value in the same way, with whatever outcome."""
        return isinstance(other, Guard) and self.read == other.read and equal(self.args, other.args)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(_shown, self.args))}) is {self.outcome!r}"


@dataclass
class Program:
    """The calls of one run in order, and what it returned (`result`, with a Ref for each Tensor)."""

    steps: list[Call | Guard] = field(default_factory=list)
    result: Any = None

    @property
    def calls(self) -> list[Call]:
        """The steps without the guards."""
        return [step for step in self.steps if isinstance(step, Call)]

    @property
    def guards(self) -> list[Guard]:
        """The values that left the graph."""
        return [step for step in self.steps if isinstance(step, Guard)]

    def __str__(self) -> str:
        width = max((len(repr(step)) for step in self.steps), default=0)
        lines = [f"{step!r:<{min(width, 100)}}  # {step.line}" for step in self.steps]
        return "\n".join([*lines, f"return {_shown(self.result)}"])


def leaves(value: Any) -> Iterator[Any]:
    """What a value holds in lists, tuples, dictionaries and slices; itself if it is none of these."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    elif isinstance(value, slice):
        yield from leaves((value.start, value.stop, value.step))
    else:
        yield value


def refs(value: Any) -> Iterator[Ref]:
    """The Refs in a value."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, Ref))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure of lists, tuples, dictionaries and slices with `change(leaf)` for each leaf."""
    if isinstance(value, Leaf):
        return change(value)
    if isinstance(value, (list, tuple)):
        parts = [mapped(part, change) for part in value]
        return _rebuilt(value, parts)
    if isinstance(value, dict):
        return type(value)((key, mapped(part, change)) for key, part in value.items())
    if isinstance(value, slice):
        return slice(*(mapped(part, change) for part in (value.start, value.stop, value.step)))
    return change(value)


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    if isinstance(value, torch.Size):
        return torch.Size(parts) if all(isinstance(part, int) for part in parts) else tuple(parts)
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def equal(one: Any, other: Any) -> bool:
    """Whether two settings are the same: numbers and texts by value (NaN too), arrays and others by
    identity."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, slice):
        return equal((one.start, one.stop, one.step), (other.start, other.stop, other.step))
    if isinstance(one, (float, complex)):
        return repr(one) == repr(other)  # NaN is itself, and 0.0 is not -0.0
    plain = isinstance(one, (int, str, bytes, range, torch.dtype, torch.device, Leaf))
    return plain and bool(one == other)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
