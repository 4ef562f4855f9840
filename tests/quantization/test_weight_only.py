"""Weights of 8 and 4 bits in products of floats."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.quantization import nn_quant as quant


def weight(rows: int = 128, columns: int = 16) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32))


@pytest.mark.parametrize("group_size", [-1, 64])
@pytest.mark.parametrize(
    ("algo", "levels"), [("weight_only_int8", 127), ("weight_only_int4", 7), ("llm.int8", 127)]
)
def test_a_weight_survives_to_half_a_step(algo: str, levels: int, group_size: int) -> None:
    w = weight()
    q, scale = quant.weight_quantize(w, algo, group_size=group_size)
    assert q.dtype == paddle.int8 and q.shape == [16 if levels == 127 else 8, 128]
    assert scale.shape == ([16] if group_size < 0 else [2, 16])
    back = quant.weight_dequantize(q, scale, algo, group_size=group_size)
    steps = np.repeat(scale.numpy().reshape(-1, 16), 128 // scale.numpy().reshape(-1, 16).shape[0], 0)
    assert (np.abs((back - w).numpy()) <= 0.5001 * steps).all()


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_the_product_is_that_of_the_dequantised_weight(kind: str) -> None:
    w, x, bias = weight(), paddle.randn([2, 3, 128]), paddle.randn([16])
    x.stop_gradient = False
    q, scale = quant.weight_quantize(w, f"weight_only_{kind}")
    found = quant.weight_only_linear(x, q, bias, scale, kind)
    back = quant.weight_dequantize(q, scale, f"weight_only_{kind}")
    np.testing.assert_allclose(found.numpy(), (x.matmul(back) + bias).numpy(), rtol=1e-5, atol=1e-5)
    found.sum().backward()
    gradient: Any = x.gradient()
    np.testing.assert_allclose(gradient[0, 0], back.numpy().sum(1), rtol=1e-4, atol=1e-4)


def test_outliers_are_multiplied_as_floats() -> None:
    w, x = weight(), paddle.randn([4, 128])
    x[:, 5] = 80.0
    q, scale = quant.weight_quantize(w, "llm.int8")
    expected = x.matmul(quant.weight_dequantize(q, scale, "llm.int8")).numpy()
    errors = [
        np.abs(quant.llm_int8_linear(x, q, None, scale, threshold).numpy() - expected).max()
        for threshold in (6.0, 1e9)
    ]
    assert errors[0] < 0.3 and errors[1] > 3 * errors[0]
    ones = paddle.ones([16])
    shifted = (
        quant.llm_int8_linear(x, q, ones, scale).numpy() - quant.llm_int8_linear(x, q, None, scale).numpy()
    )
    np.testing.assert_allclose(shifted, 1, rtol=1e-4)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="algo: expected one of"):
        quant.weight_quantize(weight(), "int3")
    with pytest.raises(ValueError, match="group_size: expected -1, 64 or 128, got 7"):
        quant.weight_quantize(weight(), group_size=7)
    with pytest.raises(ValueError, match="rows that group_size 64 divides, got 100"):
        quant.weight_quantize(weight(100), group_size=64)
    with pytest.raises(ValueError, match="expected a matrix of floats"):
        quant.weight_quantize(paddle.ones([3]))
    with pytest.raises(ValueError, match="weight_scale"):
        quant.weight_only_linear(paddle.ones([1, 3]), paddle.ones([3, 3]))
    assert float(quant.apply_per_channel_scale(paddle.ones([2, 2]), paddle.to_tensor([1.0, 3.0])).sum()) == 8
