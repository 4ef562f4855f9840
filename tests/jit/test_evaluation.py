"""Programs with frozen parameters."""

from typing import Any

import torch

import sampan as paddle
from sampan import nn
from sampan.jit.evaluation import Evaluation, _alike
from sampan.jit.passes import PASSES
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.whole import recorded


def evaluation(layer: Any, shape: list[int | None], **settings: Any) -> Evaluation:
    layer.eval()
    outside = Outside()
    with paddle.no_grad():
        loaded = recorded(layer.forward, [InputSpec(shape)], outside)
    return Evaluation(loaded.program, outside.tensors, outside.buffers, **settings)


def same(found: Any, layer: Any, x: torch.Tensor) -> bool:
    with paddle.no_grad():
        return torch.allclose(found[0], layer(paddle.Tensor(x)).data, rtol=1e-4, atol=1e-5)


def test_it_is_rewritten_at_the_first_call_and_holds_for_other_sizes() -> None:
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    run = evaluation(net, [None, 3, 8, 8])
    for n in (2, 2, 5, 1):
        x = torch.randn(n, 3, 8, 8)
        assert same(run([x]), net, x)
    assert next(call.name for call in run.rewritten.calls) == "convolution" and "convolution" in run.code


def test_a_parameter_that_changes_is_noticed() -> None:
    net: Any = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4))
    run, x = evaluation(net, [None, 3, 8, 8]), torch.randn(2, 3, 8, 8)
    changes = [
        lambda: net[0].weight.set_value(net[0].weight * 2),
        lambda: net[1].bias.data.add_(1.0),
        lambda: setattr(net[1]._mean, "data", net[1]._mean.data + 1),
    ]
    for change in (lambda: None, lambda: None, *changes):
        change()
        assert same(run([x]), net, x) and same(run([x]), net, x)


def test_a_pass_that_changes_the_answer_is_not_used(monkeypatch: Any) -> None:
    def wrong(rewriting: Any) -> None:
        rewriting.calls[-1].function = lambda x, w, b: torch.addmm(b, x, w) + 1.0

    monkeypatch.setitem(PASSES, "wrong", wrong)
    net = nn.Linear(3, 2)
    run, x = evaluation(net, [None, 3], passes=["wrong"]), torch.randn(2, 3)
    assert same(run([x]), net, x) and same(run([x]), net, x)


def test_programs_that_write_are_run_as_they_are() -> None:
    class Counts(nn.Layer):
        count: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", paddle.zeros([1]))

        def forward(self, x: Any) -> Any:
            self.count.add_(paddle.ones([1]))
            return x + self.count

    net = Counts()
    run = evaluation(net, [2])
    start = net.count.item()
    values = [run([torch.zeros(2)])[0][0].item() for _ in range(3)]
    assert values == [start + 1, start + 2, start + 3]


def test_complex_answers_are_compared_too() -> None:
    one = torch.tensor([1 + 1j, 2.0])
    assert _alike(one, one + 1e-6, 1e-4) and not _alike(one, one + 0.5j, 1e-4)
    assert not _alike(one, one.to(torch.complex128), 1e-4)
