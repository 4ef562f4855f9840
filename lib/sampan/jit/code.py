"""A Program as the source of one Python function: a line for each call, and an `if` for each value that left
the graph.

Straight-line code is the fastest interpreter that Python has, frees a value after its last use, and can be
read: `print(function.code)`. An evaluated Program allocates no more at once than liveness allows (ResNet-18:
4.01 MB of results beside 10.04 MB eagerly, both counted by torch's profiler), so calls do not write into an
arena planned before: it cannot be smaller.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import torch

from ..engine.tape import written
from . import guards
from .program import Call, Guard, Leaf, Program, Ref, refs

_numbers = count(1)
# Values of these kinds are the caller's; the others are freed after their last use.
_OWN = ("v", "s", "g")


class Unseen(Exception):
    """A value left the graph with an outcome that no recorded Program has."""


@dataclass
class Branch:
    """Calls up to a guard, and what follows for each of its outcomes; or up to the end."""

    calls: list[Call] = field(default_factory=list)
    guard: Guard | None = None
    children: dict[Any, Branch] = field(default_factory=dict)
    # At an end: its number, and what is returned there.
    number: int = -1
    outputs: tuple[Ref, ...] = ()
    kept: tuple[Ref, ...] = ()

    def uses(self) -> set[Ref]:
        """All values that this branch and those behind it read."""
        used = {*self.outputs, *self.kept, *refs(self.guard.args if self.guard else ())}
        for call in self.calls:
            used.update(read_by(call))
        for child in self.children.values():
            used |= child.uses()
        return used

    def add(
        self, program: Program, number: int, outputs: tuple[Ref, ...], kept: tuple[Ref, ...] = ()
    ) -> bool:
        """Join a Program at the guard at which it leaves those that are here. False if it differs elsewhere:
        the function is not determined by what it reads of its Tensors."""
        branch, steps, fresh = self, program.steps, not self.calls and self.guard is None
        if fresh and self.number >= 0:
            return False
        while True:
            end = next((i for i, step in enumerate(steps) if isinstance(step, Guard)), len(steps))
            calls: list[Any] = steps[:end]
            if fresh:
                branch.calls = calls
            elif len(calls) != len(branch.calls) or not all(map(Call.same, branch.calls, calls)):
                return False
            if end == len(steps):
                if not fresh:
                    return False
                branch.number, branch.outputs, branch.kept = number, outputs, kept
                return True
            guard: Any = steps[end]
            if fresh:
                branch.guard = guard
            elif branch.guard is None or not branch.guard.same(guard):
                return False
            fresh = guard.outcome not in branch.children
            branch, steps = branch.children.setdefault(guard.outcome, Branch()), steps[end + 1 :]

    def each(self) -> Iterator[Call]:
        """The calls of this branch and of those behind it."""
        yield from self.calls
        for child in self.children.values():
            yield from child.each()

    def pruned(self) -> tuple[Branch, set[Ref]]:
        """This branch without calls whose results are not used, and the values that it reads.

        A call that writes to memory or draws random numbers stays.
        """
        children, needed = {}, {*self.outputs, *self.kept, *refs(self.guard.args if self.guard else ())}
        for outcome_, child in self.children.items():
            children[outcome_], used = child.pruned()
            needed |= used
        calls: list[Call] = []
        for call in reversed(self.calls):
            made = {*refs(call.result), *refs(call.saved)}
            if call.writes or call.random or not needed.isdisjoint(made):
                calls.append(call)
                needed.update(read_by(call))
        return Branch(calls[::-1], self.guard, children, self.number, self.outputs, self.kept), needed


def read_by(call: Call) -> Iterator[Ref]:
    """The values that a call reads."""
    yield from refs(call.args)
    yield from refs(call.settings)


class Source:
    """Lines of Python, and the objects that their names stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"torch": torch}
        self._taken: dict[int, str] = {}

    def name(self, value: Any, wanted: str) -> str:
        """A name for an object: `wanted`, with a number where another object has it."""
        if id(value) not in self._taken:
            wanted = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted)
            others = (f"{wanted}_{i}" for i in count(2))
            own = next(n for n in chain([wanted], others) if n not in self.names)
            self._taken[id(value)], self.names[own] = own, value
        return self._taken[id(value)]

    def text(self, value: Any) -> str:
        """A value as Python writes it; a name for one that it cannot write."""
        if isinstance(value, Leaf) or value is None or value is Ellipsis or type(value) in (bool, int, str):
            return "..." if value is Ellipsis else repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        if isinstance(value, torch.dtype):
            return str(value)
        if type(value) in (list, tuple):
            inner = ", ".join(map(self.text, value))
            if type(value) is list:
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.text(k)}: {self.text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        return self.name(value, "constant")

    def call(self, call: Call) -> str:
        """The line of a call."""
        given = [*map(self.text, call.args), *(f"{k}={self.text(v)}" for k, v in call.settings.items())]
        target = _target(call.result)
        target = f"{target}, {call.saved!r} = " if call.saved else f"{target} = " if target != "_" else ""
        return f"{target}{self.name(call.function, call.name)}({', '.join(given)})"

    def compiled(self, title: str) -> Callable[..., Any]:
        """The function that the lines define. Debuggers and tracebacks show its lines."""
        text, file = "\n".join(self.lines) + "\n", f"<{title} {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self.names)
        made: Callable[..., Any] = self.names["program"]
        return made


def _target(result: Any) -> str:
    """The left side of an assignment that unpacks a result."""
    if isinstance(result, Ref):
        return repr(result)
    if isinstance(result, (list, tuple)) and result and not isinstance(result, torch.Size):
        return f"({', '.join(map(_target, result))}{',' if len(result) == 1 else ''})"
    return "_"


def forward_source(root: Branch, inputs: int, tensors: int, buffers: int) -> Source:
    """The function of inputs and buffers from outside: (the number of the end, its outputs, what is kept)."""
    source = Source()
    given = [f"{kind}{i}" for kind, n in (("x", inputs), ("p", tensors), ("k", buffers)) for i in range(n)]
    source.lines.append(f"def program({', '.join(given)}):")
    source.names["Unseen"] = Unseen
    _emit(source, root, "    ", set())
    return source


def _emit(source: Source, branch: Branch, indent: str, alive: set[Ref]) -> None:
    """The lines of a branch. alive: values made before it that are still held."""
    later = [*(set(read_by(call)) for call in branch.calls)]
    after: set[Ref] = {*branch.outputs, *branch.kept, *refs(branch.guard.args if branch.guard else ())}
    for child in branch.children.values():
        after |= child.uses()
    needed = [after]  # before each call, from the last one on
    for used in reversed(later):
        needed.append(needed[-1] | used)
    needed.reverse()
    _free(source, indent, alive, needed[0])
    for call, still in zip(branch.calls, needed[1:], strict=True):
        source.lines.append(indent + source.call(call))
        if call.operator is None:  # an operator marks what it writes itself
            for ref in call.writes:
                if ref.kind not in _OWN:
                    source.lines.append(f"{indent}{source.name(written, 'written')}({ref}, True)")
        alive |= {r for r in (*refs(call.result), *refs(call.saved)) if r.kind in _OWN}
        _free(source, indent, alive, still)
    if branch.guard is None:
        outputs, kept = (source.text(part) for part in (branch.outputs, branch.kept))
        source.lines.append(f"{indent}return {branch.number}, {outputs}, {kept}")
        return
    guard = branch.guard
    read = source.name(guard.read, guard.name)
    name = f"left{len(indent) // 4}"
    comparable = source.name(guards.outcome, "outcome")
    source.lines.append(f"{indent}{name} = {comparable}({read}({', '.join(map(source.text, guard.args))}))")
    for word, (value, child) in zip(
        ("if", *["elif"] * len(branch.children)), branch.children.items(), strict=False
    ):
        source.lines.append(f"{indent}{word} {name} == {source.text(value)}:")
        _emit(source, child, f"{indent}    ", set(alive))
    source.lines.append(f"{indent}raise Unseen")


def _free(source: Source, indent: str, alive: set[Ref], needed: Iterable[Ref]) -> None:
    """Give up the values that are held and no longer needed."""
    gone = sorted(alive - set(needed))
    if gone:
        source.lines.append(f"{indent}del {', '.join(map(repr, gone))}")
        alive.difference_update(gone)
