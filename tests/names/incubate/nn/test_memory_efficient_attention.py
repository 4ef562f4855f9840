"""Attention with masks by lengths against torch."""

import numpy as np
import pytest
import torch
from sampan.incubate.nn import attn_bias
from sampan.incubate.nn.memory_efficient_attention import memory_efficient_attention

import sampan as paddle
from tests.beside_torch import both, same


def expected(q, k, v, bias, scale):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    scores = q @ k.mT * scale
    return (torch.softmax(scores if bias is None else scores + bias, -1) @ v).transpose(1, 2)


def masks():
    bias = np.random.default_rng(9).standard_normal((1, 2, 5, 5))
    triangle = torch.full((5, 5), -torch.inf, dtype=torch.float64).triu(1)
    blocks = torch.full((5, 5), -torch.inf, dtype=torch.float64)
    blocks[:2, :2], blocks[2:, 2:] = 0, 0
    lower = attn_bias.LowerTriangularMask()
    by_lengths = attn_bias.BlockDiagonalMask.from_seqlens([2, 3])
    return {
        "none": (None, None),
        "tensor": (paddle.to_tensor(bias), torch.tensor(bias)),
        "triangle": (lower, triangle),
        "triangle with a tensor": (lower.add_bias(paddle.to_tensor(bias)), triangle + torch.tensor(bias)),
        "blocks": (by_lengths, blocks),
        "causal blocks": (by_lengths.make_causal(), blocks + triangle),
    }


@pytest.mark.parametrize("scale", [None, -1.0, 0.3])
@pytest.mark.parametrize("kind", list(masks()))
def test_every_mask(kind, scale):
    pairs = [both(1, 5, 2, 4, seed=i) for i in range(3)]
    (q, q2), (k, k2), (v, v2) = pairs
    mask, bias = masks()[kind]
    wanted = expected(q2, k2, v2, bias, 0.5 if scale in (None, -1.0) else scale)
    same(memory_efficient_attention(q, k, v, mask, 0.5, scale, False), wanted, *pairs)


def test_dropout_is_drawn_by_the_seed():
    q = paddle.randn([2, 5, 2, 4])
    values = []
    for seed in (1, 1, 2):
        paddle.seed(seed)
        values.append(memory_efficient_attention(q, q, q, p=0.5).numpy())
    assert np.array_equal(values[0], values[1]) and not np.allclose(values[0], values[2])


def test_bad_input():
    q = paddle.zeros([2, 5, 2, 4])
    with pytest.raises(
        ValueError, match=r"memory_efficient_attention: key: expected .batch, time, heads, d."
    ):
        memory_efficient_attention(q, q[0], q)
    with pytest.raises(
        TypeError, match="memory_efficient_attention: attn_bias: expected a Tensor, a mask or None"
    ):
        memory_efficient_attention(q, q, q, [1])
    with pytest.raises(
        ValueError, match="memory_efficient_attention: query: expected one row with this mask"
    ):
        memory_efficient_attention(q, q, q, attn_bias.BlockDiagonalMask.from_seqlens([5]))
