"""What a Program does beside calls: updates, gradients, branches and loops; and which steps are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...engine.tensor import Tensor
from ...jit.code import read_by
from ...jit.program import Call, Ref, refs


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


class Choose:
    """One of two lists of steps, by a truth value; `ways` has the steps and what they give."""

    def __init__(self, truth: Ref, ways: list[tuple[list[Any], list[Ref]]], result: list[Ref]) -> None:
        self.truth, self.ways, self.result = truth, ways, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {self.truth, *(ref for steps, given in self.ways for ref in (*given, *_read(steps)))}


class Loop:
    """Steps that are repeated while a truth value that other steps compute holds.

    state: the values that go round; each turn they become `given`, what the body computes.
    """

    def __init__(
        self,
        state: list[Ref],
        test: list[Any],
        truth: Ref,
        body: list[Any],
        given: list[Ref],
        result: list[Ref],
    ) -> None:
        self.state, self.test, self.truth = state, test, truth
        self.body, self.given, self.result = body, given, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {*self.state, self.truth, *self.given, *_read(self.test), *_read(self.body)}


def _read(steps: Sequence[Any]) -> set[Ref]:
    return {ref for step in steps for ref in (read_by(step) if isinstance(step, Call) else step.reads())}


def evaluated(steps: Sequence[Any]) -> list[Any]:
    """The steps as they evaluate: batch normalisation with its statistics, dropout off."""
    found = []
    for step in steps:
        if isinstance(step, Call) and step.name == "normalize_batch" and step.args[5]:
            step = replace(step, args=(*step.args[:5], False, *step.args[6:]), writes=())
        found.append(step)
    return found


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
