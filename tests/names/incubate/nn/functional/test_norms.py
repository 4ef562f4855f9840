"""Norms of a sum with a residual against numpy, and against numbers of PaddlePaddle 3.3.1 on a CPU."""

import numpy as np
import pytest
import torch
from sampan.incubate.nn import functional as F

import sampan as paddle
from tests.beside_torch import both, same

RMS_OF_PADDLE = [[0.476731211, 1.333711863, 2.051079750], [-0.132453188, 1.066226602, 2.443782806]]
LAYER_OF_PADDLE = [[-0.941542685, 0.778460503, 1.769242764], [-0.889000654, 0.745999813, 1.794002056]]
MEAN_OF_PADDLE, DEVIATION_OF_PADDLE = [5.833333492, 2.5], [0.332309157, 0.254000187]
RANDOM = np.random.default_rng(0)
X, RESIDUAL = RANDOM.standard_normal((2, 2, 3, 4))
WEIGHT, SHIFT, BIAS = RANDOM.standard_normal((3, 4))


def t(values):
    return None if values is None else paddle.to_tensor(values)


def layer(x, weight, shift, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return centred * inverse * weight + shift, x.mean(-1).ravel(), inverse.ravel()


def rms(x, weight, shift, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight + shift


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.numpy(), expected, atol=tolerance)


@pytest.mark.parametrize("residual", [None, RESIDUAL])
@pytest.mark.parametrize("bias", [None, BIAS])
def test_layer_norm_of_a_sum(bias, residual):
    total = X if residual is None else X + (0 if bias is None else bias) + 0.5 * residual
    value, summed, mean, deviation = F.fused_layer_norm(
        t(X), t(WEIGHT), t(SHIFT), 1e-3, 0.5, 2, t(bias), t(residual)
    )
    expected = layer(total, WEIGHT, SHIFT, 1e-3)
    close(value, expected[0])
    close(mean, expected[1], 1e-6)
    close(deviation, expected[2], 1e-6)
    assert mean.dtype == deviation.dtype == paddle.float32 and mean.stop_gradient
    assert summed.shape == [0] if residual is None else np.array_equal(summed.numpy(), total)


def test_layer_norm_of_several_axes_and_without_weights():
    weight = RANDOM.standard_normal(12)
    expected, mean, _ = layer(X.reshape(2, 12), weight, 0, 1e-5)
    value, _, found, _ = F.fused_layer_norm(t(X), t(weight), None, 1e-5)
    close(value, expected.reshape(X.shape))
    close(found, mean, 1e-6)
    close(
        F.fused_layer_norm(t(X), None, None, 1e-5, 2.0, 2, t(BIAS), t(RESIDUAL))[0], X + BIAS + 2 * RESIDUAL
    )
    assert np.array_equal(F.fused_layer_norm(t(X), None, None, 1e-5)[0].numpy(), X)


@pytest.mark.parametrize("residual", [None, RESIDUAL])
@pytest.mark.parametrize("shift", [None, SHIFT])
def test_root_mean_square_norm_of_a_sum(shift, residual):
    total = X if residual is None else X + BIAS + residual
    value, summed = F.fused_rms_norm(t(X), t(WEIGHT), t(shift), 1e-3, -1, t(BIAS), t(residual))
    close(value, rms(total, WEIGHT, 0 if shift is None else shift, 1e-3))
    assert summed.shape == [0] if residual is None else np.array_equal(summed.numpy(), total)


@pytest.mark.parametrize("begin", [0, 1, -2])
def test_root_mean_square_norm_of_several_axes(begin):
    flat = X.reshape(*X.shape[: begin % 3], -1)
    weight = RANDOM.standard_normal(flat.shape[-1])
    close(
        F.fused_rms_norm(t(X), t(weight), None, 1e-5, begin)[0], rms(flat, weight, 0, 1e-5).reshape(X.shape)
    )


def test_with_the_inverse_deviation():
    value, inverse = F.fused_rms_norm_ext(t(X), t(WEIGHT), 1e-3)
    close(value, rms(X, WEIGHT, 0, 1e-3))
    close(inverse, 1 / np.sqrt((X**2).mean(-1) + 1e-3).ravel(), 1e-6)


def test_gradients():
    x, x2 = both(2, 3, 4)
    residual, residual2 = both(2, 3, 4, seed=1)
    vectors = [both(4, seed=s) for s in (2, 3, 4)]
    (weight, weight2), (shift, shift2), (bias, bias2) = vectors
    pairs = ((x, x2), (residual, residual2), *vectors)
    total = x2 + bias2 + residual2
    expected = torch.nn.functional.layer_norm(total, (4,), weight2, shift2, 1e-3)
    same(F.fused_layer_norm(x, weight, shift, 1e-3, 1.0, 2, bias, residual)[0], expected, *pairs)
    for value in (value for pair in pairs for value in pair):
        value.grad = None
    total = x2 + bias2 + residual2
    expected = torch.nn.functional.rms_norm(total, (4,), weight2, 1e-3) + shift2
    same(F.fused_rms_norm(x, weight, shift, 1e-3, 2, bias, residual)[0], expected, *pairs)


@pytest.mark.parametrize(
    ("away", "rounded"), [(0, np.rint), (1, lambda v: np.sign(v) * np.floor(abs(v) + 0.5))]
)
def test_values_of_eight_bits(away, rounded):
    x = np.array([[0.5, -1.5, 2.5, 126.4, -300.0, 0.0]]) / 127
    weight = np.ones(6) * np.sqrt((x**2).mean())  # so that the norm gives x
    bound = (1.0, away, 127.0, -127.0)
    expected = np.clip(rounded(x * 127), -127, 127)
    found = F.fused_rms_norm(t(x), t(weight), None, 0.0, 1, None, None, *bound)[0]
    assert found.dtype == paddle.int8 and found.tolist() == expected.tolist()
    assert (
        F.fused_bias_act(t(x[0]), None, None, None, None, "relu", "default", *bound).tolist()
        == np.clip(expected[0], 0, 127).tolist()
    )
    with pytest.raises(ValueError, match="fused_layer_norm: quant_max_bound: expected 127"):
        F.fused_layer_norm(t(x), t(weight), None, 0.0, 1.0, 1, None, None, 1.0, 0, 448.0, -448.0)
    with pytest.raises(ValueError, match="quant_round_type: expected 0 or 1, got 2"):
        F.fused_rms_norm(t(x), t(weight), None, 0.0, 1, None, None, 1.0, 2, 127.0, -127.0)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_with_weights_of_float32(kind):
    x = t(X).astype(kind)
    value, _, mean, _ = F.fused_layer_norm(x, t(WEIGHT).astype("float32"), None, 1e-5, begin_norm_axis=2)
    expected = layer(x.astype("float64").numpy(), WEIGHT, 0, 1e-5)[0]
    assert value.dtype == x.dtype and mean.dtype == paddle.float32
    assert abs(value.astype("float64").numpy() - expected).max() < 0.02
    assert F.fused_rms_norm(x, t(WEIGHT).astype(kind), None, 1e-5, 2)[0].dtype == x.dtype


def test_numbers_of_paddlepaddle():
    x = paddle.to_tensor([[1.0, 2.0, 4.0], [-1.0, 0.0, 3.0]])
    weight, shift, residual = paddle.to_tensor([1.0, 0.5, 2.0]), paddle.to_tensor([0.0, 1.0, -1.0]), x * 0.5
    value, total = F.fused_rms_norm(x, weight, shift, 1e-5, 1, weight, residual)
    assert np.allclose(value, RMS_OF_PADDLE, atol=1e-6) and np.allclose(total, x * 1.5 + weight)
    value, _, mean, deviation = F.fused_layer_norm(x, weight, shift, 1e-5, 2.0, 1, weight, residual)
    assert np.allclose(value, LAYER_OF_PADDLE, atol=1e-6)
    assert np.allclose(mean, MEAN_OF_PADDLE) and np.allclose(deviation, DEVIATION_OF_PADDLE)


@pytest.mark.parametrize("function", ["fused_layer_norm", "fused_rms_norm"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"norm_weight: expected shape \[12\], got \[4\]"),
        ({"begin_norm_axis": 3}, "begin_norm_axis: expected an axis from -?[03] to 2, got 3"),
        ({"begin_norm_axis": -4}, "begin_norm_axis: expected an axis from -?[03] to 2, got -4"),
        ({"begin_norm_axis": 2, "norm_bias": t(X)}, r"norm_bias: expected shape \[4\]"),
        ({"begin_norm_axis": 2, "bias": t(X)}, r"bias: expected shape \[4\], got \[2, 3, 4\]"),
        ({"begin_norm_axis": 2, "residual": t(X[0])}, r"residual: expected the shape of x, \[2, 3, 4\]"),
    ],
)
def test_bad_input(function, given, message):
    given = {"norm_bias": None, "epsilon": 1e-5, **given}
    with pytest.raises(ValueError, match=f"^{function}: {message}"):
        getattr(F, function)(t(X), t(WEIGHT), **given)


def test_a_missing_weight():
    with pytest.raises(ValueError, match="fused_rms_norm: norm_weight: expected a Tensor, got None"):
        F.fused_rms_norm(t(X), None, None, 1e-5, 2)
