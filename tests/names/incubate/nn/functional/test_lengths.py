"""Attention over sequences of several lengths, sample by sample."""

import numpy as np
import pytest
import torch
from sampan.incubate.nn import functional as F

import sampan as paddle
from tests.beside_torch import both, same


def expected(q, k, v, own, others, mask, scale, causal):
    """Attention of the first places of each sample alone, with rows of 0 after them."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    out = torch.zeros_like(q)
    for b, (m, n) in enumerate(zip(own, others, strict=True)):
        scores = q[b, :, :m] @ k[b, :, :n].mT * scale
        if mask is not None:
            scores = scores + mask[b, :, :m, :n]
        if causal:
            scores = scores.masked_fill(~torch.ones(m, n, dtype=torch.bool).tril(), -torch.inf)
        out[b, :, :m] = torch.softmax(scores, -1) @ v[b, :, :n]
    return out


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("heads", [2, 1])
def test_each_sample_alone(heads, scale, causal, masked):
    pairs = [both(2, n, t, 4, seed=i) for i, (n, t) in enumerate(((2, 5), (heads, 6), (heads, 6)))]
    (q, q2), (k, k2), (v, v2) = pairs
    mask = np.random.default_rng(3).standard_normal((2, 1, 5, 6)) if masked else None
    lengths = [paddle.to_tensor(n, "int32") for n in ([[5], [2]], [[3], [4]])]
    given = (None if mask is None else paddle.to_tensor(mask), scale, causal, 2)
    found = F.variable_length_memory_efficient_attention(q, k, v, *lengths, *given)
    bias = None if mask is None else torch.tensor(mask)
    same(found, expected(q2, k2, v2, [5, 2], [5, 6], bias, scale or 0.5, causal), *pairs)


def test_a_sequence_of_no_length_gives_zeros():
    q = paddle.randn([2, 1, 3, 4])
    lengths = paddle.to_tensor([0, 3], "int32")
    found = F.variable_length_memory_efficient_attention(q, q, q, lengths, lengths)
    assert found[0].abs().max() == 0 and found[1].abs().max() > 0 and np.isfinite(found.numpy()).all()


def test_bad_input():
    q, lengths = paddle.randn([2, 1, 3, 4]), paddle.to_tensor([3, 3], "int32")
    name = "variable_length_memory_efficient_attention"
    with pytest.raises(ValueError, match=f"^{name}: key: expected .batch, heads, time, d., got"):
        F.variable_length_memory_efficient_attention(q, q[0], q, lengths, lengths)
    with pytest.raises(ValueError, match=rf"^{name}: kv_seq_lens: expected 2 lengths, got shape \[1\]"):
        F.variable_length_memory_efficient_attention(q, q, q, lengths, lengths[:1])
