"""Subsampling against torch, its number of frames, and what it refuses."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech.nn import Subsampling4
from sampan.speech.nn.subsampling import _check_features
from tests.speech.reference import state_of, subsampled


@pytest.mark.parametrize("time", [7, 8, 10, 11, 23])
def test_values_and_number_of_frames(time):
    paddle.seed(0)
    layer = Subsampling4(11, 6)
    x = np.random.default_rng(0).normal(size=(2, time, 11)).astype("float32")
    found = layer(paddle.to_tensor(x))
    assert found.shape == [2, Subsampling4.frames(time), 6]
    np.testing.assert_allclose(
        found.numpy(), subsampled(state_of(layer), torch.from_numpy(x)).numpy(), atol=1e-5
    )
    assert Subsampling4.frames(torch.tensor([time, 6, 0])).tolist() == [found.shape[1], 0, 0]


def test_frame_k_depends_on_input_frames_4k_to_4k_plus_6():
    paddle.seed(0)
    layer = Subsampling4(9, 4)
    x = paddle.randn([1, 31, 9])
    x.stop_gradient = False
    made = layer(x)
    for k in range(made.shape[1]):
        (gradient,) = paddle.grad(made[0, k].sum(), x, retain_graph=True)
        rows = np.abs(gradient.numpy()[0]).sum(-1).nonzero()[0]
        assert 4 * k <= rows.min() and rows.max() <= 4 * k + 6


def test_bad_input():
    like, x = paddle.zeros([1]), paddle.zeros([2, 9, 8])
    with pytest.raises(InvalidArgument, match=r"features: expected \[batch, time, 7\], got \[2, 9, 8\]"):
        _check_features(x, None, 7, like)
    with pytest.raises(InvalidType, match=r"features: expected a Tensor of .*float32, got .*float64"):
        _check_features(x.astype("float64"), None, 8, like)
    with pytest.raises(InvalidType, match=r"features: expected a Tensor of .*float32, got ndarray"):
        _check_features(x.numpy(), None, 8, like)
    with pytest.raises(InvalidArgument, match=r"got an empty batch"):
        _check_features(x[:0], None, 8, like)
    for bad in (np.nan, np.inf):
        spoiled = x.numpy().copy()
        spoiled[1, 2, 3] = bad
        with pytest.raises(InvalidArgument, match=r"expected finite numbers, got NaN or infinity"):
            _check_features(paddle.to_tensor(spoiled), None, 8, like)
    with pytest.raises(InvalidArgument, match=r"lengths: expected 0 to 9, got \[9, 10\]"):
        _check_features(x, [9, 10], 8, like)
    with pytest.raises(InvalidArgument, match=r"Subsampling4: features: expected at least 7 frames, got 6"):
        Subsampling4(8, 4)(x[:, :6])
    with pytest.raises(InvalidArgument, match=r"input_size, width: expected at least 7 and 1, got 6 and 4"):
        Subsampling4(6, 4)
