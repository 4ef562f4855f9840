"""What is known of each value of a Program: its dtype and shape, None for a length that follows the input.

Nothing is inferred: the Program runs for two sizes of its inputs, and what differs follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..jit.evaluation import run
from ..jit.program import Call, Program, Ref, mapped, refs
from ..jit.record import Outside
from ..jit.symbolic import Axis, Length, Sizes
from ..jit.whole import Whole, samples

# Lengths of batches and of other axes in the two runs that tell lengths from numbers, and of a fresh input.
_RUNS = ((2, 32), (5, 64), (4, 48)), ((2, 224), (5, 320), (4, 256))


@dataclass(frozen=True)
class Fact:
    """Shape and dtype of a value. buffer: its content, where that is the same for every input."""

    shape: tuple[int | None, ...]
    dtype: torch.dtype
    buffer: torch.Tensor | None = None

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)


def facts(loaded: Whole, outside: Outside) -> tuple[dict[Ref, Fact], list[Tensor]]:
    """The Fact of each value, and fresh inputs of a size that neither run had."""
    axes = [Axis(i, axis) for i, spec in enumerate(loaded.specs) for axis in spec.unknown]
    failure: Exception | None = None
    for lengths in _RUNS if any(axis.axis for axis in axes) else _RUNS[:1]:
        sizes: list[Sizes] = [{a: other if a.axis else batch for a in axes} for batch, other in lengths]
        try:
            first, second = (
                values_of(loaded.program, samples(loaded.specs, size, seed), outside)
                for seed, size in enumerate(sizes[:2])
            )
            return _joined(loaded.program, first, second), samples(loaded.specs, sizes[2], 2)
        except (RuntimeError, ValueError, IndexError) as error:  # too small for this network
            failure = failure or error
    assert failure is not None
    raise failure


def values_of(program: Program, inputs: Sequence[Tensor], outside: Outside) -> dict[Ref, torch.Tensor]:
    """Every value of a Program for these inputs."""
    given = [t.data for t in inputs]
    values = {Ref("x", i): b for i, b in enumerate(given)}
    values |= {Ref("p", i): t.data for i, t in enumerate(outside.tensors)}
    values |= {Ref("k", i): b for i, b in enumerate(outside.buffers)}
    with no_grad():
        made = run(values, program.calls, given)
    return {ref: value for ref, value in made.items() if isinstance(value, torch.Tensor) and ref.kind != "s"}


def _joined(
    program: Program, first: dict[Ref, torch.Tensor], second: dict[Ref, torch.Tensor]
) -> dict[Ref, Fact]:
    same = {ref for ref in first if ref.kind == "k"} - {ref for call in program.calls for ref in call.writes}
    for call in program.calls:
        if folds(call, same):
            same |= set(refs(call.result))
    return {
        ref: Fact(
            tuple(n if n == m else None for n, m in zip(one.shape, second[ref].shape, strict=True)),
            one.dtype,
            one if ref in same else None,
        )
        for ref, one in first.items()
    }


def folds(call: Call, same: set[Ref]) -> bool:
    """Whether a call's result is the same for every input: it reads numbers and such values alone."""
    given = (call.args, call.settings)
    lengths: list[Length] = []
    mapped(given, lambda leaf: lengths.append(leaf) if isinstance(leaf, Length) else None)
    return not lengths and not call.writes and not call.random and same.issuperset(refs(given))
