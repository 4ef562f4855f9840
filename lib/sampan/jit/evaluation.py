"""Running a Program whose parameters stay as they are: rewritten by passes at its first call, then compiled.

The first call runs the Program as it was recorded, rewrites it, and compares both on its own inputs; what
answers differently is not used. A parameter that changes later is noticed, and the Program rewritten anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_
from typing import Any

import torch

from ..engine import tape
from ..engine.apply import apply, wrap
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .code import Branch, forward_source, read_by
from .control_flow import Choose, Flow, Part, record_choice, record_loop
from .passes import PASSES, Form, Rewriting, optimized
from .passes.fuse_activation import chosen, convolution_twin
from .program import Call, Program, Ref, mapped, refs
from .record import recorder_of_flow
from .symbolic import Axis, Length

# Of the largest value: what rounding in another order may change. In int8 a number beside the half of two
# integers becomes the other one: a step of 1/127, which later layers may enlarge.
_TOLERANCE, _TOLERANCE_INT8 = 1e-4, 1 / 16


class Evaluation:
    """A Program over Tensors from outside, without gradients: it gives the buffers of `results`.

    passes: names of `PASSES`, in their order. rewritten: the Program that runs; code: its source.
    """

    def __init__(
        self,
        program: Program,
        tensors: Sequence[Tensor],
        constants: Sequence[torch.Tensor],
        passes: Sequence[str] = tuple(PASSES),
    ) -> None:
        self.program, self.tensors, self.constants, self.passes = (
            program,
            list(tensors),
            list(constants),
            passes,
        )
        self.results = [ref for ref in dict.fromkeys(refs(program.result)) if ref.kind == "v"]
        self.rewritten = program
        self.code = ""
        self._function: Callable[..., Any] | None = None
        self._frozen: list[torch.Tensor] = []
        self._seen: list[torch.Tensor] = []
        self._versions: list[int] = []
        self._stamps: list[int] = []
        self._clock = -1

    def __call__(self, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The buffers of `results`, for buffers of the inputs."""
        if self._function is None or self._stale():
            return self._first(given)
        found: Sequence[torch.Tensor] = self._function(*given, *self._frozen)[1]
        return found

    def _stale(self) -> bool:
        """Whether a parameter is another one, or was written to, since the Program was rewritten."""
        now = [t.data for t in self.tensors]
        if not all(map(is_, now, self._seen)) or [b._version for b in self._seen] != self._versions:
            return True
        if self._clock != tape.last_write:  # something has been written somewhere, perhaps by a Numba loop
            self._clock = tape.last_write
            return [_stamp(b) for b in self._seen] != self._stamps
        return False

    def _remember(self) -> None:
        """Note the state of the parameters."""
        self._seen = [*(t.data for t in self.tensors), *self.constants]
        self._versions, self._stamps = [b._version for b in self._seen], [_stamp(b) for b in self._seen]
        self._clock = tape.last_write

    def _first(self, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The answer of the Program as it was recorded; later calls run the rewritten one."""
        frozen = {Ref("p", i): t.data for i, t in enumerate(self.tensors)}
        frozen |= {Ref("k", i): b for i, b in enumerate(self.constants)}
        inputs = {Ref("x", i): b for i, b in enumerate(given)}
        state = torch.get_rng_state()
        values = run({**frozen, **inputs}, self.program.calls, given)
        answer = [values[ref] for ref in self.results]
        if any(call.writes for call in self.program.calls):
            rewriting = Rewriting(self.program, frozen)
        else:
            after = torch.get_rng_state()
            forms = {ref: Form.of(v) for ref, v in values.items() if isinstance(v, torch.Tensor)}
            del values
            rewriting = self._checked(frozen, inputs, given, answer, state, forms)
            torch.set_rng_state(after)
        self.rewritten = rewriting.program
        self._compile(rewriting, len(given))
        self._remember()
        return answer

    def _checked(
        self, frozen: Any, inputs: Any, given: Any, answer: Any, state: torch.Tensor, forms: dict[Ref, Form]
    ) -> Rewriting:
        """The Program after the passes, or as it is where they change an answer."""
        rewriting = optimized(self.program, frozen, self.passes, forms)
        torch.set_rng_state(state)
        values = run({**rewriting.frozen, **inputs}, rewriting.calls, given, rewriting)
        results = [ref for ref in dict.fromkeys(refs(rewriting.result)) if ref.kind != "x"]
        most = tolerance(self.program)
        same = all(_alike(a, values[ref], most) for a, ref in zip(answer, results, strict=True))
        return rewriting if same else Rewriting(self.program, frozen)

    def _compile(self, rewriting: Rewriting, inputs: int) -> None:
        used = [ref for call in rewriting.calls for ref in read_by(call) if ref.kind in ("p", "k")]
        frozen = list(dict.fromkeys(used))
        self._frozen = [rewriting.frozen[ref] for ref in frozen]
        rewriting.rename({ref: Ref("c", i) for i, ref in enumerate(frozen)})
        rewriting.rename({Ref("c", i): Ref("k", i) for i in range(len(frozen))})
        outputs = tuple(ref for ref in dict.fromkeys(refs(rewriting.result)) if ref.kind == "v")
        branch = Branch(rewriting.calls, outputs=outputs, number=0)
        source = forward_source(branch, inputs, 0, len(frozen))
        self._function, self.code = source.compiled("evaluation"), "\n".join(source.lines)


class Branches:
    """Programs that join at their guards, over Tensors from outside, without gradients."""

    def __init__(
        self, programs: Sequence[Program], tensors: Sequence[Tensor], constants: Sequence[torch.Tensor]
    ) -> None:
        self.programs, self.tensors, self.constants = list(programs), list(tensors), list(constants)
        self.results = [
            [ref for ref in dict.fromkeys(refs(program.result)) if ref.kind in ("v", "k")]
            for program in programs
        ]
        root = Branch()
        for number, program in enumerate(programs):
            if not root.add(program, number, tuple(self.results[number])):
                raise InvalidArgument(f"program {number} does not join the others at a guard")
        self._root = root.pruned()[0]
        self._function: Callable[..., Any] | None = None

    def __call__(self, given: Sequence[torch.Tensor]) -> tuple[Program, list[Ref], Sequence[torch.Tensor]]:
        """The Program whose way the inputs took, the Refs that it returns, and their buffers."""
        if self._function is None:
            counts = len(given), len(self.tensors), len(self.constants)
            self._function = forward_source(self._root, *counts).compiled("branches")
        number, found, _ = self._function(*given, *(t.data for t in self.tensors), *self.constants)
        return self.programs[number], self.results[number], found


def _stamp(buffer: torch.Tensor) -> int:
    """When the tape last noted a write to this memory."""
    return int(getattr(buffer.untyped_storage(), "written", 0))


def run(
    values: dict[Ref, Any],
    calls: Sequence[Call],
    given: Sequence[torch.Tensor],
    choose: Rewriting | None = None,
) -> dict[Ref, Any]:
    """The values of all Refs after the calls. choose: whose fused convolutions take their faster form."""
    sizes = Lengths(given)

    def filled_in(leaf: Any) -> Any:
        if isinstance(leaf, Ref):
            return values[leaf]
        return leaf.at(sizes) if isinstance(leaf, Length) else leaf

    for call in calls:
        arguments = [mapped(arg, filled_in) for arg in call.args]
        if choose is not None and call.function is convolution_twin:
            call.function, weight = chosen(arguments)
            if weight is not arguments[1]:
                arguments[1] = weight
                call.args = (call.args[0], choose.constant(weight), *call.args[2:])
        result = call.function(*arguments, **mapped(call.settings, filled_in))
        value, saved = result if call.saved is not None else (result, None)
        if call.saved is not None:
            values[call.saved] = saved
        assign(call.result, value, values)
    return values


def call_on_tape(call: Call, values: dict[Ref, Any], sizes: Lengths) -> None:
    """Make a call on Tensors and note its results. An operator goes through `apply`, and so on the tape."""

    def buffer(leaf: Any) -> Any:
        if isinstance(leaf, Ref):
            return values[leaf].data
        return leaf.at(sizes) if isinstance(leaf, Length) else leaf

    settings = mapped(call.settings, buffer)
    if isinstance(call.function, Flow):
        given = mapped(call.args, lambda leaf: values[leaf] if isinstance(leaf, Ref) else leaf)
        result: Any = _flow_on_tape(call.function, *given)
    elif call.operator is None:
        result = call.function(*mapped(call.args, buffer), **settings)
        result = result if result is None else wrap(result)
        for ref in call.writes:
            tape.written(values[ref].data, True)
    else:
        args = tuple(values[a] if isinstance(a, Ref) else mapped(a, buffer) for a in call.args)
        result = apply(call.operator, args, settings)
    assign(call.result, result, values)


def _flow_on_tape(flow: Flow, first: Any, others: Sequence[Tensor]) -> Any:
    """The results of a loop or branch, which is recorded as one where its caller is recorded for a file."""
    recorder = recorder_of_flow()
    if recorder is None:
        return flow.run(_part_on_tape, first, others)
    if isinstance(flow, Choose):
        return record_choice(recorder, first, [partial(_part_on_tape, part, *others) for part in flow.parts])
    test, body = flow.parts
    return record_loop(
        recorder,
        lambda *now: _part_on_tape(test, *now, *others)[0],
        lambda *now: _part_on_tape(body, *now, *others),
        first,
    )


def _part_on_tape(part: Part, *given: Tensor) -> list[Tensor]:
    """The Tensors that a Part of a loop or branch gives."""
    values: dict[Ref, Any] = {Ref("x", i): tensor for i, tensor in enumerate(given)}
    sizes = Lengths([tensor.data for tensor in given])
    for call in part.program.calls:
        call_on_tape(call, values, sizes)
    return [values[ref] for ref in part.program.result]


def assign(wanted: Any, made: Any, values: dict[Ref, Any]) -> None:
    """Note what a call has made under the Refs of its result."""
    if isinstance(wanted, Ref):
        values[wanted] = made
    elif isinstance(wanted, (list, tuple)):
        for part, value in zip(wanted, made, strict=True):
            assign(part, value, values)


def tolerance(program: Program) -> float:
    """How far answers may be apart that differ by rounding alone, as a part of the largest value."""
    return _TOLERANCE_INT8 if any(call.name.startswith("int8_") for call in program.calls) else _TOLERANCE


def _alike(wanted: torch.Tensor, found: torch.Tensor, most: float) -> bool:
    if wanted.shape != found.shape or wanted.dtype is not found.dtype:
        return False
    if not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
        return bool(torch.equal(wanted, found))
    scale = float(wanted.abs().nan_to_num(0.0, 0.0, 0.0).max()) if wanted.numel() else 0.0
    return bool(torch.allclose(wanted, found, rtol=0.0, atol=max(scale, 1e-6) * most, equal_nan=True))


class Lengths(dict[Axis, int]):
    """The length of any axis of the inputs."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._given = given

    def __missing__(self, axis: Axis) -> int:
        return int(self._given[axis.input].shape[axis.axis])
