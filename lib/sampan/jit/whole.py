"""A function as Programs for inputs of any size: what is saved and exported.

It is recorded with inputs of several sizes, whose Programs are joined to one (symbolic.py), and once for each
outcome of the truth values that Python reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from . import control_flow
from .code import Branch
from .control_flow import flow_calls
from .function import ConcreteProgram, StaticFunction, plain_function
from .program import Call, Program, Ref, leaves, mapped, refs
from .python_flow import rewritten_layers
from .record import WAYS, Outside, Recorder, reasons, too_many_ways
from .record import Refused as Refused
from .saved_form import encoded
from .source_rewriting import rewritten
from .spec import InputSpec
from .symbolic import Axis, Sizes, generalized

# Lengths to record an axis with: the base, another one, and one to check with. Batches first, then others:
# small images and sentences, and pictures for networks that need them.
_BATCHES = (2, 3, 5)
OTHERS = ((32, 48, 64), (224, 256, 320))
ROUNDS = 10_000  # of a loop that is checked; more are taken for a loop that does not end


class Whole(NamedTuple):
    """A function for inputs of any size: its Program, its arguments with a Ref for each Tensor, their specs.

    tied: axes that must have the same length. others: Programs for other outcomes of guards.
    """

    program: Program
    takes: Any
    specs: list[InputSpec]
    tied: list[list[Axis]]
    others: Sequence[Program] = ()

    @property
    def branched(self) -> bool:
        """Whether values of Tensors decide which calls follow."""
        return bool(self.others)

    @property
    def flows(self) -> list[Call]:
        """The calls of loops and branches, also those in others."""
        return [call for program in (self.program, *self.others) for call in flow_calls(program)]


def described_program(function: StaticFunction) -> ConcreteProgram:
    """The Program of a function's `input_spec`, recorded for this."""
    outside = Outside(by_content=True)
    with evaluating(getattr(function, "_owner", None)):
        made = recorded(function, function.input_spec, outside)
    return ConcreteProgram(made.program, made.specs, outside.tensors)


@contextmanager
def evaluating(layer: Any) -> Iterator[None]:
    """Within the block the layer, if it is one, evaluates and no gradients are recorded."""
    parts = layer.sublayers(include_self=True) if isinstance(layer, Layer) else []
    before = [part.training for part in parts]
    for part in parts:
        part.training = False
    try:
        with no_grad():
            yield
    finally:
        for part, mode in zip(parts, before, strict=True):
            part.training = mode


def recorded(function: Callable[..., Any], input_spec: Any, outside: Outside) -> Whole:
    """A function as one Program for all sizes that its specs allow."""
    takes, specs = _described(function, input_spec)
    axes = [Axis(i, axis) for i, spec in enumerate(specs) for axis in spec.unknown]
    failure: Exception | None = None
    tried = OTHERS if any(a.axis for a in axes) else OTHERS[:1]
    ways = [
        (rows, lengths, groups) for rows in (False, True) for lengths in tried for groups in _groupings(axes)
    ]
    for rows, lengths, groups in ways:
        sizes = _sizes(groups, lengths)
        run = partial(_run, function, takes, specs, outside=outside, rows=rows)
        try:
            program, *others = _paths(run, sizes, groups)
            return Whole(program, takes, specs, [group for group in groups if len(group) > 1], others)
        except Refused as error:
            raise failure if rows and failure is not None else error from error
        except InvalidArgument as error:  # the sizes do not fit to one another, or are too small
            failure = failure or error
    assert failure is not None
    raise failure


def _paths(
    run: Callable[..., Program], sizes: Sequence[Sizes], groups: Sequence[list[Axis]]
) -> list[Program]:
    """A Program for each way through the function: both outcomes of every truth value that Python reads."""
    found: list[Program] = []
    left: list[list[bool]] = [[]]
    while left:
        outcomes = left.pop()
        first = run(sizes[0], outcomes)
        seen: list[Any] = [guard.outcome for guard in first.guards]
        runs = [first, *(run(size, seen) for size in sizes[1:])]
        program = generalized(runs, sizes, [group[0] for group in groups]) if groups else first
        left += [[*seen[:i], not seen[i]] for i in range(len(outcomes), len(seen))]
        found.append(program)
        if len(found) + len(left) > WAYS:
            raise too_many_ways(program.guards[-1].name, program.guards[-1].line)
    return found


def _groupings(axes: Sequence[Axis]) -> list[list[list[Axis]]]:
    """Ways to see which axes have the same length: none; all first ones; and all others too."""
    batches, others = [a for a in axes if a.axis == 0], [a for a in axes if a.axis]
    alone = [[axis] for axis in others]
    ways = [[[axis] for axis in axes], [batches, *alone], [batches, others]]
    ways = [[group for group in way if group] for way in ways]
    return [way for i, way in enumerate(ways) if way not in ways[:i]]


def _described(function: Callable[..., Any], input_spec: Any) -> tuple[Any, list[InputSpec]]:
    """The arguments with a Ref for each Tensor, by the names of the parameters; and the specs."""
    plain = plain_function(function)
    parameters = list(inspect.signature(plain).parameters.values())
    if input_spec is None:
        last = function.last_call if isinstance(function, StaticFunction) else None
        if last is None and any(p.default is p.empty for p in parameters):
            raise InvalidArgument("input_spec: expected an InputSpec for each argument, got None")
        given = {} if last is None else dict(inspect.signature(plain).bind(*last[0], **last[1]).arguments)
    else:
        listed = list(input_spec) if isinstance(input_spec, (list, tuple)) else [input_spec]
        if len(listed) > len(parameters) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise InvalidArgument(f"input_spec: expected at most {len(parameters)}, got {len(listed)}")
        given = dict(inspect.signature(plain).bind_partial(*listed).arguments)
        lacking = [
            p.name
            for p in parameters
            if p.name not in given
            and p.default is p.empty
            and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if lacking:
            raise InvalidArgument(f"input_spec: expected a spec for {lacking[0]!r} too")
    specs: list[InputSpec] = []

    def named(name: str, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            leaf = InputSpec.from_tensor(leaf, leaf._name or name)
        if not isinstance(leaf, InputSpec):
            return leaf
        taken = {spec.name for spec in specs}
        wanted = leaf.name or name
        own = wanted if wanted not in taken else f"{wanted}_{len(specs)}"
        specs.append(InputSpec(leaf.shape, leaf.dtype, own, leaf.stop_gradient))
        return Ref("x", len(specs) - 1)

    takes = {name: mapped(value, partial(named, name)) for name, value in given.items()}
    encoded(takes)  # refuses what a file cannot hold
    return takes, specs


def _sizes(groups: Sequence[list[Axis]], lengths: tuple[int, int, int]) -> list[Sizes]:
    """The lengths of the axes in each run: the base, one group changed in each, and all changed."""
    if not groups:
        return [{}]

    def run(which: Callable[[int], Any]) -> Sizes:
        return {
            axis: (_BATCHES if axis.axis == 0 else lengths)[int(which(place))]
            for place, group in enumerate(groups)
            for axis in group
        }

    changed = [run(i.__eq__) for i in range(len(groups))]
    return [run(lambda place: 0), *changed, run(lambda place: 2)]


def samples(specs: Sequence[InputSpec], sizes: Sizes, seed: int, most: int = 1) -> list[Tensor]:
    """Random Tensors for the specs. most: of whole numbers that come alone, such as a number of rounds."""
    generator = torch.Generator().manual_seed(seed)
    return [
        spec.sample({a.axis: n for a, n in sizes.items() if a.input == i}, generator, most)
        for i, spec in enumerate(specs)
    ]


def called(function: Callable[..., Any], takes: Any, tensors: Sequence[Tensor]) -> Any:
    """The function called with Tensors in place of the Refs."""
    plain = plain_function(function)
    bound = inspect.signature(plain).bind_partial()
    for name, value in takes.items():
        bound.arguments[name] = filled_in(value, tensors)
    return plain(*bound.args, **bound.kwargs)


def _called_rewritten(function: Callable[..., Any], takes: Any, tensors: Sequence[Tensor]) -> Any:
    """The same with Python's loops and branches as calls, which the recorder takes."""
    with rewritten_flow(function) as made:
        return called(made, takes, tensors)


@contextmanager
def rewritten_flow(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The function with Python's loops and branches as calls; within the block also those of its layers."""
    plain = plain_function(function)
    layers = [part for top in StaticFunction(plain)._layers() for part in top.sublayers(include_self=True)]
    with rewritten_layers(layers):
        try:
            yield rewritten(plain)
        except UnboundLocalError as error:
            raise Refused(
                f"{error}; a name that a loop or one way of a branch gives a value needs one before it"
            ) from error


def refuse_numbers(program: Program) -> None:
    """Refused for a Program of a function that reads a number, not a truth value, from a Tensor."""
    guard = next((g for g in program.guards if not isinstance(g.outcome, bool)), None)
    if guard is not None:
        raise Refused(
            f"{guard.line}: {guard.name.strip('_')}() of a Tensor decides what is computed; "
            f"{reasons[guard.line] + '; ' if guard.line in reasons else ''}keep it a Tensor, or write a loop "
            "with paddle.static.nn.while_loop"
        )


def _run(
    function: Callable[..., Any],
    takes: Any,
    specs: Sequence[InputSpec],
    sizes: Sizes,
    outcomes: Sequence[bool],
    outside: Outside,
    rows: bool,
) -> Program:
    """One recorded run with random inputs. outcomes: of the first truth values that Python reads. rows:
    whether a loop over the rows of a Tensor is one of the Program, for any number of them."""
    tensors = samples(specs, sizes, 0)
    recorder = Recorder(
        tensors, outside, {id(t.data): t for t in _owned(function)}, outcomes, takes_flow=True
    )
    recorder.loops_over_rows = rows
    with recorder.watching():
        result = _called_rewritten(function, takes, tensors)
    if recorder.refused:
        raise Refused(f"{recorder.refused[0]}")
    refuse_numbers(recorder.program)
    if any(ref.kind == "x" for call in recorder.program.calls for ref in call.writes):
        raise Refused("it writes into an argument")

    def output(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return recorder.known(leaf.data) or outside.ref(leaf.data, leaf)

    recorder.program.result = mapped(result, output)
    if not recorder.program.guards:  # what other ways need is not known yet
        branch = Branch()
        branch.add(recorder.program, 0, tuple(refs(recorder.program.result)))
        recorder.program.steps = list(branch.pruned()[0].calls)
    return recorder.program


def _owned(function: Callable[..., Any]) -> list[Tensor]:
    owners = StaticFunction(plain_function(function))._layers()
    return [t for layer in owners for t in (*layer.parameters(), *layer.buffers())]


def ends(function: Callable[..., Any], loaded: Whole, tensors: Sequence[Tensor]) -> bool:
    """Whether a function of a file answers these inputs, each of its loops within ROUNDS rounds."""
    before, control_flow.most_rounds = control_flow.most_rounds, ROUNDS
    try:
        with no_grad():
            function(**filled_in(loaded.takes, tensors))
        return True
    except (control_flow.Endless, InvalidArgument):
        return False
    finally:
        control_flow.most_rounds = before


def endless(loaded: Whole) -> str:
    """What to say of a file of which no random inputs are answered."""
    return (
        f"{loaded.flows[0].line}: for random inputs a loop takes more than {ROUNDS} rounds, or the layer "
        "refuses them; give the loop a largest number of rounds"
    )


def flat(result: Any) -> list[Tensor]:
    """The Tensors in a result, in order."""
    return [leaf for leaf in leaves(result) if isinstance(leaf, Tensor)]


def filled_in(takes: Any, tensors: Sequence[Tensor]) -> Any:
    """Arguments with Tensors in place of their Refs."""
    return mapped(takes, lambda leaf: tensors[leaf.index] if isinstance(leaf, Ref) else leaf)
