"""Relative attention against its formula query by query, in float64."""

import math

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.nn import KeyCache, RelativeAttention, distance_encoding
from tests.speech.reference import relative_attention, state_of


@pytest.fixture(autouse=True)
def float64():
    paddle.set_default_dtype("float64")
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")


def test_the_encoding_of_distances():
    found = distance_encoding(2, 3, 4, paddle.zeros([1])).numpy()
    distances = [2, 1, 0, -1]
    expected = [[math.sin(d), math.cos(d), math.sin(d / 100), math.cos(d / 100)] for d in distances]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    with pytest.raises(InvalidArgument, match=r"width: expected an even number, got 5"):
        distance_encoding(2, 3, 5, paddle.zeros([1]))


def test_values_and_gradients_equal_the_formula():
    layer, x = RelativeAttention(8, 2), paddle.randn([2, 5, 8])
    x.stop_gradient = False
    seen = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    hidden = torch.zeros(2, 1, 5, 5, dtype=torch.float64).masked_fill(~seen[:, None], -math.inf)
    found, _ = layer(x, distance_encoding(5, 5, 8, x), paddle.to_tensor(hidden.numpy()))

    state = {name: value.requires_grad_() for name, value in state_of(layer).items()}
    theirs = x.data.clone().requires_grad_()
    expected = relative_attention(state, theirs, 2, seen)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), atol=1e-12)

    weights = np.random.default_rng(1).normal(size=found.shape)
    (found * paddle.to_tensor(weights)).sum().backward()
    (expected * torch.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), atol=1e-11)
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), state[name].grad.numpy(), atol=1e-11, err_msg=name)


def test_a_cache_stands_for_the_earlier_frames():
    layer, x = RelativeAttention(8, 2), paddle.randn([1, 6, 8])
    seen = torch.zeros(1, 6, 6, dtype=torch.bool)
    seen[:, :4, :4], seen[:, 4:] = True, True
    expected = relative_attention(state_of(layer), x.data, 2, seen).numpy()
    first, cache = layer(x[:, :4], distance_encoding(4, 4, 8, x))
    second, cache = layer(x[:, 4:], distance_encoding(2, 6, 8, x), None, cache)
    np.testing.assert_allclose(first.numpy(), expected[:, :4], atol=1e-12)
    np.testing.assert_allclose(second.numpy(), expected[:, 4:], atol=1e-12)
    assert isinstance(cache, KeyCache)
    assert cache.key.shape == cache.value.shape == [1, 6, 2, 4]


def test_the_result_depends_on_distances_alone():
    """The same frames later in a longer cache, whose other frames are hidden, give the same result."""
    layer, x = RelativeAttention(8, 2), paddle.randn([1, 3, 8])
    alone, _ = layer(x, distance_encoding(3, 3, 8, x))
    far = KeyCache(paddle.randn([1, 100, 2, 4]), paddle.randn([1, 100, 2, 4]))
    mask = np.zeros((1, 1, 3, 103))
    mask[..., :100] = -np.inf
    later, _ = layer(x, distance_encoding(3, 103, 8, x), paddle.to_tensor(mask), far)
    np.testing.assert_allclose(later.numpy(), alone.numpy(), atol=1e-12)


def test_heads_divide_the_width():
    with pytest.raises(InvalidArgument, match=r"num_heads: expected a divisor of 8, got 3"):
        RelativeAttention(8, 3)
