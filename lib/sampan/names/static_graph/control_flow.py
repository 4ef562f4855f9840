"""`cond`, `while_loop`, `case` and `switch_case` of a Program that is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.errors import InvalidArgument
from ...engine.operator import operators
from ...engine.tensor import Tensor
from ...jit.program import Call, Ref, leaves, mapped
from .building import default_main_program
from .steps import Choose, Loop

_assign = operators["assign"]


def choose(truth: Tensor, true_fn: Any, false_fn: Any) -> Any:
    """A step with both ways; variables for what they give, which must have the same structure."""
    program = default_main_program()
    recorder = program.recorder
    ways, results = [], []
    for function in (true_fn, false_fn):
        steps, result = recorder.apart(function or (lambda: None))
        given = [leaf for leaf in leaves(result) if isinstance(leaf, Tensor)]
        ways.append((steps, [recorder.ref_of(t) for t in given]))
        results.append((result, given))
    (result, first), (_, second) = results
    if len(first) != len(second):
        raise InvalidArgument(f"cond: true_fn returns {len(first)} Tensors, false_fn {len(second)}")
    made = {id(tensor): recorder.fresh(tensor) for tensor in first}
    step = Choose(recorder.ref_of(truth), ways, [made[id(tensor)][1] for tensor in first])
    program.steps.append(step)
    return mapped(result, lambda leaf: made[id(leaf)][0] if isinstance(leaf, Tensor) else leaf)


def repeat(test: Any, body: Any, loop_vars: Sequence[Any]) -> list[Any]:
    """A step that repeats a body; variables for the last values."""
    program = default_main_program()
    recorder = program.recorder
    state = [recorder.fresh(variable) for variable in loop_vars]
    variables = [tensor for tensor, _ in state]
    for variable, (_, ref) in zip(loop_vars, state, strict=True):  # the first values
        first = (recorder.ref_of(variable),)
        program.steps.append(Call(_assign.body, "assign", first, {}, ref, operator=_assign))
    test_steps, truth = recorder.apart(test, variables)
    body_steps, found = recorder.apart(body, variables)
    values = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(values) != len(variables):
        raise InvalidArgument(f"while_loop: body: expected {len(variables)} results, got {len(values)}")
    results = [recorder.fresh(variable) for variable in variables]
    refs: list[Ref] = [ref for _, ref in state]
    given = [recorder.ref_of(value) for value in values]
    program.steps.append(
        Loop(refs, test_steps, recorder.ref_of(truth), body_steps, given, [ref for _, ref in results])
    )
    return [tensor for tensor, _ in results]
