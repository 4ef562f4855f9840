"""Layers of normalisation beside torch's, their running statistics, and what is refused."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from tests.nn.beside_torch import pair_of, same_as_torch
from tests.nn.drawn import random

CASES = {
    "batch norm 1d": (lambda: nn.BatchNorm1D(4), lambda: torch.nn.BatchNorm1d(4), (6, 4)),
    "batch norm 1d length": (lambda: nn.BatchNorm1D(4), lambda: torch.nn.BatchNorm1d(4), (6, 4, 3)),
    "batch norm 2d": (lambda: nn.BatchNorm2D(4), lambda: torch.nn.BatchNorm2d(4), (6, 4, 3, 2)),
    "layer norm": (lambda: nn.LayerNorm([3, 4]), lambda: torch.nn.LayerNorm([3, 4]), (2, 3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    same_as_torch(CASES[name])


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("batch norm")])
def test_running_statistics_follow_paddles_rule(name):
    ours, theirs, x, _ = pair_of(CASES[name])
    axes = tuple(i for i in range(x.ndim) if i != 1)
    mean, variance = np.zeros(4), np.ones(4)
    for scale in (1.0, 3.0, 0.5):
        batch = x * scale + scale
        ours(paddle.to_tensor(batch))
        mean = 0.9 * mean + 0.1 * batch.mean(axes)
        variance = 0.9 * variance + 0.1 * batch.var(axes)  # Paddle keeps the biased variance
    np.testing.assert_allclose(ours._mean.numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(ours._variance.numpy(), variance, rtol=1e-12)
    theirs.running_mean.copy_(torch.from_numpy(mean))
    theirs.running_var.copy_(torch.from_numpy(variance))
    ours.eval(), theirs.eval()
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-10
    )
    np.testing.assert_allclose(ours._mean.numpy(), mean, rtol=1e-12)  # evaluation moves nothing
    assert sorted(ours.state_dict()) == ["_mean", "_variance", "bias", "weight"]


def test_one_value_a_channel_stays_as_it_is_in_batch_norm():
    layer, x = nn.BatchNorm1D(3), random(1, 3)
    x.stop_gradient = False
    layer.weight.set_value(random(3))
    y = layer(x)
    y.sum().backward()
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), np.ones([1, 3], "float32"))
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.zeros(3))
    np.testing.assert_array_equal(layer._mean.numpy(), np.zeros(3))
    layer.eval()
    assert not np.array_equal(layer(x).numpy(), x.numpy())


def test_an_empty_batch():
    layer = nn.BatchNorm2D(3)
    assert layer(random(0, 3, 2, 2)).shape == [0, 3, 2, 2]
    layer.eval()
    assert layer(random(0, 3, 2, 2)).shape == [0, 3, 2, 2]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.LayerNorm([]), "normalized_shape"),
        (lambda: nn.LayerNorm([3, 0]), "normalized_shape"),
        (lambda: nn.BatchNorm2D(3)(paddle.ones([2, 3])), "x: BatchNorm2D expects 4 axes"),
    ],
)
def test_bad_settings_and_shapes_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
