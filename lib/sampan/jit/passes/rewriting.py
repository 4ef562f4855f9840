"""What passes work on: the calls of a Program, the values that are known, and who reads what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from ..code import Branch, read_by
from ..program import Call, Program, Ref, mapped, refs


class Form(NamedTuple):
    """What is known of a value beside its numbers. shape: as it was in one run."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    cpu: bool

    @staticmethod
    def of(buffer: torch.Tensor) -> Form:
        """Of this buffer."""
        return Form(buffer.dtype, tuple(buffer.shape), buffer.is_cpu)


class Rewriting:
    """A Program that is being changed. calls, result: as in a Program.

    frozen: buffers that are known, by their Ref; passes add constants. forms: of the other values, as they
    were in one run, where there was one.
    """

    def __init__(
        self, program: Program, frozen: dict[Ref, torch.Tensor], forms: dict[Ref, Form] | None = None
    ) -> None:
        self.calls = [replace(call) for call in program.calls]  # which passes may change
        self.result, self.frozen, self.forms = program.result, dict(frozen), dict(forms or {})
        self._constants = 1 + max((ref.index for ref in frozen if ref.kind == "k"), default=-1)
        self._values = 1 + max(
            (ref.index for c in self.calls for ref in refs(c.result) if ref.kind == "v"), default=-1
        )

    @property
    def program(self) -> Program:
        """The Program as it is now."""
        return Program(list(self.calls), self.result)

    def constant(self, buffer: torch.Tensor) -> Ref:
        """The Ref of a new constant."""
        ref = Ref("k", self._constants)
        self._constants += 1
        self.frozen[ref] = buffer
        return ref

    def form(self, ref: Any) -> Form | None:
        """What is known of a value; None where nothing is."""
        return Form.of(self.frozen[ref]) if ref in self.frozen else self.forms.get(ref)

    def shape(self, ref: Any) -> tuple[int, ...] | None:
        """The shape that a value had; None where it is not known."""
        form = self.form(ref)
        return None if form is None else form.shape

    def readers(self) -> Counter[Ref]:
        """How often each value is read; the result counts too."""
        return Counter([ref for call in self.calls for ref in read_by(call)] + list(refs(self.result)))

    def made_by(self) -> dict[Ref, Call]:
        """The call that makes each value."""
        return {ref: call for call in self.calls for ref in refs(call.result)}

    def written(self) -> set[Ref]:
        """Values whose memory some call changes."""
        return {ref for call in self.calls for ref in call.writes}

    def rename(self, names: dict[Ref, Ref]) -> None:
        """Let all calls read other values."""

        def last(leaf: Any) -> Any:
            while isinstance(leaf, Ref) and leaf in names:
                leaf = names[leaf]
            return leaf

        for i, call in enumerate(self.calls):
            parts = {name: mapped(getattr(call, name), last) for name in ("args", "settings", "writes")}
            self.calls[i] = replace(call, **parts)
        self.result = mapped(self.result, last)

    def put(self, old: Call, *new: Call) -> None:
        """Put calls in the place of one."""
        place = next(i for i, call in enumerate(self.calls) if call is old)
        self.calls[place : place + 1] = new

    def remove(self, old: Call) -> None:
        """Take a call out."""
        self.put(old)


def pure(call: Call) -> bool:
    """Whether a call only computes its result from what it reads."""
    return not call.random and not call.writes and not (call.operator is None and call.name.endswith("_"))


def drop_dead(rewriting: Rewriting) -> None:
    """Take out the calls whose results are not used."""
    branch = Branch(rewriting.calls, outputs=tuple(refs(rewriting.result)), number=0)
    rewriting.calls = branch.pruned()[0].calls
