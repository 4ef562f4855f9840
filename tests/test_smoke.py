"""The whole system in seconds, tape to Studio page: the first thing `make test` runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import interop, nn
from sampan.autograd import unbroadcast


def test_tape_agrees_with_torch():
    x = np.random.default_rng(0).normal(size=(3, 4))
    ours = paddle.to_tensor(x, stop_gradient=False)
    theirs = torch.tensor(x, requires_grad=True)
    (ours.tanh() * ours).sum().backward()
    (theirs.tanh() * theirs).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-12)


def test_second_derivative():
    x = paddle.to_tensor(2.0, dtype="float64", stop_gradient=False)
    (first,) = paddle.grad(x**3, x, create_graph=True)
    (second,) = paddle.grad(first, x)
    assert float(second) == 12.0


def test_indexing_and_in_place():
    x = paddle.arange(12, dtype="float32").reshape([3, 4])
    x[1, ::-1] = 0.0
    assert x.sum().item() == 66 - 22
    assert x[:, ::-1].shape == [3, 4]


def test_overwritten_memory_is_refused():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x.exp()
    z = (y * y).sum()
    y.add_(paddle.ones([2]))
    with pytest.raises(RuntimeError, match="overwritten"):
        z.backward()


def test_a_kernel_and_its_trace():
    x = paddle.full([300, 300], 0.5)
    x.stop_gradient = False
    with paddle.trace() as seen:
        x.tan().sum().backward()
    assert [r.operator for r in seen] == ["tan", "sum", "sum", "tan"]
    assert "fused" in seen.records[-1].kernel
    np.testing.assert_allclose(x.grad.numpy(), 1 / np.cos(0.5) ** 2, rtol=1e-6)


def test_a_network_learns_digits():
    paddle.seed(0)
    digits = paddle.datasets.load("digits")
    model = paddle.Model(paddle.models.MLP(64, hidden=(64,)))
    optimizer = paddle.optimizer.Adam(3e-3, parameters=model.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(digits.train, batch_size=64, epochs=4, verbose=0)
    assert model.evaluate(digits.test, batch_size=256, verbose=0)["acc"] > 0.9


def test_save_and_load(tmp_path):
    layer = nn.Linear(3, 2)
    paddle.save(layer.state_dict(), str(tmp_path / "layer.pdparams"))
    other = nn.Linear(3, 2)
    other.set_state_dict(paddle.load(str(tmp_path / "layer.pdparams")))
    np.testing.assert_array_equal(layer.weight.numpy(), other.weight.numpy())


def test_torch_and_back():
    module = interop.torch_module(nn.Linear(3, 2))
    module(torch.ones(1, 3)).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_an_exercise_takes_its_slot():
    from sampan import learn

    @learn.exercise("autograd.unbroadcast")
    def unbroadcast_by_learner(gradient, shape):
        return unbroadcast(gradient, shape)

    try:
        x = paddle.ones([1, 3])
        x.stop_gradient = False
        (x + paddle.ones([2, 3])).sum().backward()
        assert x.grad.tolist() == [[2.0, 2.0, 2.0]]
    finally:
        learn.reference("autograd.unbroadcast")


def test_the_studio_extension_and_its_words():
    from studio import i18n
    from studio.views.train import page

    assert page is not None
    assert i18n.t("frame.skip", "en") != i18n.t("frame.skip", "zh")
