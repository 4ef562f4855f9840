from typing import Any

import pytest
import torch

import sampan as paddle
import sampan.nn.functional as F
from sampan import nn
from sampan.jit.evaluation import Evaluation, run
from sampan.jit.loops.chain import Chain
from sampan.jit.passes import PASSES, Form
from sampan.jit.passes.rewriting import Rewriting, drop_dead
from sampan.jit.program import Ref
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.whole import recorded

from .beside import rewriting_of


class Function(nn.Layer):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.norm, self.bias = nn.LayerNorm(6), self.create_parameter([6])

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def fused(function: Any, *inputs: torch.Tensor) -> tuple[list[str], Rewriting]:
    """The names of the calls after the pass, whose answers are those of before."""
    rewriting = rewriting_of(Function(function), *([None, *x.shape[1:]] for x in inputs))
    given = {**rewriting.frozen, **{Ref("x", i): b for i, b in enumerate(inputs)}}
    before = run(dict(given), rewriting.calls, inputs)
    rewriting.forms |= {ref: Form.of(b) for ref, b in before.items() if isinstance(b, torch.Tensor)}
    PASSES["fuse_elementwise"](rewriting)
    drop_dead(rewriting)
    after = run(dict(given), rewriting.calls, inputs)
    results = rewriting.result if isinstance(rewriting.result, tuple) else (rewriting.result,)
    for ref in results:
        assert before[ref].dtype is after[ref].dtype and torch.equal(before[ref], after[ref])
    return [call.name for call in rewriting.calls], rewriting


def chains(program: Any) -> list[Chain]:
    """The chains that are called."""
    return [call.function for call in program.calls if isinstance(call.function, Chain)]


X, Y = torch.randn(4, 6), torch.randn(4, 6)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda s, x, y: F.gelu(x + s.bias) * y - 0.5, ["elementwise"]),
        (lambda s, x, y: paddle.where((x > 0) & (y <= 1), x * x, -y), ["elementwise"]),
        (lambda s, x, y: F.gelu(s.norm(x + y)), ["elementwise"]),
        (lambda s, x, y: F.softmax(x * 0.1 + y) * y, ["elementwise"]),
        (lambda s, x, y: F.softmax(s.norm(x)) + y, ["normalize_layer", "elementwise"]),
        (lambda s, x, y: F.softmax(x, axis=0) + y, ["softmax", "add"]),
        (lambda s, x, y: paddle.tanh(x), ["tanh"]),
        (lambda s, x, y: (paddle.exp(x) + y).sum(), ["elementwise", "sum"]),
        (lambda s, x, y: paddle.tanh((x * y).sum(axis=1, keepdim=True)) + x, ["multiply", "sum", "tanh", "add"]),
        (lambda s, x, y: (x.astype("float64") + 1.0) * 2.0, ["cast", "add", "multiply"]),
        (lambda s, x, y: ((x > 0).astype("int64") + 1) * 2, ["greater_than", "cast", "add", "multiply"]),
        (lambda s, x, y: (x**5 + 1) * y, ["pow", "elementwise"]),
    ],
)  # fmt: skip  # a table
def test_chains_are_joined_and_others_are_not(function: Any, names: list[str]) -> None:
    assert fused(function, X, Y)[0] == names


def test_a_value_that_others_read_is_made() -> None:
    def two(s: Any, x: Any, y: Any) -> Any:
        a = paddle.exp(x) + y
        return a, paddle.tanh(a * 2.0) - 1.0

    names, rewriting = fused(two, X, Y)
    assert names == ["elementwise", "elementwise"]
    assert [len(chain.steps) for chain in chains(rewriting)] == [2, 3]


def test_a_value_that_the_chain_reads_twice_is_made_once() -> None:
    names, rewriting = fused(lambda s, x, y: (x + y) * (x + y).tanh() / ((x * 2.0) ** 2 + 1.0), X, Y)
    (call,) = rewriting.calls
    assert names == ["elementwise"] and list(call.args) == [Ref("x", 0), Ref("x", 1)]


def test_without_a_run_nothing_is_known_and_nothing_joined() -> None:
    rewriting = rewriting_of(Function(lambda s, x: paddle.tanh(x) + 1.0), [None, 6])
    PASSES["fuse_elementwise"](rewriting)
    assert [call.name for call in rewriting.calls] == ["tanh", "add"]


def test_a_long_chain_is_several() -> None:
    def long(s: Any, x: Any) -> Any:
        for _ in range(40):
            x = x * 0.5 + 1.0
        return x

    names, rewriting = fused(long, X)
    assert names == ["elementwise"] * 3
    assert sum(len(chain.steps) for chain in chains(rewriting)) == 80


def evaluation(function: Any, inputs: int) -> Evaluation:
    outside = Outside()
    layer = Function(function)
    layer.eval()
    with paddle.no_grad():
        found = recorded(layer.forward, [InputSpec([None, 6])] * inputs, outside)
    return Evaluation(found.program, outside.tensors, outside.buffers)


def test_an_evaluation_by_loops_holds_for_other_sizes_and_strides(monkeypatch: Any) -> None:
    monkeypatch.setattr("sampan.jit.loops.chain.FUSED_FROM", 1)
    monkeypatch.setattr(Chain, "_measured", lambda *_: True)
    whole = evaluation(lambda s, x, y: x * y + 1.0 - x, 2)
    for n in (3, 3, 700, 1, 0):
        x, y = torch.randn(n, 6), torch.randn(n, 6)
        for given in ((x, y), (x, x), (torch.randn(6, n).t(), y)):
            found, wanted = whole(given)[0], given[0] * given[1] + 1.0 - given[0]
            assert torch.equal(found, wanted) and found.stride() == wanted.stride()
            found.add_(1.0)  # memory of its own
            assert torch.equal(whole(given)[0], wanted)
    (chain,) = chains(whole.rewritten)
    assert any(chain._plans.values())
