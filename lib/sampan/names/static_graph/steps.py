"""What a Program does beside calls: updates, gradients and look-ups; and which steps are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...engine.tensor import Tensor
from ...jit.code import read_by
from ...jit.control_flow import Flow, Part
from ...jit.program import Call, Ref, refs
from ...jit.program import Program as Calls


class Update:
    """A step of an optimizer: it minimizes a value of the Program when this runs."""

    def __init__(self, optimizer: Any, loss: Ref, parameters: list[Tensor] | None) -> None:
        self.optimizer, self.loss, self.parameters = optimizer, loss, parameters


class Derive:
    """Gradients of values by others, under their Refs."""

    def __init__(
        self, targets: list[Ref], sources: list[Ref], given: list[Ref | None], result: list[Ref]
    ) -> None:
        self.targets, self.sources, self.given, self.result = targets, sources, given, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {*self.targets, *self.sources, *(ref for ref in self.given if ref is not None)}


@dataclass(frozen=True)
class LookUp:
    """Rows of a table that is a layer, for ids. train: whether ids may get rows, and rows gradients."""

    layer: Any
    ids: Ref
    result: Ref
    train: bool

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {self.ids}


def evaluated(steps: Sequence[Any]) -> list[Any]:
    """The steps as they evaluate: batch normalisation with its statistics, dropout off, no rows for new
    ids."""
    found = []
    for step in steps:
        if isinstance(step, Call) and isinstance(step.function, Flow):
            step = replace(step, function=_evaluated_flow(step.function))
        elif isinstance(step, Call) and step.name == "normalize_batch" and step.args[5]:
            step = replace(step, args=(*step.args[:5], False, *step.args[6:]), writes=())
        elif isinstance(step, LookUp):
            step = replace(step, train=False)
        found.append(step)
    return found


def _evaluated_flow(flow: Flow) -> Flow:
    parts = (
        Part(Calls(evaluated(part.program.steps), part.program.result), part.inputs) for part in flow.parts
    )
    return type(flow)(tuple(parts))


def needed(steps: Sequence[Any], wanted: Sequence[Ref]) -> list[Any]:
    """The steps that lead to these values, or write to memory that outlives the run."""
    use, kept = set(wanted), []
    for step in reversed(steps):
        made = {*refs(step.result)}
        read = set(read_by(step)) if isinstance(step, Call) else step.reads()
        lasting = isinstance(step, Call) and any(r.kind in ("p", "k") or r in use for r in step.writes)
        if lasting or not use.isdisjoint(made):
            kept.append(step)
            use |= read
    return kept[::-1]
