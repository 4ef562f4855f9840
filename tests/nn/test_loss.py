"""Layers of losses: against torch's, labels as Paddle takes them, and no rows at all."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from tests.nn.drawn import random


def test_labels_may_be_whole_floats():
    scores = random(2, 3)
    whole, floating = (
        nn.CrossEntropyLoss()(scores, paddle.to_tensor([1, 2], dtype=d)) for d in ("int64", "float32")
    )
    assert whole.item() == floating.item()


LOSSES = {
    "cross entropy": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {}),
    "cross entropy sum": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"reduction": "sum"}),
    "cross entropy ignoring": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"ignore_index": 1}),
    "cross entropy smoothed": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"label_smoothing": 0.2}),
    "nll": (nn.NLLLoss, torch.nn.NLLLoss, {"reduction": "none"}),
    "nll mean": (nn.NLLLoss, torch.nn.NLLLoss, {}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_labels(name):
    ours, theirs, settings = LOSSES[name]
    generator = np.random.default_rng(5)
    x, label = generator.normal(size=(6, 4)), generator.integers(0, 4, 6)
    mine, other = paddle.to_tensor(x, stop_gradient=False), torch.from_numpy(x).requires_grad_()
    loss, expected = (
        ours(**settings)(mine, paddle.to_tensor(label)),
        theirs(**settings)(other, torch.from_numpy(label)),
    )
    np.testing.assert_allclose(loss.numpy(), expected.detach().numpy(), rtol=1e-12)
    loss.sum().backward(), expected.sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_cross_entropy_takes_labels_with_a_last_axis_of_one_and_class_weights():
    generator = np.random.default_rng(6)
    x, label, weight = (
        generator.normal(size=(6, 4)),
        generator.integers(0, 4, (6, 1)),
        generator.uniform(1, 2, 4),
    )
    loss = nn.CrossEntropyLoss(weight=paddle.to_tensor(weight))(paddle.to_tensor(x), paddle.to_tensor(label))
    expected = torch.nn.CrossEntropyLoss(torch.from_numpy(weight))(
        torch.from_numpy(x), torch.from_numpy(label[:, 0])
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse(reduction):
    x, y = np.random.default_rng(7).normal(size=(2, 3, 4))
    loss = nn.MSELoss(reduction)(paddle.to_tensor(x), paddle.to_tensor(y))
    expected = torch.nn.MSELoss(reduction=reduction)(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=1e-12)


def test_no_row_or_none_that_counts():
    labels, none = paddle.zeros([0], dtype="int64"), paddle.to_tensor([-100, -100])
    assert np.isnan(nn.CrossEntropyLoss()(random(0, 3), labels).item())
    assert nn.NLLLoss()(random(0, 3), labels).item() == 0
    for weight in (None, paddle.ones([3])):
        assert nn.CrossEntropyLoss(weight)(random(2, 3), none).item() == 0


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.CrossEntropyLoss(reduction="avg"), "reduction"),
        (lambda: nn.MSELoss("avg"), "reduction"),
    ],
)
def test_bad_settings_and_shapes_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
