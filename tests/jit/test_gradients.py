"""Backward passes of Programs, beside torch's autograd."""

from typing import Any

import pytest
import torch

import sampan as paddle
from sampan.jit.gradients import NotDerived, added, filled, pullback_of
from sampan.jit.program import Ref
from sampan.jit.record import Outside, Recorder


def derived(function: Any, *values: torch.Tensor) -> tuple[list[Any], Any]:
    """The gradients of sum(f) by the arguments from a Program, and the Pullback."""
    tensors = [paddle.Tensor(v.clone(), stop_gradient=False) for v in values]
    recorder = Recorder(tensors, Outside(), {})
    with recorder.watching():
        out = function(*tensors)
    pull = pullback_of([out], [(Ref("x", i), t) for i, t in enumerate(tensors)], recorder)
    buffers = {Ref("x", i): t.data for i, t in enumerate(tensors)}
    values_of: dict[Any, Any] = {**buffers}
    for call in recorder.program.calls:
        given = [values_of[a] if isinstance(a, Ref) else a for a in call.args]
        result = call.function(*given, **call.settings)
        value, saved = result if call.operator and call.operator.saves else (result, None)
        values_of[call.result], values_of[call.saved] = value, saved
    kept = [values_of[ref] for ref in pull.kept]
    return list(pull.source.compiled("test")((torch.ones_like(out.data),), kept)), pull


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * y + x,
        lambda x, y: (x @ y.t()).exp() if isinstance(x, torch.Tensor) else paddle.exp(x @ y.T),
        lambda x, y: x * y[0] / (y * y + 1),
        lambda x, y: x.sum() * y.tanh(),
        lambda x, y: x.reshape([6]).sum() * y if not isinstance(x, torch.Tensor) else x.reshape(6).sum() * y,
    ],
)
def test_gradients_are_those_of_torch(function: Any) -> None:
    torch.manual_seed(0)
    values = [torch.randn(2, 3, dtype=torch.float64) for _ in range(2)]
    leaves: list[Any] = [v.clone().requires_grad_() for v in values]
    function(*leaves).sum().backward()
    found, _ = derived(function, *values)
    for leaf, gradient in zip(leaves, found, strict=True):
        assert torch.allclose(gradient, leaf.grad, rtol=1e-12)


def test_what_is_not_needed_is_not_kept() -> None:
    _, pull = derived(lambda x, y: x * 2 + y, torch.ones(2), torch.ones(2))
    assert pull.kept == ()
    found, _ = derived(lambda x, y: x * 2, torch.ones(2), torch.ones(2))
    assert found[1] is None and found[0].tolist() == [2, 2]


def test_hooks_are_refused() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g)
        return y

    with pytest.raises(NotDerived, match="hook"):
        derived(function, torch.ones(2))


def test_parts() -> None:
    one = torch.ones(1)
    assert added(None, one) is one and added(one, None) is one and added(one, one).item() == 2
    outputs = [((1,), torch.float32, torch.device("cpu"))] * 2
    assert filled((None, None), outputs, True) is None
    assert [p.item() for p in filled((None, one), outputs, True)] == [0, 1]
    assert filled((None, one), outputs, False) == (None, one)
