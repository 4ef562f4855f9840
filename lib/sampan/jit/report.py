"""What a StaticFunction's Programs do and gain, measured here on inputs of the recorded shapes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..engine.backward import set_grad_enabled
from ..engine.tensor import Tensor
from . import arena
from .code import Branch
from .kinds import Kind, Saved
from .liveness import Buffer, bound
from .program import Call, Ref, leaves, mapped, refs
from .spec import InputSpec

if TYPE_CHECKING:
    from .function import StaticFunction

_ROUNDS = 7


@dataclass(frozen=True)
class Row:
    """One kind of call.

    shapes: of its Tensors. gradients: whether they are recorded. programs: one, or one for each outcome of
    guards. recorded, run: calls that the function made, and those that the Program makes. peak, bytes: memory
    of results that is needed at once, and of all results together, in bytes. arena: bytes of one block that
    holds all results, where those that are not needed together share (arena.py). eager, static: seconds of a
    call of the function and of the Program. lifetimes: of the results' buffers. why: why it runs
    eagerly, or "".
    """

    shapes: tuple[tuple[int, ...], ...]
    gradients: bool
    programs: int
    recorded: int
    run: int
    peak: int
    bytes: int
    arena: int
    eager: float
    static: float
    lifetimes: tuple[Buffer, ...] = ()
    why: str = ""

    @property
    def ratio(self) -> float:
        """The time of the Program over that of the function."""
        return self.static / self.eager if self.eager else 1.0


class Report(list[Row]):
    """The rows of all kinds of calls; as text a table."""

    def __str__(self) -> str:
        names = (
            ("calls", 14),
            ("kB at once", 12),
            ("arena", 10),
            ("kB", 10),
            ("eager µs", 11),
            ("static µs", 11),
            ("ratio", 8),
        )
        head = f"{'inputs':<28}{'grad':<6}" + "".join(f"{name:>{width}}" for name, width in names)
        lines = [head]
        for row in self:
            shapes = " ".join("x".join(map(str, shape)) or "·" for shape in row.shapes)
            start = f"{shapes:<28.27}{'yes' if row.gradients else 'no':<6}"
            if row.why:
                lines.append(f"{start}eagerly: {row.why}")
                continue
            calls = f"{row.recorded} -> {row.run}"
            memory = f"{row.peak / 1e3:>12.1f}{row.arena / 1e3:>10.1f}{row.bytes / 1e3:>10.1f}"
            lines.append(
                f"{start}{calls:>14}{memory}{row.eager * 1e6:>11.1f}{row.static * 1e6:>11.1f}"
                f"{row.ratio:>8.2f}"
            )
        return "\n".join(lines)


def report(function: StaticFunction) -> Report:
    """A row for each kind of call that has been made twice, or runs eagerly."""
    found = Report()
    for kind in list(function._kinds.values()):
        if kind.call is None:
            continue
        specs = [leaf for leaf in leaves(kind.call) if isinstance(leaf, InputSpec)]
        shapes = tuple(tuple(int(n or 0) for n in spec.shape) for spec in specs)
        if kind.eager:
            counts = len(kind.ends), 0, 0, 0, 0, 0
            found.append(Row(shapes, kind.gradients, *counts, 0.0, 0.0, why=kind.why))
        elif kind.ends:
            found.append(_row(function, kind, specs, shapes))
    return found


def _row(function: StaticFunction, kind: Kind, specs: list[InputSpec], shapes: Any) -> Row:
    generator = torch.Generator().manual_seed(0)
    tensors = [spec.sample({}, generator) for spec in specs]
    for tensor, spec in zip(tensors, specs, strict=True):
        tensor.stop_gradient = spec.stop_gradient
    left = iter(tensors)
    args, kwargs = mapped(kind.call, lambda leaf: next(left) if isinstance(leaf, InputSpec) else leaf)
    kind.compiled or kind.function(len(tensors))
    before = Saved.before(kind, [t.data for t in tensors], [t.data for t in kind.outside.tensors])
    try:
        with set_grad_enabled(kind.gradients):
            eager, static = _times(
                lambda: function.dygraph_function(*args, **kwargs), lambda: function(*args, **kwargs)
            )
        made = _lifetimes(kind, tensors)
    finally:
        before.restore()
    recorded = max(len(end.program.calls) for end in kind.ends)
    kept = len(list(kind.root.pruned()[0].each()))
    at_once = bound(made, 1 + max((buffer.last for buffer in made), default=0))
    memory = at_once, sum(buffer.bytes for buffer in made), arena.planned(made)[1]
    counts = len(kind.ends), recorded, kept
    return Row(shapes, kind.gradients, *counts, *memory, eager, static, tuple(made))


def _times(*calls: Callable[[], Any]) -> tuple[float, ...]:
    """The median seconds of each call, taken in turns."""
    seen: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(_ROUNDS):
        for call, times in zip(calls, seen, strict=True):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
    return tuple(map(statistics.median, seen))


def _lifetimes(kind: Kind, tensors: list[Tensor]) -> list[Buffer]:
    """The lifetimes of the results of the first Program."""
    program = kind.ends[0].program
    calls = [Call(**vars(call)) for call in program.calls]
    outputs = tuple(dict.fromkeys(refs(program.result)))
    calls = Branch(calls, outputs=outputs).pruned()[0].calls
    values: dict[Ref, Any] = {Ref("x", i): t.data for i, t in enumerate(tensors)}
    values |= {Ref("p", i): t.data for i, t in enumerate(kind.outside.tensors)}
    values |= {Ref("k", i): b for i, b in enumerate(kind.outside.buffers)}
    with set_grad_enabled(False):
        return arena.lifetimes(calls, outputs, values)
