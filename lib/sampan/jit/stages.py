"""A Program as it is recorded and after each pass: what an evaluation, or a file, does to it step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..dtype import name_of
from ..engine.backward import set_grad_enabled
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from .evaluation import run
from .liveness import Buffer, bound, buffers
from .passes import PASSES, Form, Rewriting
from .passes.rewriting import drop_dead
from .program import Program, Ref, refs
from .record import Outside
from .whole import evaluating, recorded


@dataclass(frozen=True)
class Value:
    """What is known of a value after a run: its shape, the name of its dtype, the bytes of its entries."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class Stage:
    """A Program at one point of its rewriting.

    name: of the pass that ran last, "" for the Program as it was recorded. values: of inputs, parameters,
    constants and results. buffers: what its calls make.
    """

    name: str
    program: Program
    values: dict[Ref, Value]
    buffers: list[Buffer]

    @property
    def bytes(self) -> int:
        """Of all buffers together."""
        return sum(buffer.bytes for buffer in self.buffers)

    @property
    def peak(self) -> int:
        """Bytes that are needed at once when each buffer is freed after its last use."""
        return bound(self.buffers, len(self.program.calls))


def stages(
    layer: Layer | Callable[..., Any], inputs: Sequence[Tensor], passes: Sequence[str] = tuple(PASSES)
) -> list[Stage]:
    """The Program of a layer, or of a function, for these inputs: as it evaluates, and after each pass.

    Each Program is run on the inputs. passes: names of `PASSES`, run in turn. Raises InvalidArgument for an
    unknown pass, and where values of Tensors decide which calls are made.
    """
    if unknown := [name for name in passes if name not in PASSES]:
        raise InvalidArgument(f"passes: expected names of {', '.join(PASSES)}, got {', '.join(unknown)}")
    outside = Outside(by_content=True)
    with evaluating(layer):
        whole = recorded(layer.forward if isinstance(layer, Layer) else layer, list(inputs), outside)
    if whole.branched:
        raise InvalidArgument(
            f"{whole.program.guards[0].line}: values of Tensors decide which calls are made"
        )
    frozen = {Ref("p", i): t.data for i, t in enumerate(outside.tensors)}
    frozen |= {Ref("k", i): b for i, b in enumerate(outside.buffers)}
    rewriting = Rewriting(whole.program, frozen)
    given = [t.data for t in inputs]
    found = [_stage("", rewriting, given)]
    for name in passes:
        PASSES[name](rewriting)
        drop_dead(rewriting)
        found.append(_stage(name, rewriting, given))
    return found


def _stage(name: str, rewriting: Rewriting, given: Sequence[torch.Tensor]) -> Stage:
    """The Program as it is now, and a run of it."""
    calls = [replace(call) for call in rewriting.calls]
    known = rewriting.frozen | {Ref("x", i): b for i, b in enumerate(given)}
    with set_grad_enabled(False):
        values = run(dict(known), calls, given)
    made = buffers(calls, list(refs(rewriting.result)), values, known)
    rewriting.forms |= {ref: Form.of(b) for ref, b in values.items() if isinstance(b, torch.Tensor)}
    facts = {ref: _fact(b) for ref, b in values.items() if isinstance(b, torch.Tensor)}
    return Stage(name, Program(list(calls), rewriting.result), facts, made)


def _fact(buffer: torch.Tensor) -> Value:
    return Value(tuple(buffer.shape), name_of(buffer.dtype), buffer.numel() * buffer.element_size())
