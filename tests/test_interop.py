"""Sampan inside torch and torch inside Sampan: the same weights, step by step, over the same memory."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.interop import from_dlpack, to_dlpack, torch_layer, torch_module

nn = paddle.nn
STEPS = 6


def ours() -> nn.Layer:
    paddle.seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3))


def theirs() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
    )


def batches():
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        yield random.normal(size=(5, 4)).astype("float32"), random.integers(0, 3, 5)


def test_a_sampan_layer_in_a_torch_loop() -> None:
    layer, alone = ours(), ours()
    module = torch_module(layer)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    pure = paddle.optimizer.Adam(learning_rate=0.01, parameters=alone.parameters())
    for x, y in batches():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        optimizer.step()
        nn.functional.cross_entropy(alone(paddle.to_tensor(x)), paddle.to_tensor(y)).backward()
        pure.step()
        pure.clear_grad()
        for a, b, t in zip(layer.parameters(), alone.parameters(), module.parameters(), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-6)
            assert a.data_ptr() == t.data_ptr() and a.grad is None
    assert not np.allclose(ours()[0].weight.numpy(), layer[0].weight.numpy(), atol=1e-3)


def test_a_torch_module_in_a_sampan_loop() -> None:
    module, alone = theirs(), theirs()
    layer = torch_layer(module)
    optimizer = paddle.optimizer.Momentum(learning_rate=0.05, momentum=0.9, parameters=layer.parameters())
    pure = torch.optim.SGD(alone.parameters(), lr=0.05, momentum=0.9)
    for x, y in batches():
        loss = nn.functional.cross_entropy(layer(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        pure.zero_grad()
        expected = torch.nn.functional.cross_entropy(alone(torch.from_numpy(x)), torch.from_numpy(y))
        expected.backward()
        pure.step()
        assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-4)
        for a, b in zip(layer.parameters(), alone.parameters(), strict=True):
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=2e-5, atol=1e-6)
        for a, t in zip(layer.parameters(), module.parameters(), strict=True):
            assert a.data_ptr() == t.data_ptr() and t.grad is None
    running = dict(layer.named_buffers())["1_running_mean"]
    assert running.data_ptr() == module[1].running_mean.data_ptr() and float(running.abs().sum()) > 0


def test_gradients_reach_both_sides_of_a_sandwich() -> None:
    inner = nn.Linear(3, 3)
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch_module(inner), torch.nn.Tanh())
    layer = torch_layer(module)
    x = paddle.to_tensor(np.ones((2, 4), "float32"), stop_gradient=False)
    (layer(x) * 2.0).sum().backward()
    w, v = (t.detach().clone().requires_grad_() for t in module[0].parameters())
    k, b = torch.tensor(inner.weight.numpy()), torch.tensor(inner.bias.numpy())
    t = torch.ones(2, 4, requires_grad=True)
    (((t @ w.T + v) @ k + b).tanh() * 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(layer.parameters()[0].grad.numpy(), w.grad.numpy(), rtol=1e-5)


def test_frozen_parameters_and_inputs_stay_as_they_are() -> None:
    layer = ours()
    layer[0].weight.stop_gradient = True
    module = torch_module(layer)
    assert [p.requires_grad for p in module.parameters()][:2] == [False, True]
    module(torch.ones(2, 4)).sum().backward()
    grads = [p.grad for p in module.parameters()]
    assert grads[0] is None and all(g is not None for g in grads[1:])
    module = theirs()
    module[0].weight.requires_grad_(False)
    wrapped = torch_layer(module)
    wrapped(paddle.ones([2, 4])).sum().backward()
    assert [p.grad is None for p in wrapped.parameters()][:2] == [True, False]


def test_without_gradients_nothing_is_recorded() -> None:
    module, layer = torch_module(ours()), torch_layer(theirs())
    with torch.no_grad():
        found = module(torch.ones(2, 4))
    assert not found.requires_grad
    np.testing.assert_allclose(found, module(torch.ones(2, 4)).detach())
    with paddle.no_grad():
        assert layer(paddle.ones([2, 4])).stop_gradient
    layer.eval()
    before = layer.module[1].running_mean.clone()
    layer(paddle.ones([2, 4]))
    assert torch.equal(before, layer.module[1].running_mean)


def test_train_and_eval_reach_the_inside() -> None:
    inner = nn.Dropout(0.5)
    module = torch_module(inner)
    assert inner.training and module.eval() is module and not inner.training
    assert module(torch.ones(50)).sum() == 50 and module.train() is module and inner.training
    layer = torch_layer(torch.nn.Dropout(0.5))
    assert layer.eval() is layer and not layer.module.training and layer.train().module.training


def test_several_inputs_and_outputs_some_of_them_integers() -> None:
    class Two(nn.Layer):
        def forward(self, x, y):
            return x * y, x + y, x.argmax()

    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    product, _, place = torch_module(Two())(x, y)
    assert int(place) == 1
    product.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0] and y.grad.tolist() == [1.0, 2.0]

    class Back(torch.nn.Module):
        def forward(self, x, y):
            return x * y, x.argmax(), x.detach()

    a, b = (paddle.to_tensor(v, stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
    product, place, outside = torch_layer(Back())(a, b)
    assert int(place) == 1 and place.stop_gradient
    (product.sum() + outside.sum()).backward()
    assert a.grad.tolist() == [3.0, 4.0] and b.grad.tolist() == [1.0, 2.0]


def test_conversions_of_the_module_take_the_layer_along() -> None:
    layer = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1D(2))
    module = torch_module(layer)
    module.double()
    for ours, theirs in zip(
        (*layer.parameters(), *layer.buffers()), (*module.parameters(), *module.buffers()), strict=True
    ):
        assert ours.dtype == torch.float64 and ours.data_ptr() == theirs.data_ptr()
    found = module(torch.ones(3, 4, dtype=torch.float64))
    assert found.dtype == torch.float64
    found.sum().backward()
    assert all(p.grad.dtype == torch.float64 for p in module.parameters() if p.requires_grad)


def test_state_goes_through_torchs_own_checkpoints() -> None:
    first, second = torch_module(ours()), torch_module(ours())
    with torch.no_grad():
        for p in second.parameters():
            p.zero_()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for a, b in zip(first.layer.parameters(), second.layer.parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        assert a.data_ptr() != b.data_ptr()


def test_names_that_collide_without_their_dots() -> None:
    inner = torch.nn.Module()
    inner.a = torch.nn.Linear(2, 2)
    inner.a_weight = torch.nn.Parameter(torch.zeros(2, 2))
    inner.forward = lambda x: inner.a(x) @ inner.a_weight
    layer = torch_layer(inner)
    assert len(layer.parameters()) == 3
    assert {p.data_ptr() for p in layer.parameters()} == {p.data_ptr() for p in inner.parameters()}
    layer(paddle.ones([1, 2])).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_second_derivatives_are_refused_by_name() -> None:
    x = paddle.ones([2, 4])
    x.stop_gradient = False
    with pytest.raises(NotImplementedError, match="no second derivative"):
        paddle.grad(torch_layer(theirs())(x).sum(), x, create_graph=True)


def test_what_is_no_layer_is_refused() -> None:
    with pytest.raises(TypeError, match=r"torch_module: expected a sampan.nn.Layer, got Linear"):
        torch_module(torch.nn.Linear(1, 1))
    with pytest.raises(TypeError, match=r"torch_layer: expected a torch.nn.Module, got Linear"):
        torch_layer(nn.Linear(1, 1))
    with pytest.raises(
        TypeError, match="from_dlpack: expected an object with __dlpack__, or a capsule, got list"
    ):
        from_dlpack([1.0])


def test_dlpack_shares_memory_and_strides() -> None:
    source = torch.arange(6.0).reshape(2, 3).t()
    x = from_dlpack(source)
    assert x.shape == [3, 2] and x.strides == [1, 3] and x.data_ptr() == source.data_ptr()
    x[0, 1] = -1.0
    assert source[0, 1] == -1.0
    back = torch.from_dlpack(to_dlpack(x))
    assert back.data_ptr() == source.data_ptr()
    assert from_dlpack(np.arange(3)).dtype == torch.int64


def test_a_module_of_which_one_output_is_used() -> None:
    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x), x * 5

    layer = torch_layer(Both())
    x = paddle.ones([1, 2])
    x.stop_gradient = False
    layer(x)[1].sum().backward()
    assert x.grad.tolist() == [[5.0, 5.0]] and all(p.grad is None for p in layer.parameters())
