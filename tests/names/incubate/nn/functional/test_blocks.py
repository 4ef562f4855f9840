"""Blocks of transformers against their pseudo-code in PaddlePaddle's documentation, written with torch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as tnf
from sampan.incubate.nn import functional as F

import sampan as paddle
from tests.beside_torch import both, same


def leaves(**shapes):
    """Leaves by name: Sampan's, torch's, and the pairs of them."""
    pairs = {name: both(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    return {k: v[0] for k, v in pairs.items()}, {k: v[1] for k, v in pairs.items()}, list(pairs.values())


def norm(x, scale, bias):
    return tnf.layer_norm(x, x.shape[-1:], scale, bias, 1e-5)


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_dropout_and_a_sum_in_evaluation(mode):
    ours, theirs, pairs = leaves(x=(3, 4), y=(3, 4))
    kept = 0.75 if mode == "downscale_in_infer" else 1.0
    same(
        F.fused_dropout_add(**ours, p=0.25, training=False, mode=mode),
        theirs["x"] * kept + theirs["y"],
        *pairs,
    )


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_dropout_and_a_sum_in_training(mode):
    x = paddle.ones([100, 100])
    x.stop_gradient = False
    paddle.seed(3)
    first = F.fused_dropout_add(x, x, 0.25, mode=mode)
    paddle.seed(3)
    assert (F.fused_dropout_add(x, x, 0.25, mode=mode) == first).all()
    assert not (F.fused_dropout_add(x, x, 0.25, mode=mode) == first).all()
    kept = 1 / 0.75 if mode == "upscale_in_train" else 1.0
    assert sorted(set(np.unique(first.numpy()))) == pytest.approx([1.0, 1 + kept])
    assert abs(float((first == 1).astype("float32").mean()) - 0.25) < 0.03
    first.sum().backward()
    assert np.allclose(x.grad, first)  # of x: 1, and what it was multiplied by


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_a_norm_after_bias_dropout_and_residual(mode, affine):
    shapes = {"bias": (4,), "ln_scale": (4,), "ln_bias": (4,)} if affine else {}
    ours, theirs, pairs = leaves(x=(2, 3, 4), residual=(2, 3, 4), **shapes)
    kept = 0.6 if mode == "downscale_in_infer" else 1.0
    total = theirs["residual"] + kept * (theirs["x"] + theirs.get("bias", 0))
    expected = norm(total, theirs.get("ln_scale"), theirs.get("ln_bias"))
    found = F.fused_bias_dropout_residual_layer_norm(**ours, dropout_rate=0.4, training=False, mode=mode)
    same(found, expected, *pairs)


FEED = {"linear1_weight": (4, 6), "linear2_weight": (6, 4), "linear1_bias": (6,), "linear2_bias": (4,)}


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
@pytest.mark.parametrize(("before", "residual"), [(False, True), (True, True), (True, False)])
def test_a_feed_forward_block(before, residual, mode, activation):
    number = 1 if before else 2
    ours, theirs, pairs = leaves(x=(2, 3, 4), **FEED, **{f"ln{number}_scale": (4,), f"ln{number}_bias": (4,)})
    kept1, kept2 = (0.7, 0.6) if mode == "downscale_in_infer" else (1.0, 1.0)
    affine = theirs[f"ln{number}_scale"], theirs[f"ln{number}_bias"]
    value = norm(theirs["x"], *affine) if before else theirs["x"]
    value = getattr(tnf, activation)(value @ theirs["linear1_weight"] + theirs["linear1_bias"]) * kept1
    value = (value @ theirs["linear2_weight"] + theirs["linear2_bias"]) * kept2
    value = theirs["x"] + value if residual else value
    value = value if before else norm(value, *affine)
    found = F.fused_feedforward(
        **ours,
        dropout1_rate=0.3,
        dropout2_rate=0.4,
        activation=activation,
        pre_layer_norm=before,
        training=False,
        mode=mode,
        add_residual=residual,
    )
    same(found, value, *pairs)


def attended(given, before, residual, mask, kept, weights_kept, cache=None):
    """The pseudo-code of fused_multi_head_attention with qkv_weight [3, heads, d / heads, d]."""
    x = given["x"]
    value = norm(x, given["pre_ln_scale"], given["pre_ln_bias"]) if before else x
    parts = torch.einsum("btd,ched->cbhte", value, given["qkv_weight"]) + given["qkv_bias"][:, None, :, None]
    q, k, v = parts
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    scores = q @ k.mT * q.shape[-1] ** -0.5
    weights = torch.softmax(scores if mask is None else scores + mask, -1) * weights_kept
    out = (weights @ v).transpose(1, 2).flatten(2) @ given["linear_weight"] + given["linear_bias"]
    out = x + out * kept if residual else out * kept
    return out if before else norm(out, given["ln_scale"], given["ln_bias"])


HEADS = {"qkv_weight": (3, 2, 2, 4), "qkv_bias": (3, 2, 2), "linear_weight": (4, 4), "linear_bias": (4,)}


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("before", "residual"), [(False, True), (True, True), (True, False)])
def test_a_block_of_attention(before, residual, masked, mode):
    prefix = "pre_ln" if before else "ln"
    ours, theirs, pairs = leaves(x=(2, 3, 4), **HEADS, **{f"{prefix}_scale": (4,), f"{prefix}_bias": (4,)})
    kept, weights_kept = (0.6, 0.7) if mode == "downscale_in_infer" else (1.0, 1.0)
    mask = torch.randn(2, 2, 3, 3, dtype=torch.float64) if masked else None
    found = F.fused_multi_head_attention(
        **ours,
        pre_layer_norm=before,
        attn_mask=paddle.to_tensor(mask.numpy()) if masked else None,
        dropout_rate=0.4,
        attn_dropout_rate=0.3,
        training=False,
        mode=mode,
        add_residual=residual,
    )
    same(found, attended(theirs, before, residual, mask, kept, weights_kept), *pairs)


def test_attention_with_one_matrix_of_weights_and_a_mask_of_bools():
    ours, theirs, pairs = leaves(x=(2, 3, 4), **HEADS, ln_scale=(4,), ln_bias=(4,))
    seen = torch.ones(3, 3, dtype=torch.bool).tril()
    mask = (seen.double() - 1) * 1e9
    given = {
        **ours,
        "qkv_weight": ours["qkv_weight"].reshape([12, 4]).t(),
        "qkv_bias": ours["qkv_bias"].reshape([12]),
        "attn_mask": paddle.to_tensor(seen.numpy()),
    }
    found = F.fused_multi_head_attention(**given, num_heads=2, transpose_qkv_wb=True, training=False)
    same(found, attended(theirs, False, True, mask, 1.0, 1.0), *pairs)


def test_attention_with_keys_of_earlier_times():
    ours, theirs, pairs = leaves(x=(2, 3, 4), **HEADS, ln_scale=(4,), ln_bias=(4,))
    cache, cache2 = both(2, 2, 2, 5, 2, seed=20)
    found, longer = F.fused_multi_head_attention(**ours, cache_kv=cache, training=False)
    assert longer.shape == [2, 2, 2, 8, 2] and (longer[:, :, :, :5] == cache).all()
    same(found, attended(theirs, False, True, None, 1.0, 1.0, cache2), (cache, cache2), *pairs)


def blocks(x, rate):
    """Both blocks in training, with weights that are always the same."""
    draw = np.random.default_rng(0).standard_normal
    weights = [paddle.to_tensor(draw(s)) for s in ((3, 2, 2, 4), (4, 4), (4, 6), (6, 4))]
    value = F.fused_multi_head_attention(x, *weights[:2], dropout_rate=rate, attn_dropout_rate=rate)
    return F.fused_feedforward(value, *weights[2:], dropout1_rate=rate, dropout2_rate=rate)


def test_dropout_of_blocks_is_drawn_by_the_seed_and_reaches_the_gradient():
    x = paddle.to_tensor(np.random.default_rng(1).standard_normal((2, 3, 4)), stop_gradient=False)
    found = []
    for seed in (5, 5, 6):
        paddle.seed(seed)
        value = blocks(x, 0.5)
        (gradient,) = paddle.grad((value * value[:, :1].detach()).sum(), x)
        found.append((value.numpy(), gradient.numpy()))
    (first, of_first), (second, of_second), (third, _) = found
    assert np.array_equal(first, second) and np.array_equal(of_first, of_second)
    assert not np.allclose(first, third)
    step, moved = 1e-6, x.numpy()
    for index in ((0, 0, 0), (1, 2, 3)):  # central differences with the same draws
        ends = []
        for sign in (1, -1):
            other = moved.copy()
            other[index] += sign * step
            paddle.seed(5)
            ends.append(float((blocks(paddle.to_tensor(other), 0.5) * paddle.to_tensor(first[:, :1])).sum()))
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(of_first[index], abs=1e-6)


X = paddle.zeros([2, 3, 4])
QKV, W = paddle.zeros([3, 2, 2, 4]), paddle.zeros([4, 4])


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        ("fused_dropout_add", {"x": X, "y": X, "p": 1.5}, "expected p from 0 to 1, got 1.5"),
        ("fused_dropout_add", {"x": X, "y": X, "mode": "x"}, "expected mode 'upscale_in_train'"),
        ("fused_feedforward", {"dropout1_rate": 2}, "dropout1_rate: expected a number from 0 to 1"),
        ("fused_feedforward", {"dropout2_rate": "a"}, "dropout2_rate: expected a number, got str"),
        ("fused_feedforward", {"mode": "x"}, "mode: expected 'upscale_in_train'"),
        ("fused_feedforward", {"activation": "tanh"}, "activation: expected 'relu' or 'gelu', got 'tanh'"),
        ("fused_feedforward", {"add_residual": False}, "add_residual: expected True without pre_layer_norm"),
        ("fused_feedforward", {"ring_id": 0}, "ring_id: expected -1, got 0; for tensor parallelism"),
        ("fused_bias_dropout_residual_layer_norm", {"x": X, "residual": X[0]}, "residual: expected the shape of x"),
        ("fused_bias_dropout_residual_layer_norm", {"x": X, "residual": X, "ln_scale": X}, r"ln_scale: expected shape \[4\]"),
        ("fused_multi_head_attention", {"x": X[0]}, r"x: expected 3 axes, got shape \[3, 4\]"),
        ("fused_multi_head_attention", {"qkv_weight": QKV[:2]}, "qkv_weight: expected .3, heads, 4 / heads, 4. for x"),
        ("fused_multi_head_attention", {"transpose_qkv_wb": True}, "num_heads: expected a divisor of 4 .* got -1"),
        ("fused_multi_head_attention", {"transpose_qkv_wb": True, "num_heads": 2}, r"qkv_weight: expected shape \[4, 12\]"),
        (
            "fused_multi_head_attention",
            {"transpose_qkv_wb": True, "num_heads": 2, "qkv_weight": paddle.zeros([4, 12]), "qkv_bias": X},
            r"qkv_bias: expected shape \[12\]",
        ),
    ],
)  # fmt: skip
def test_bad_input(function, given, message):
    usual = {
        "fused_feedforward": {"x": X, "linear1_weight": W, "linear2_weight": W},
        "fused_multi_head_attention": {"x": X, "qkv_weight": QKV, "linear_weight": W},
    }
    with pytest.raises(ValueError, match=f"^{function}: {message}"):
        getattr(F, function)(**{**usual.get(function, {}), **given})
