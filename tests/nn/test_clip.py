"""Gradient clipping against torch's and the formulas."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn

GRADIENTS = [np.array([[3.0, -4.0]]), np.array([12.0, 0.0, 0.5])]


def clipped(clip):
    return [g.numpy() for g in clip.clip([torch.from_numpy(g.copy()) for g in GRADIENTS])]


def test_by_value():
    for got, given in zip(clipped(nn.ClipGradByValue(2.0, -1.0)), GRADIENTS, strict=True):
        np.testing.assert_array_equal(got, given.clip(-1.0, 2.0))
    np.testing.assert_array_equal(clipped(nn.ClipGradByValue(2.0))[0], [[2.0, -2.0]])


def test_by_norm_scales_each_that_is_too_long():
    first, second = clipped(nn.ClipGradByNorm(6.0))
    np.testing.assert_allclose(first, GRADIENTS[0])  # its norm is 5
    np.testing.assert_allclose(np.linalg.norm(second), 6.0)


@pytest.mark.parametrize("limit", [1.0, 100.0])
def test_by_global_norm_is_torchs(limit):
    theirs = [torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float64)) for g in GRADIENTS]
    for parameter, gradient in zip(theirs, GRADIENTS, strict=True):
        parameter.grad = torch.from_numpy(gradient.copy())
    torch.nn.utils.clip_grad_norm_(theirs, limit)
    for got, parameter in zip(clipped(nn.ClipGradByGlobalNorm(limit)), theirs, strict=True):
        np.testing.assert_allclose(got, parameter.grad.numpy(), rtol=1e-6)


def test_zero_gradients_stay_zero():
    zero = [torch.zeros(3)]
    for clip in (nn.ClipGradByNorm(1.0), nn.ClipGradByGlobalNorm(1.0)):
        assert clip.clip(zero)[0].tolist() == [0, 0, 0]


def test_an_optimizer_clips_only_what_asks_for_it():
    free = nn.Parameter(np.zeros(2), need_clip=False)
    bound = nn.Parameter(np.zeros(2))
    optimizer = paddle.optimizer.SGD(1.0, [free, bound], grad_clip=nn.ClipGradByGlobalNorm(1.0))
    free.grad, bound.grad = (
        paddle.to_tensor([30.0, 40.0], dtype="float64"),
        paddle.to_tensor([3.0, 4.0], dtype="float64"),
    )
    optimizer.step()
    np.testing.assert_allclose(free.numpy(), [-30, -40])
    np.testing.assert_allclose(bound.numpy(), [-0.6, -0.8])
    np.testing.assert_allclose(bound.grad.numpy(), [3, 4])  # the gradient itself is left as it is


def test_pairs_as_in_paddle():
    parameter = nn.Parameter(np.zeros(2))
    pairs = nn.ClipGradByValue(1.0)([(parameter, None), (parameter, paddle.to_tensor([5.0, 0.5]))])
    assert [(p is parameter, g.tolist()) for p, g in pairs] == [(True, [1.0, 0.5])]
    assert str(nn.ClipGradByValue(1.0)) == "Clip Gradient By Value, min = -1.000000, max=1.000000"
    assert str(nn.ClipGradByNorm(2.0)) == "Gradient Clip By Norm, clip_norm=2.000000"
    assert str(nn.ClipGradByGlobalNorm(2.0)) == "Gradient Clip By GlobalNorm, global_norm=2.000000"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.ClipGradByValue(-1.0), "max"),
        (lambda: nn.ClipGradByValue(1.0, 2.0), "min"),
        (lambda: nn.ClipGradByNorm(0.0), "clip_norm"),
        (lambda: nn.ClipGradByGlobalNorm(-1.0), "clip_norm"),
    ],
)
def test_bad_limits(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_clip_by_norm():
    x = paddle.full([2, 2], 2.0)
    np.testing.assert_allclose(nn.clip.clip_by_norm(x=x, max_norm=1.0).numpy(), np.full([2, 2], 0.5))
    np.testing.assert_array_equal(nn.clip.clip_by_norm(x, 9.0).numpy(), x.numpy())
    np.testing.assert_array_equal(nn.clip.clip_by_norm(x * 0, 1.0).numpy(), np.zeros([2, 2]))
