"""Attention and transformers: against torch's, and every spelling of attention against the plain formula."""

import math

import numpy as np
import pytest
import torch
from sampan.nn.functional.flash_attention import flash_attention, flash_attn_unpadded

import sampan as paddle
from sampan import nn
from sampan.nn import functional as F


def tensor(*shape, seed=0, grad=False):
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=not grad)


def formula(q, k, v, seen=None, scale=None, added=0.0):
    """softmax(q k^T scale) v on arrays [batch, time, heads, features]; seen: bool [.., queries, keys]."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (scale or q.shape[-1] ** -0.5) + added
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights, v), weights


def copied(ours, theirs):
    """torch's weights of one layer into ours; torch's linear weights are transposed, and q, k, v stand in one."""
    for ours_name, name in (("self_attn", "self_attn"), ("cross_attn", "multihead_attn")):
        if hasattr(ours, ours_name):
            mine, other = getattr(ours, ours_name), getattr(theirs, name)
            for part, weight, bias in zip(
                "qkv", other.in_proj_weight.chunk(3), other.in_proj_bias.chunk(3), strict=True
            ):
                linear = getattr(mine, f"{part}_proj")
                linear.weight.set_value(weight.detach().T.numpy().copy())
                linear.bias.set_value(bias.detach().numpy())
            mine.out_proj.weight.set_value(other.out_proj.weight.detach().T.numpy().copy())
            mine.out_proj.bias.set_value(other.out_proj.bias.detach().numpy())
    for name, other in theirs.named_children():
        if isinstance(other, torch.nn.Linear | torch.nn.LayerNorm):
            weight = other.weight.detach()
            getattr(ours, name).weight.set_value(weight.t().numpy().copy())
            getattr(ours, name).bias.set_value(other.bias.detach().numpy())


@pytest.mark.parametrize("before", [False, True])
def test_layers_equal_torch(before):
    theirs = torch.nn.TransformerDecoderLayer(
        8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=before
    ).double()
    ours = nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu", normalize_before=before).to(dtype="float64")
    copied(ours, theirs)
    x, memory = tensor(2, 3, 8, grad=True), tensor(2, 5, 8, seed=1, grad=True)
    a, b = (torch.tensor(t.numpy().copy(), requires_grad=True) for t in (x, memory))
    later = torch.full((3, 3), -math.inf, dtype=torch.float64).triu(1)
    out, expected = ours(x, memory, paddle.to_tensor(later)), theirs(a, b, tgt_mask=later)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-10)
    (out**2).sum().backward()
    (expected**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), a.grad.numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(memory.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=before).double()
    ours = nn.TransformerEncoderLayer(8, 2, 16, 0.0, normalize_before=before).to(dtype="float64")
    copied(ours, theirs)
    np.testing.assert_allclose(ours(x).numpy(), theirs(a).detach().numpy(), rtol=1e-10)


def test_caches_give_what_the_whole_sequence_gives():
    net = nn.Transformer(8, 2, 2, 2, 16).to(dtype="float64")
    net.eval()
    src, tgt = tensor(2, 4, 8), tensor(2, 3, 8, seed=1)
    whole = net(src, tgt, tgt_mask=net.generate_square_subsequent_mask(3).astype("float64"))
    memory = net.encoder(src)
    caches, found = net.decoder.gen_cache(memory), []
    for t in range(3):
        out, caches = net.decoder(tgt[:, t : t + 1], memory, cache=caches)
        found.append(out)
    np.testing.assert_allclose(paddle.concat(found, 1).numpy(), whole.numpy(), rtol=1e-10)
    assert caches[0][0].k.shape == [2, 2, 3, 4] and caches[1][1].v.shape == [2, 2, 4, 4]
    assert len(net.decoder.gen_cache(memory, do_zip=True)) == 2
    out, caches = net.encoder(src, cache=net.encoder.gen_cache(src))
    np.testing.assert_allclose(out.numpy(), memory.numpy(), rtol=1e-10)


def test_weights_masks_and_dropout_of_attention():
    layer = nn.MultiHeadAttention(8, 2, kdim=6, vdim=5, need_weights=True).to(dtype="float64")
    query, key, value = tensor(2, 3, 8), tensor(2, 4, 6), tensor(2, 4, 5)
    seen = np.random.default_rng(1).random((3, 4)) > 0.3
    seen[:, 0] = True
    out, weights = layer(query, key, value, paddle.to_tensor(seen))
    assert weights.shape == [2, 2, 3, 4] and (weights.numpy()[:, :, ~seen] == 0).all()
    np.testing.assert_allclose(weights.numpy().sum(-1), 1)
    layer.need_weights = False
    np.testing.assert_allclose(
        layer(query, key, value, paddle.to_tensor(seen.astype("int64"))).numpy(), out.numpy(), rtol=1e-9
    )
    layer.dropout = 1.0
    assert abs(layer(query, key, value).numpy() - layer.out_proj.bias.numpy()).max() == 0
    fixed = layer.gen_cache(key, value, nn.MultiHeadAttention.StaticCache)
    layer.eval()
    np.testing.assert_allclose(
        layer(query, cache=fixed)[0].numpy(), layer(query, key, value).numpy(), rtol=1e-12
    )


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_every_spelling_is_the_formula(groups):
    q, k, v = tensor(2, 3, 4, 6), tensor(2, 5, groups, 6, seed=1), tensor(2, 5, groups, 6, seed=2)
    arrays = [t.numpy() for t in (q, k, v)]
    close = lambda a, b: np.testing.assert_allclose(a.numpy(), b, rtol=1e-10, atol=1e-12)
    seen = np.random.default_rng(3).random((2, 1, 3, 5)) > 0.4
    seen[..., 0] = True
    bias = np.random.default_rng(4).normal(size=(2, 4, 3, 5))
    close(F.scaled_dot_product_attention(q, k, v), formula(*arrays)[0])
    close(F.scaled_dot_product_attention(q, k, v, paddle.to_tensor(seen)), formula(*arrays, seen)[0])
    close(F.scaled_dot_product_attention(q, k, v, paddle.to_tensor(bias)), formula(*arrays, added=bias)[0])
    close(F.scaled_dot_product_attention(q, k, v, paddle.to_tensor(seen[:, 0])), formula(*arrays, seen)[0])
    close(
        F.scaled_dot_product_attention(q[0], k[0], v[0], scale=0.7),
        formula(*(a[:1] for a in arrays), scale=0.7)[0][0],
    )
    causal = np.tri(3, 5, dtype=bool)
    close(F.scaled_dot_product_attention(q, k, v, is_causal=True), formula(*arrays, causal)[0])
    out, weights = flash_attention(q, k, v, causal=True, return_softmax=True)
    close(weights, formula(*arrays, causal)[1])
    close(F.scaled_dot_product_attention(q, k, v[..., :2]), formula(*arrays[:2], arrays[2][..., :2])[0])
    packed = tensor(2, 3, 4 // groups + 2, groups, 6)
    parts = [
        packed.numpy()[:, :, :-2].reshape(2, 3, 4, 6),
        packed.numpy()[:, :, -2],
        packed.numpy()[:, :, -1],
    ]
    close(F.flash_attn_qkvpacked(packed)[0], formula(*parts)[0])
    cuts = paddle.to_tensor([0, 2, 3])
    flat = paddle.to_tensor(packed.numpy()[0])
    expected = np.concatenate([formula(*(p[:1, a:b] for p in parts))[0][0] for a, b in ((0, 2), (2, 3))])
    close(F.flash_attn_varlen_qkvpacked(flat, cuts, cuts, 2, 2, None)[0], expected)
    rows = [paddle.to_tensor(p[0]) for p in parts]
    close(flash_attn_unpadded(*rows, cuts, cuts, 2, 2, None)[0], expected)
    close(F.flash_attention_v3_varlen(*rows, cuts, cuts, 2, 2)[0], expected)
    assert out.shape == [2, 3, 4, 6]


def test_a_mask_that_wants_its_gradient_gets_it():
    q, bias = tensor(1, 3, 2, 4), tensor(3, 3, grad=True)
    F.scaled_dot_product_attention(q, q, q, bias)[0, 0, 0, 0].backward()
    assert abs(bias.grad.numpy()).max() > 0


@pytest.mark.parametrize(("causal", "columns"), [(True, 1), (True, 2), (False, 2), (False, 4)])
def test_flashmask_hides_rows(causal, columns):
    q, k = tensor(2, 6, 2, 4), tensor(2, 6, 2, 4, seed=1)
    bounds = np.sort(np.random.default_rng(2).integers(1, 7, size=(2, 1, 6, columns)), -1).astype("int32")
    if not causal and columns == 2:
        bounds = bounds[..., ::-1].copy()  # hidden from the first on, and before the second
        bounds[..., 1] = 0
    row = np.arange(6)[:, None]
    start = [bounds[..., i][:, :, None, :] for i in range(columns)]
    hidden = row >= start[0]
    if (causal and columns == 2) or columns == 4:
        hidden &= row < start[1]
    if not causal:
        hidden |= (row < start[1]) if columns == 2 else (row >= start[2]) & (row < start[3])
    seen = ~hidden & (np.tri(6, dtype=bool) if causal else True)
    out, sums = F.flashmask_attention(
        q, k, k, paddle.to_tensor(bounds), causal=causal, return_softmax_lse=True
    )
    open_rows = np.broadcast_to(seen, (2, 2, 6, 6)).any(-1).transpose(0, 2, 1)
    with np.errstate(all="ignore"):
        expected = formula(q.numpy(), k.numpy(), k.numpy(), seen)[0]
    np.testing.assert_allclose(out.numpy()[open_rows], expected[open_rows], rtol=1e-10)
    assert sums.shape == [2, 2, 6]


def test_windows_and_patterns():
    q = tensor(1, 6, 2, 4)
    distance = np.arange(6)[:, None] - np.arange(6)
    close = lambda a, seen: np.testing.assert_allclose(
        a.numpy(), formula(*[q.numpy()] * 3, seen)[0], rtol=1e-10
    )
    close(F.flashmask_attention(q, q, q, window_size=1), abs(distance) <= 1)
    close(F.flashmask_attention(q, q, q, window_size=(2, 0), causal=True), (distance >= 0) & (distance <= 2))
    close(F.flashmask_attention(q, q, q, causal=True), distance >= 0)
    with pytest.raises(ValueError, match="startend_row_indices"):
        F.flashmask_attention(q, q, q, paddle.zeros([1, 1, 6, 4], "int32"), causal=True)
    seen = np.random.default_rng(0).random((2, 6, 6)) > 0.5
    seen |= np.eye(6, dtype=bool)
    counts = seen.sum(-1)
    offsets = np.concatenate([np.zeros((2, 1)), counts.cumsum(-1)], -1).astype("int32")[None]
    columns = np.zeros((1, 2, counts.sum(-1).max()), "int32")
    for head in range(2):
        columns[0, head, : counts[head].sum()] = np.nonzero(seen[head])[1]
    turned = q.transpose([0, 2, 1, 3])
    out = F.sparse_attention(turned, turned, turned, paddle.to_tensor(offsets), paddle.to_tensor(columns))
    close(out.transpose([0, 2, 1, 3]), seen)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: nn.MultiHeadAttention(8, 3), "embed_dim"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 0), "dim_feedforward"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, weight_attr=[None]), "weight_attr"),
        (lambda: nn.Transformer(8, 2, bias_attr=[None] * 4), "bias_attr"),
        (lambda: F.scaled_dot_product_attention(tensor(1, 2, 4, 3), *[tensor(1, 2, 3, 3)] * 2), "key, value"),
        (
            lambda: F.scaled_dot_product_attention(
                tensor(1, 2, 4, 3), *[tensor(1, 2, 2, 3)] * 2, enable_gqa=False
            ),
            "4 heads",
        ),
    ],
)
def test_bad_settings_are_named(call, what):
    with pytest.raises(ValueError, match=what):
        call()


def test_attrs_of_parts():
    net = nn.Transformer(8, 2, 1, 2, 16, bias_attr=[False, None], weight_attr=nn.ParamAttr(name="w"))
    assert (
        net.encoder.layers[0].self_attn.q_proj.bias is None and net.encoder.layers[0].linear1.bias is not None
    )
    assert net.decoder.layers[1].cross_attn.q_proj.bias is None
    assert net.encoder.layers[0].linear1.weight.name == "w_1"
