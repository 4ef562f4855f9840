"""What is known of each value of a Program: its dtype and shape, None for a length that follows the input.

Nothing is inferred: the Program runs for two sizes of its inputs, and what differs follows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit.control_flow import Flow, Loop
from ..jit.evaluation import run
from ..jit.program import Call, Program, Ref, mapped, refs
from ..jit.record import Outside
from ..jit.symbolic import Axis, Length, Sizes
from ..jit.translated import TranslatedLayer
from ..jit.whole import Whole, endless, ends, samples

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


class Facts(dict[Ref, Fact]):
    """The Fact of each value. inner: those of the parts of its loops and branches, by the id of the part."""

    def __init__(self, known: dict[Ref, Fact] | None = None) -> None:
        super().__init__(known or {})
        self.inner: dict[int, Facts] = {}


def facts(loaded: Whole, outside: Outside) -> tuple[Facts, list[Tensor]]:
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
            return _joined(loaded.program, first, second), _fresh(loaded, sizes[2], outside)
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
        made = run(values, [_once(call) for call in program.calls], given)
    return {ref: value for ref, value in made.items() if isinstance(value, torch.Tensor) and ref.kind != "s"}


def _once(call: Call) -> Call:
    """The call; of a loop a single round, which shows the shapes and always ends."""
    if not isinstance(call.function, Loop):
        return call
    body = call.function.parts[1]

    def turn(variables: Any, others: Any) -> tuple[torch.Tensor, ...]:
        given = [*variables, *others]
        own: dict[Ref, Any] = {Ref("x", i): buffer for i, buffer in enumerate(given)}
        made = run(own, [_once(inner) for inner in body.program.calls], given)
        return tuple(made[ref] for ref in body.program.result)

    return replace(call, function=turn)


def _fresh(loaded: Whole, size: Sizes, outside: Outside) -> list[Tensor]:
    """Inputs to compare with, for which every loop ends."""
    if not loaded.flows:
        return samples(loaded.specs, size, 2)
    named = [(f"tensor_{i}", tensor) for i, tensor in enumerate(outside.tensors)]
    layer: Any = TranslatedLayer(named, outside.buffers, [("forward", loaded)])
    for seed, most in enumerate((3, 7, 1), 2):
        found = samples(loaded.specs, size, seed, most)
        if ends(layer.forward, loaded, found):
            return found
    raise InvalidArgument(endless(loaded))


def _joined(
    program: Program,
    first: dict[Ref, torch.Tensor],
    second: dict[Ref, torch.Tensor],
    known: Iterable[Ref] = (),
) -> Facts:
    """known: values that are the same for every input, beside the constants."""
    same = {ref for ref in first if ref.kind == "k"} - {ref for call in program.calls for ref in call.writes}
    same.update(known)
    found = Facts()
    for call in program.calls:
        if folds(call, same):
            same |= set(refs(call.result))
        if isinstance(call.function, Flow):
            found.inner |= _of_parts(call, first, second, same)
    for ref, one in first.items():
        shape = tuple(n if n == m else None for n, m in zip(one.shape, second[ref].shape, strict=True))
        found[ref] = Fact(shape, one.dtype, one if ref in same else None)
    return found


def _of_parts(
    call: Call, first: dict[Ref, torch.Tensor], second: dict[Ref, torch.Tensor], same: set[Ref]
) -> dict[int, Facts]:
    """The Facts of the parts of a loop or branch, in its first round."""
    flow: Any = call.function
    given, others = call.args
    variables = list(given) if isinstance(flow, Loop) else []
    known = [Ref("x", len(variables) + i) for i, ref in enumerate(others) if ref in same]
    found: dict[int, Facts] = {}
    for part in flow.parts:
        runs = []
        for values in (first, second):
            buffers = [values[ref].clone() for ref in (*variables, *others)]
            own = {Ref("x", i): buffer for i, buffer in enumerate(buffers)}
            made = run(own, [_once(c) for c in part.program.calls], buffers)
            runs.append({r: v for r, v in made.items() if isinstance(v, torch.Tensor) and r.kind != "s"})
        found[id(part)] = _joined(part.program, runs[0], runs[1], known)
    return found


def folds(call: Call, same: set[Ref]) -> bool:
    """Whether a call's result is the same for every input: it reads numbers and such values alone."""
    given = (call.args, call.settings)
    lengths: list[Length] = []
    mapped(given, lambda leaf: lengths.append(leaf) if isinstance(leaf, Length) else None)
    if isinstance(call.function, Flow):
        return False
    return not lengths and not call.writes and not call.random and same.issuperset(refs(given))
