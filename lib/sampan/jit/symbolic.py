"""Lengths that follow the input: one Program from several runs with inputs of other sizes.

A number in a Program that changes with an axis of an input is a length computed from it. Two sizes of an axis
say how: `k n` where it grows in proportion, `k n + c` where it grows by equal steps. A further run, with all
axes of other sizes, must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import torch

from ..engine.errors import InvalidArgument
from .control_flow import Flow, Part, renamed
from .program import Call, Leaf, Program, Ref, equal, leaves, mapped, refs


class Axis(NamedTuple):
    """An axis of an input that may have any length."""

    input: int
    axis: int

    def __repr__(self) -> str:
        return f"x{self.input}.shape[{self.axis}]"


@dataclass(frozen=True, repr=False)
class Length(Leaf):
    """`scale * the product of axes + plus`, where it is a whole number.

    It is a leaf of a Program's arguments where a run has an int.
    """

    numerator: int
    denominator: int
    axes: tuple[Axis, ...]
    plus: int

    def __repr__(self) -> str:
        text = " * ".join([*([str(self.numerator)] if self.numerator != 1 else []), *map(repr, self.axes)])
        text = text if self.denominator == 1 else f"{text} // {self.denominator}"
        return f"{text} + {self.plus}" if self.plus else text

    def at(self, sizes: dict[Axis, int]) -> int:
        """Its value for lengths of the axes."""
        return self.numerator * prod(sizes[axis] for axis in self.axes) // self.denominator + self.plus


class Frozen(InvalidArgument):
    """A Program for one size does not hold for others; the text says where."""


Sizes = dict[Axis, int]


def generalized(programs: Sequence[Program], sizes: Sequence[Sizes], axes: Sequence[Axis]) -> Program:
    """One Program for all sizes. The first run is the base; in each of the next one of `axes` has another
    length (and those that are always as long); in the last one all have.

    Raises Frozen with the line of a call that differs in more than lengths.
    """
    found = _generalized(programs, sizes, axes)
    return Program(
        [of_inputs(step) if isinstance(step, Call) else step for step in found.steps], found.result
    )


def _generalized(programs: Sequence[Program], sizes: Sequence[Sizes], axes: Sequence[Axis]) -> Program:
    base, *others = programs
    for other, size in zip(others, sizes[1:], strict=True):
        if len(other.steps) != len(base.steps):
            different = next(
                (s for s, o in zip(base.steps, other.steps, strict=False) if not _alike(s, o)), base.steps[-1]
            )
            raise Frozen(
                f"{different.line}: other calls follow for {_named(size)} than for {_named(sizes[0])}"
            )
    steps: list[Any] = []
    for step, *same in zip(*(p.steps for p in programs), strict=True):
        for other, size in zip(same, sizes[1:], strict=True):
            if not _alike(step, other):
                raise Frozen(
                    f"{step.line}: {step.name} for {_named(sizes[0])}, {other.name} for {_named(size)}"
                )
        if not isinstance(step, Call):
            if any(not equal((step.args, step.outcome), (s.args, s.outcome)) for s in same):
                raise Frozen(f"{step.line}: {step.name}() reads another value for {_named(sizes[-1])}")
            steps.append(step)
            continue
        all_args = [(s.args, s.settings) for s in (step, *same)]
        args, settings = _Solver(sizes, axes, step).solve(all_args)
        changed = Call(**{**vars(step), "args": args, "settings": settings})
        if isinstance(step.function, Flow):
            runs = zip(*(s.function.parts for s in (step, *same)), strict=True)
            parts = [Part(_generalized([p.program for p in run], sizes, axes), run[0].inputs) for run in runs]
            changed = with_inputs(Call(**{**vars(changed), "function": type(step.function)(tuple(parts))}))
        steps.append(changed)
    return Program(steps, base.result)


def with_inputs(call: Call) -> Call:
    """A call of a loop or branch that is given the inputs whose lengths its Parts follow.

    Such an input of the whole Program is the Ref `i0` among the arguments, as the call may be in a Part that
    has other inputs of its own; Lengths in the Parts follow the Part's own inputs.
    """
    flow: Any = call.function
    wanted: dict[Ref, None] = {}
    for part in flow.parts:
        for step in part.program.calls:
            given = (step.args, step.settings)
            wanted.update(dict.fromkeys(ref for ref in refs(given) if ref.kind == "i"))
            lengths = [leaf for leaf in leaves(given) if isinstance(leaf, Length)]
            wanted.update(dict.fromkeys(Ref("i", axis.input) for length in lengths for axis in length.axes))
    *first, others = call.args
    known = flow.parts[0].inputs
    missing = [ref for ref in wanted if ref not in others]
    start = known - len(others)
    names = {ref: Ref("x", start + place) for place, ref in enumerate([*others, *missing])}

    def local(leaf: Any) -> Any:
        if not isinstance(leaf, Length):
            return names.get(leaf, leaf) if isinstance(leaf, Ref) and leaf.kind == "i" else leaf
        own = tuple(Axis(names[Ref("i", axis.input)].index, axis.axis) for axis in leaf.axes)
        return Length(leaf.numerator, leaf.denominator, own, leaf.plus)

    parts = []
    for part in flow.parts:
        calls = [
            Call(**{**vars(s), "args": mapped(s.args, local), "settings": mapped(s.settings, local)})
            for s in part.program.calls
        ]
        parts.append(Part(Program(list(calls), part.program.result), known + len(missing)))
    args = (*first, (*others, *missing))
    return Call(**{**vars(call), "function": type(flow)(tuple(parts)), "args": args})


def of_inputs(call: Call) -> Call:
    """The call of the whole Program, whose inputs are x0, x1, ..."""
    return renamed(call, {ref: Ref("x", ref.index) for ref in refs(call.args) if ref.kind == "i"})


def _alike(one: Any, other: Any) -> bool:
    return (
        type(one) is type(other)
        and one.name == other.name
        and equal(getattr(one, "result", None), getattr(other, "result", None))
    )


def _named(sizes: Sizes) -> str:
    return ", ".join(f"x{a.input}.shape[{a.axis}] = {n}" for a, n in sizes.items())


class _Solver:
    """Finds the Lengths among the numbers of one call. sizes, axes: as for `generalized`."""

    def __init__(self, sizes: Sequence[Sizes], axes: Sequence[Axis], step: Call) -> None:
        self.sizes, self.axes, self.step = sizes, axes, step

    def solve(self, values: Sequence[Any]) -> Any:
        """The values of all runs as one."""
        first = values[0]
        if isinstance(first, slice):
            return slice(*self.solve([(v.start, v.stop, v.step) for v in values]))
        if isinstance(first, dict) and all(value.keys() == first.keys() for value in values):
            return {key: self.solve([value[key] for value in values]) for key in first}
        if isinstance(first, (list, tuple)) and all(len(value) == len(first) for value in values):
            parts = [self.solve(part) for part in zip(*values, strict=True)]
            if isinstance(first, torch.Size):
                return tuple(parts)
            return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
        if all(equal(first, value) for value in values):
            return first
        found = self._length(values) if all(type(value) is int for value in values) else None
        if found is None:
            raise Frozen(
                f"{self.step.line}: {self.step.name} is given {first!r} for {_named(self.sizes[0])} and "
                f"{values[-1]!r} for {_named(self.sizes[-1])}, which no length of a Program follows"
            )
        return found

    def _length(self, values: Sequence[int]) -> Length | None:
        """How a number follows from the sizes."""
        base, start = values[0], self.sizes[0]
        changes: dict[Axis, tuple[int, int]] = {}  # an axis: its other length, the number then
        for axis, value, size in zip(self.axes, values[1:-1], self.sizes[1:-1], strict=True):
            if value != base:
                changes[axis] = size[axis], value
        axes, found = tuple(changes), None
        if changes and all(
            base and Fraction(v, base) == Fraction(n, start[a]) for a, (n, v) in changes.items()
        ):
            scale = Fraction(base, prod(start[a] for a in axes))
            found = Length(scale.numerator, scale.denominator, axes, 0)
        elif len(axes) == 1:
            ((axis, (n, value)),) = changes.items()
            slope = Fraction(value - base, n - start[axis])
            rest = base - slope * start[axis]
            if rest.denominator == 1:
                found = Length(slope.numerator, slope.denominator, axes, int(rest))
        agrees = found is not None and all(
            found.at(size) == value for size, value in zip(self.sizes, values, strict=True)
        )
        return found if agrees else None
