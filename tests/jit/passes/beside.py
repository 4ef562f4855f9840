"""Programs of layers, run before and after a pass."""

from typing import Any

import torch

import sampan as paddle
from sampan.jit.evaluation import run
from sampan.jit.passes import PASSES, Rewriting
from sampan.jit.passes.rewriting import drop_dead
from sampan.jit.program import Call, Ref
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.whole import recorded


def rewriting_of(layer: Any, *shapes: list[int | None]) -> Rewriting:
    """The Program of a layer that evaluates, for inputs of these shapes, with its parameters frozen."""
    layer.eval()
    outside = Outside()
    with paddle.no_grad():
        loaded = recorded(layer.forward, [InputSpec(shape) for shape in shapes], outside)
    frozen = {Ref("p", i): t.data for i, t in enumerate(outside.tensors)}
    return Rewriting(loaded.program, frozen | {Ref("k", i): b for i, b in enumerate(outside.buffers)})


def answer(rewriting: Rewriting, *inputs: torch.Tensor) -> torch.Tensor:
    """What a Program with one result computes."""
    values = {**rewriting.frozen, **{Ref("x", i): b for i, b in enumerate(inputs)}}
    found: torch.Tensor = run(values, rewriting.calls, inputs)[rewriting.result]
    return found


def passed(rewriting: Rewriting, name: str, *inputs: torch.Tensor, exact: bool = True) -> list[str]:
    """Run a pass, assert that the answer is the same, and give the names of the calls that are left."""
    before = answer(rewriting, *inputs)
    PASSES[name](rewriting)
    drop_dead(rewriting)
    after = answer(rewriting, *inputs)
    assert torch.equal(before, after) if exact else torch.allclose(before, after, rtol=1e-4, atol=1e-5)
    return [call.name for call in rewriting.calls]


def calls(rewriting: Rewriting, name: str) -> list[Call]:
    """The calls of a name."""
    return [call for call in rewriting.calls if call.name == name]
