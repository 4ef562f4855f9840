"""Linear maps with bias and activation against torch's."""

import numpy as np
import pytest
import torch
from sampan.incubate.nn import functional as F

import sampan as paddle
from tests.beside_torch import both, same

RANDOM = np.random.default_rng(0)
ACTIVATIONS = {
    None: lambda x: x,
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("ahead", [(), (2,), (3, 2)])
def test_a_product_with_bias(transposed, ahead):
    of_x, of_y = transposed
    x, x2 = both(*ahead, *((4, 3) if of_x else (3, 4)))
    y, y2 = both(*((5, 4) if of_y else (4, 5)), seed=1)
    bias, bias2 = both(5, seed=2)
    expected = (x2.mT if of_x else x2) @ (y2.mT if of_y else y2) + bias2
    same(F.fused_matmul_bias(x, y, bias, of_x, of_y), expected, (x, x2), (y, y2), (bias, bias2))


def test_without_bias_it_is_a_product_of_matrices():
    x, x2 = both(2, 3, 4)
    y, y2 = both(2, 5, 4, seed=1)
    same(F.fused_matmul_bias(x, y, transpose_y=True), x2 @ y2.mT, (x, x2), (y, y2))
    weight = paddle.randn([5, 4])
    assert F.fused_linear(paddle.randn([2, 4]), weight, None, True).shape == [2, 5]


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_an_activation_after_it(activation):
    x, x2 = both(2, 3, 4)
    y, y2 = both(4, 5, seed=1)
    bias, bias2 = both(5, seed=2)
    expected = ACTIVATIONS[activation](x2 @ y2 + bias2)
    same(
        F.fused_linear_activation(x, y, bias, activation=activation),
        expected,
        (x, x2),
        (y, y2),
        (bias, bias2),
    )


def test_auto_cast_computes_in_half_precision_with_the_bias():
    x, y, bias = paddle.randn([2, 3, 4]), paddle.randn([4, 5]), paddle.randn([5])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert F.fused_linear(x, y, bias).dtype == paddle.bfloat16
    with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["fused_gemm_epilogue"]):
        assert F.fused_linear(x, y, bias).dtype == paddle.float32


def act(x, method):
    if method in ("gelu", "relu"):
        return getattr(torch.nn.functional, method)(x)
    a, b = x.chunk(2, -1)
    return (torch.nn.functional.gelu(a) if method == "geglu" else torch.nn.functional.silu(a)) * b


@pytest.mark.parametrize("method", ["gelu", "relu", "geglu", "swiglu"])
@pytest.mark.parametrize("scaled", [False, True])
def test_bias_and_activation(method, scaled):
    width = 3 if method.endswith("glu") else 6
    x, x2 = both(2, 4, 6)
    bias, bias2 = both(6, seed=1)
    shift, shift2 = both(width, seed=2)
    smooth, smooth2 = both(width, seed=3)
    expected, pairs = act(x2 + bias2, method), [(x, x2), (bias, bias2)]
    if scaled:
        expected, pairs = (expected + shift2) * smooth2, [*pairs, (shift, shift2), (smooth, smooth2)]
    more = {"shift": shift, "smooth": smooth} if scaled else {}
    same(F.fused_bias_act(x, bias, act_method=method, **more), expected, *pairs)


@pytest.mark.parametrize(
    ("compute", "kind"), [("fp16", "float16"), ("bf16", "bfloat16"), ("fp32", "float32")]
)
def test_integers_with_scales(compute, kind):
    x = RANDOM.integers(-100, 100, (2, 4))
    scales = RANDOM.uniform(0.01, 0.1, 4).astype("float32")
    given = paddle.to_tensor(x, "int32"), None, paddle.to_tensor(scales)
    found = F.fused_bias_act(*given, act_method="relu", compute_dtype=compute)
    assert str(found.dtype) == f"paddle.{kind}"
    assert np.allclose(found.astype("float32"), np.maximum(x * scales, 0), rtol=0.01)
    with pytest.raises(ValueError, match="fused_bias_act: compute_dtype: expected one of fp16, bf16, fp32"):
        F.fused_bias_act(*given)


X, Y, BIAS = paddle.zeros([2, 3, 4]), paddle.zeros([4, 5]), paddle.zeros([5])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((X, Y, paddle.zeros([4])), r"bias: expected shape \[5\], got \[4\]"),
        ((X, Y, paddle.zeros([1, 5])), "bias: expected 1 axes"),
        ((X, paddle.zeros([2, 4, 5]), BIAS), "y: expected 2 axes"),
        ((X, paddle.zeros([3, 5]), BIAS), "y: expected 4 rows, got 3"),
        ((paddle.zeros([4]), Y, BIAS), "x: expected 2 axes or more"),
    ],
)
def test_bad_products(given, message):
    with pytest.raises(ValueError, match=f"^fused_matmul_bias: {message}"):
        F.fused_matmul_bias(*given)


def test_an_unknown_activation():
    with pytest.raises(
        ValueError, match=r"fused_linear_activation: activation: expected None, .* got 'tanh'"
    ):
        F.fused_linear_activation(X, Y, BIAS, activation="tanh")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"act_method": "tanh"}, "act_method: expected one of gelu, relu, geglu, swiglu, got 'tanh'"),
        ({"bias": BIAS}, r"bias: expected shape \[4\], got \[5\]"),
        ({"shift": X[0, 0]}, "smooth: expected with shift"),
        ({"shift": X[0, 0], "smooth": X[0, 0], "act_method": "geglu"}, r"shift: expected shape \[2\]"),
        ({"dequant_scales": X[0, 0]}, "dequant_scales: expected with x of int32"),
        ({"x": paddle.zeros([2, 3]), "act_method": "swiglu"}, "x: expected an even last axis"),
    ],
)
def test_bad_activations(given, message):
    with pytest.raises(ValueError, match=f"^fused_bias_act: {message}"):
        F.fused_bias_act(**{"x": X, **given})
