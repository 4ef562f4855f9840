"""`cond`, `while_loop`, `case` and `switch_case` of a Program that is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.tensor import Tensor
from ...jit.control_flow import record_choice, record_loop
from ...jit.record import Recorder
from ...jit.symbolic import of_inputs, with_inputs
from .building import default_main_program


def choose(truth: Tensor, true_fn: Any, false_fn: Any) -> Any:
    """A step with both ways; variables for what they give, which must have the same structure."""
    recorder = default_main_program().recorder
    ways = [function or (lambda: None) for function in (true_fn, false_fn)]
    result = record_choice(recorder, truth, ways)
    _finish(recorder)
    return result


def repeat(test: Any, body: Any, loop_vars: Sequence[Any]) -> list[Any]:
    """A step that repeats a body; variables for the last values."""
    recorder = default_main_program().recorder

    def values(*variables: Tensor) -> list[Any]:
        found = body(*variables)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    results: list[Any] = record_loop(recorder, test, values, loop_vars)
    _finish(recorder)
    return results


def _finish(recorder: Recorder) -> None:
    """Give the last call the inputs whose lengths it follows."""
    steps: list[Any] = recorder.program.steps
    call = with_inputs(steps.pop())
    steps.append(call if recorder.depth_of_parts else of_inputs(call))
