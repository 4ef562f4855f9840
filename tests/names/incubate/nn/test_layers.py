"""Fused layers: their parameters as in PaddlePaddle 3.3.1, and their values beside the layers of `nn`."""

import numpy as np
import pytest
from sampan.incubate import nn as fused

import sampan as paddle
from sampan import nn


def shapes(layer):
    return {name: list(p.shape) for name, p in layer.named_parameters()}


ATTENTION = {"qkv_weight": [3, 2, 4, 8], "qkv_bias": [3, 2, 4], "linear_weight": [8, 8], "linear_bias": [8]}
FEED = {"_linear1_weight": [8, 16], "_linear1_bias": [16], "_linear2_weight": [16, 8], "_linear2_bias": [8]}


@pytest.mark.parametrize("before", [False, True])
def test_parameters_of_an_encoder_layer(before):
    layer = fused.FusedTransformerEncoderLayer(8, 2, 16, normalize_before=before)
    attention, feed = ("pre_ln", "_ln1") if before else ("ln", "_ln2")
    expected = {**ATTENTION, f"{attention}_scale": [8], f"{attention}_bias": [8]}
    assert shapes(layer.fused_attn) == expected
    assert shapes(layer.ffn) == {**FEED, f"{feed}_scale": [8], f"{feed}_bias": [8]}
    names = [p.name.split(".") for p in layer.parameters()]
    kinds = [f"{name.rpartition('_')[0]}.{part}" for name, part in names]
    parts = ["w_0", "b_0", "w_1", "b_1", "w_2", "b_2"]
    assert kinds == [f"{k}.{p}" for k in ("fused_multi_head_attention", "fused_feed_forward") for p in parts]
    first = layer.fused_attn
    scale = first.pre_ln_scale if before else first.ln_scale
    assert scale.tolist() == [1.0] * 8 and first.qkv_bias.abs().sum() == 0


def test_where_weights_start():
    paddle.seed(0)
    joined = fused.FusedMultiHeadAttention(64, 4)  # Xavier's bound is that of a convolution [3, 4, 16, 64]
    apart = fused.FusedMultiHeadAttention(64, 4, transpose_qkv_wb=True)
    assert apart.qkv_weight.shape == [64, 192] and apart.qkv_bias.shape == [192]
    # bounds measured in PaddlePaddle
    assert 0.0285 < float(joined.qkv_weight.max()) < 0.02893
    assert 0.152 < float(apart.qkv_weight.max()) < 0.15310


def test_attrs():
    layer = fused.FusedTransformerEncoderLayer(
        8, 2, 16, weight_attr=[nn.initializer.Constant(0.5), None], bias_attr=[None, False]
    )
    assert layer.fused_attn.ln_scale.tolist() == [0.5] * 8 and layer.fused_attn.qkv_weight.min() == 0.5
    assert layer.ffn._linear1_bias is layer.ffn._linear2_bias is None and layer.ffn._ln2_bias is not None
    assert layer(paddle.randn([2, 3, 8])).shape == [2, 3, 8]
    assert shapes(fused.FusedLinear(3, 5, transpose_weight=True, bias_attr=False)) == {"weight": [5, 3]}
    assert list(shapes(fused.FusedBiasDropoutResidualLayerNorm(4))) == ["linear_bias", "ln_scale", "ln_bias"]


def beside(before, activation):
    """An encoder layer and a fused one with the same weights."""
    plain = nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation, normalize_before=before)
    layer = fused.FusedTransformerEncoderLayer(8, 2, 16, 0.0, activation, normalize_before=before)
    given, attention = plain.self_attn, layer.fused_attn
    projections = given.q_proj, given.k_proj, given.v_proj
    attention.qkv_weight.set_value(paddle.stack([p.weight.t().reshape([2, 4, 8]) for p in projections]))
    attention.qkv_bias.set_value(paddle.stack([p.bias.reshape([2, 4]) for p in projections]))
    attention.linear_weight.set_value(given.out_proj.weight)
    attention.linear_bias.set_value(given.out_proj.bias)
    for number, linear in enumerate((plain.linear1, plain.linear2), 1):
        getattr(layer.ffn, f"_linear{number}_weight").set_value(linear.weight)
        getattr(layer.ffn, f"_linear{number}_bias").set_value(linear.bias)
    return plain, layer


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("kind", [None, "bool", "int64", "float32"])
def test_an_encoder_layer_is_the_plain_one(before, activation, kind):
    plain, layer = beside(before, activation)
    x = paddle.randn([2, 3, 8])
    mask = None if kind is None else paddle.ones([3, 3]).tril().astype(kind)
    mask = (mask - 1) * 1e9 if kind == "float32" else mask
    found, expected = [], []
    for network, results in ((plain, expected), (layer, found)):
        y = network(x, mask)
        (y * y[:, :1].detach()).sum().backward()
        results += [
            y.numpy(),
            network.linear1.weight.grad if network is plain else network.ffn._linear1_weight.grad,
        ]
    assert np.allclose(found[0], expected[0], atol=1e-5)
    assert np.allclose(found[1].numpy(), expected[1].numpy(), atol=1e-4)


def test_a_cache_of_keys():
    layer = fused.FusedTransformerEncoderLayer(8, 2, 16, 0.0)
    x, cache = paddle.randn([2, 4, 8]), paddle.zeros([2, 2, 2, 0, 4])
    mask, whole = paddle.ones([4, 4]).tril() == 1, []
    for t in range(4):
        y, cache = layer(x[:, t : t + 1], None, cache)
        whole.append(y)
    assert cache.shape == [2, 2, 2, 4, 4]
    assert np.allclose(paddle.concat(whole, 1).numpy(), layer(x, mask).numpy(), atol=1e-5)


def test_layers_in_evaluation_and_training():
    x, y = paddle.randn([4, 6]), paddle.randn([4, 6])
    dropout = fused.FusedDropoutAdd(0.5, "downscale_in_infer")
    norm = fused.FusedBiasDropoutResidualLayerNorm(6, 0.5)
    linear = fused.FusedLinear(6, 5, transpose_weight=True)
    assert np.allclose(linear(x), x @ linear.weight.t() + linear.bias, atol=1e-6)
    paddle.seed(1)
    first = dropout(x, y), norm(x, y)
    paddle.seed(1)
    for a, b in zip(first, (dropout(x, y), norm(x, y)), strict=True):
        assert (a == b).all()
    dropout.eval()
    norm.eval()
    assert np.allclose(dropout(x, y), x * 0.5 + y)
    assert np.allclose(norm(x, y), nn.functional.layer_norm(x + y, [6]), atol=1e-6)
    assert fused.FusedDropout(0.0)(x) is x


def test_an_encoder_of_copies_and_its_state():
    encoder = nn.TransformerEncoder(fused.FusedTransformerEncoderLayer(8, 2, 16), 2)
    other = nn.TransformerEncoder(fused.FusedTransformerEncoderLayer(8, 2, 16), 2)
    other.set_state_dict(encoder.state_dict())
    x = paddle.randn([2, 3, 8])
    encoder.eval()
    other.eval()
    assert len(encoder.state_dict()) == 24 and (encoder(x) == other(x)).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_norms_stay_float32_in_half_precision(kind):
    layer = fused.FusedTransformerEncoderLayer(8, 2, 16, 0.0)
    layer = paddle.amp.decorate(layer, level="O2", dtype=kind)
    kinds = {name: str(p.dtype) for name, p in layer.named_parameters()}
    assert all(d == ("paddle.float32" if "ln" in name else f"paddle.{kind}") for name, d in kinds.items())
    x = paddle.randn([2, 3, 8]).astype(kind)
    assert layer(x).dtype == x.dtype
    layer.to(dtype="float64")
    assert {str(p.dtype) for p in layer.parameters()} == {"paddle.float64"}


def test_what_is_shown():
    assert str(fused.FusedDropoutAdd(0.1)) == "FusedDropoutAdd(p=0.1, mode=upscale_in_train)"
    assert str(fused.FusedFeedForward(8, 16)) == (
        "FusedFeedForward(d_model=8, dim_feedforward=16, dropout_rate=0.1, epsilon=1e-05, activation=relu, "
        "act_dropout_rate=0.1, normalize_before=False, dtype=float32)"
    )


@pytest.mark.parametrize(
    ("layer", "given", "message"),
    [
        ("FusedMultiHeadAttention", (0, 4), "embed_dim: expected a positive number, got 0"),
        ("FusedMultiHeadAttention", (8, 3), r"embed_dim: expected a multiple of num_heads \(3\), got 8"),
        (
            "FusedMultiHeadAttention",
            (8, 2, 0.5, 0.5, None, None, False, True),
            "need_weights: expected False",
        ),
        ("FusedFeedForward", (8, 0), "dim_feedforward: expected a positive number, got 0"),
        ("FusedBiasDropoutResidualLayerNorm", (0,), "embed_dim: expected a positive number"),
        (
            "FusedTransformerEncoderLayer",
            (8, 2, 16, 0.1, "relu", None, None, False, [None]),
            "weight_attr: expected 2",
        ),
    ],
)
def test_bad_input(layer, given, message):
    with pytest.raises(ValueError, match=f"^{layer}: {message}"):
        getattr(fused, layer)(*given)


def test_tensor_parallelism_is_elsewhere():
    with pytest.raises(ValueError, match=r"FusedFeedForward: nranks, ring_id: .* use the layers of fleet"):
        fused.FusedFeedForward(8, 8, nranks=2, ring_id=0)
