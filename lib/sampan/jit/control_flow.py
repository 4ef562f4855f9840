"""Loops and branches of a Program: calls of functions that are made of smaller Programs.

`while_loop` has the Programs of its test and its body, `cond` those of its two ways. Such a Part reads its
inputs x0, x1, ... alone: first the variables of the loop, then what it reads of the values around it, which
the Call lists. So a Call of a Loop or Choose is like any other one: it reads its arguments and makes its
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, NamedTuple

import torch

from ..engine.errors import InvalidArgument
from ..engine.tape import next_sequence
from ..engine.tensor import Tensor
from ..trace import calling_line
from .code import Branch, forward_source, read_by
from .flow_gradients import Derivation, Rounds, derivation_of, put_on_tape
from .program import Call, Program, Ref, leaves, mapped, refs
from .record import Recorder, Refused

most_rounds: int | None = None  # of a loop; None for any number


class Endless(RuntimeError):
    """A loop has taken more than `most_rounds` rounds."""


@dataclass
class Part:
    """A Program that reads x0, x1, ..., `inputs` of them, and gives a tuple of Refs. kept: what its
    derivatives read (flow_gradients.py)."""

    program: Program
    inputs: int
    kept: tuple[Ref, ...] = ()

    @cached_property
    def _function(self) -> Callable[..., Any]:
        branch = Branch(self.program.calls, outputs=tuple(self.program.result), number=0, kept=self.kept)
        return forward_source(branch, self.inputs, 0, 0).compiled("part")

    def __call__(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The buffers that it gives."""
        return self.with_kept(*given)[0]

    def with_kept(self, *given: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], Sequence[Any]]:
        """The buffers that it gives, and what it keeps."""
        _, found, kept = self._function(*given)
        return found, kept


Runner = Callable[..., Sequence[Any]]


@dataclass
class Flow:
    """What decides by a value which Part runs next. derivation: where gradients are recorded; its pulls are
    those of the last Parts."""

    parts: tuple[Part, ...]
    derivation: Derivation | None = field(default=None, compare=False)
    name: ClassVar[str] = ""

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """The results for buffers; with a derivation those and what they keep."""
        if self.derivation is None:
            return tuple(self.run(Part.__call__, *args))
        kept: list[tuple[int, Sequence[Any]]] = []
        derived = self.parts[-len(self.derivation.pulls) :]

        def keeping(part: Part, *given: Any) -> Sequence[Any]:
            number = next((i for i, each in enumerate(derived) if each is part), None)
            if number is None:
                return part(*given)
            values, own = part.with_kept(*given)
            kept.append((number, own))
            return values

        results = tuple(self.run(keeping, *args))
        return results, Rounds(self.derivation, len(results), kept)

    def run(self, call: Runner, *args: Any) -> Sequence[Any]:
        """The results. call: runs a Part on given values."""
        raise NotImplementedError


class Loop(Flow):
    """`variables = body(variables)` while test(variables) is true. parts: test and body."""

    name = "while_loop"

    def run(self, call: Runner, *args: Any) -> Sequence[Any]:
        """The last values of the variables. args: their first values; the other values that are read."""
        variables, others = args
        test, body = self.parts
        for turn in count():
            if not bool(call(test, *variables, *others)[0]):
                return tuple(variables)
            if most_rounds is not None and turn >= most_rounds:
                raise Endless(f"while_loop: more than {most_rounds} rounds")
            variables = call(body, *variables, *others)
        raise AssertionError


class Choose(Flow):
    """The results of one of two parts, by a truth value."""

    name = "cond"

    def run(self, call: Runner, *args: Any) -> Sequence[Any]:
        """What the chosen way gives. args: the truth value; the values that either way reads."""
        truth, others = args
        return call(self.parts[0 if bool(truth) else 1], *others)


FLOWS: dict[str, type[Flow]] = {kind.name: kind for kind in (Loop, Choose)}


def flow_calls(program: Program) -> Iterator[Call]:
    """The Calls of loops and branches in a Program and in their parts."""
    for call in program.calls:
        if isinstance(call.function, Flow):
            yield call
            for part in call.function.parts:
                yield from flow_calls(part.program)


# --- recording ---


class Begun(NamedTuple):
    """What is recorded already of a part, and the number of the tape since when. given: of a loop, what
    stands for its variables in a round."""

    steps: list[Any]
    since: int
    given: Sequence[tuple[Tensor, Ref]] = ()


def record_loop(
    recorder: Recorder,
    test: Any,
    body: Any,
    variables: Sequence[Tensor],
    begun: Begun | None = None,
) -> Any:
    """Record a Loop whose variables begin as these Tensors. test, body: functions of Tensors; body gives
    the next ones, in a list. The results, with the values after one round. None, and nothing is recorded,
    where the test gives no Tensor.

    Raises Refused where a variable changes its shape or dtype, or Python reads a Tensor's value.
    """
    line = calling_line()
    calls, since, given = begun or Begun([], 0, [recorder.fresh(variable) for variable in variables])
    since = since or next_sequence()
    tensors = [tensor for tensor, _ in given]
    test_steps, truth = recorder.apart(test, tensors)
    if not isinstance(truth, Tensor):
        return None
    if truth.data.numel() != 1:
        raise Refused(f"{line}: while_loop: cond: expected one value, got shape {[*truth.shape]}")
    body_steps, values = recorder.apart(body, tensors, calls)
    if len(values) != len(variables):
        raise InvalidArgument(f"while_loop: body: expected {len(variables)} results, got {len(values)}")
    for place, (before, after) in enumerate(zip(variables, values, strict=True)):
        _check_same(before, after, f"{line}: while_loop: variable {place}", recorder.fixes_shapes)
    derived = derivation_of(recorder, [values], since, body_steps, tensors, variables)
    kept = derived.pulls[0].kept if derived else ()
    bodies = [
        (test_steps, [recorder.ref_of(truth)], ()),
        (body_steps, [recorder.ref_of(v) for v in values], kept),
    ]
    first = tuple(recorder.ref_of(variable) for variable in variables)
    parts, others, writes = enclosed(bodies, [ref for _, ref in given])
    writes = [first[ref.index] if ref.kind == "x" else ref for ref in writes]
    results = [_result(recorder, value) for value in values]
    recorder.inside.update(ref for _, ref in given)
    _append(recorder, Loop(parts, derived), (first, others), results, writes, line)
    return [tensor for tensor, _ in results]


def record_choice(recorder: Recorder, truth: Tensor, ways: Sequence[Any], begun: Sequence[Begun] = ()) -> Any:
    """Record a Choose between two functions without arguments, which must give Tensors of the same shapes
    and dtypes in the same structure. The result, with the values of
    the first.

    Raises Refused where they do not, or Python reads a Tensor's value.
    """
    line = calling_line()
    begun = begun or [Begun([], next_sequence()) for _ in ways]
    runs = [recorder.apart(way, (), start.steps) for way, start in zip(ways, begun, strict=True)]
    (result, one), (other_result, two) = (
        (made, [leaf for leaf in leaves(made) if isinstance(leaf, Tensor)]) for _, made in runs
    )
    if not _same_structure(result, other_result):
        counts = f"true_fn returns {len(one)} Tensors, false_fn {len(two)}"
        raise Refused(f"{line}: cond: both ways must return the same structure; {counts}")
    for place, (first, second) in enumerate(zip(one, two, strict=True)):
        _check_same(first, second, f"{line}: cond: result {place}", recorder.fixes_shapes)
    calls = [step for steps, _ in runs for step in steps]
    derived = derivation_of(recorder, [one, two], begun[0].since, calls)
    kept = [pull.kept for pull in derived.pulls] if derived else [(), ()]
    bodies = [
        (steps, [recorder.ref_of(t) for t in tensors], own)
        for (steps, _), tensors, own in zip(runs, (one, two), kept, strict=True)
    ]
    where = recorder.ref_of(truth)
    parts, others, writes = enclosed(bodies)
    made = [_result(recorder, tensor) for tensor in one]
    _append(recorder, Choose(parts, derived), (where, others), made, writes, line)
    order = iter(made)
    return mapped(result, lambda leaf: next(order)[0] if isinstance(leaf, Tensor) else leaf)


def _result(recorder: Recorder, like: Tensor) -> tuple[Tensor, Ref]:
    """A result of a loop or branch, not on the tape."""
    made, ref = recorder.fresh(like)
    made.node, made.stop_gradient = None, True
    return made, ref


def _append(
    recorder: Recorder,
    flow: Flow,
    args: Any,
    results: Sequence[tuple[Tensor, Ref]],
    writes: Sequence[Ref],
    line: str,
) -> None:
    inner = [call for part in flow.parts for call in part.program.calls]
    recorder.inside.update(ref for call in inner for ref in refs([call.result, call.saved]))
    random = any(call.random for call in inner)
    made = tuple(ref for _, ref in results)
    call = Call(flow, flow.name, args, {}, made, writes=tuple(writes), random=random, line=line)
    if flow.derivation is not None:
        put_on_tape(recorder, call, flow.derivation, [tensor for tensor, _ in results])
    recorder.program.steps.append(call)


def _check_same(before: Tensor, after: Any, what: str, shapes: bool) -> None:
    """Refuse a value that is no Tensor; where it counts, one of another shape or dtype."""
    if not isinstance(after, Tensor):
        raise Refused(f"{what}: expected a Tensor, got {type(after).__name__}")
    if not shapes:
        return
    if before.data.shape != after.data.shape:
        raise Refused(f"{what}: its shape changes from {[*before.shape]} to {[*after.shape]}")
    if before.data.dtype is not after.data.dtype:
        raise Refused(f"{what}: its dtype changes from {before.dtype} to {after.dtype}")


def _same_structure(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return isinstance(one, Tensor) and isinstance(other, Tensor)
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same_structure, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same_structure(one[key], other[key]) for key in one)
    return one is other or bool(one == other)


def enclosed(
    bodies: Sequence[tuple[Sequence[Any], Sequence[Ref], Sequence[Ref]]], variables: Sequence[Ref] = ()
) -> tuple[tuple[Part, ...], tuple[Ref, ...], list[Ref]]:
    """Steps with their results, and what they keep, as Parts; the other values that they read, and those
    that they write to.

    variables: values that become their first inputs.
    """
    others: dict[Ref, None] = {}
    written: dict[Ref, None] = {}
    pruned = []
    for steps, results, kept in bodies:
        if any(not isinstance(step, Call) for step in steps):
            raise InvalidArgument("a loop or branch of a Program cannot have gradients in it")
        calls = Branch(list(steps), outputs=tuple(results), number=0, kept=tuple(kept)).pruned()[0].calls
        made = {ref for call in calls for ref in refs([call.result, call.saved])}
        read = [*(ref for call in calls for ref in read_by(call)), *results, *kept]
        others.update(dict.fromkeys(ref for ref in read if ref not in made and ref not in variables))
        written.update(dict.fromkeys(ref for call in calls for ref in call.writes if ref not in made))
        pruned.append((calls, results, kept))
    names = {ref: Ref("x", i) for i, ref in enumerate([*variables, *others])}
    parts = tuple(
        Part(
            Program([renamed(call, names) for call in calls], tuple(names.get(r, r) for r in results)),
            len(names),
            tuple(names.get(r, r) for r in kept),
        )
        for calls, results, kept in pruned
    )
    return parts, tuple(others), [names[ref] if ref in variables else ref for ref in written]


def renamed(call: Call, names: dict[Ref, Ref]) -> Call:
    """The call with other names for what it reads and writes."""

    def new(leaf: Any) -> Any:
        return names.get(leaf, leaf) if isinstance(leaf, Ref) else leaf

    parts = {name: mapped(getattr(call, name), new) for name in ("args", "settings", "writes")}
    return Call(**{**vars(call), **parts})
