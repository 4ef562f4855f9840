"""Masks by lengths, place by place."""

import numpy as np
import pytest
from sampan.incubate.nn import attn_bias

import sampan as paddle

SEEN = {
    "LowerTriangularMask": lambda: (attn_bias.LowerTriangularMask(), lambda q, k: k <= q),
    "BlockDiagonalMask": lambda: (
        attn_bias.BlockDiagonalMask.from_seqlens([2, 3], [1, 4]),
        lambda q, k: (q < 2) == (k < 1),
    ),
    "BlockDiagonalCausalMask": lambda: (
        attn_bias.BlockDiagonalMask.from_seqlens([2, 3]).make_causal(),
        lambda q, k: (q < 2) == (k < 2) and k <= q,
    ),
    "BlockDiagonalCausalWithOffsetPaddedKeysMask": lambda: (
        attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens(
            [2, 3], 4, [3, 2], paddle.to_tensor([1, 0], "int32")
        ),
        lambda q, k: k < 3 and k <= q + 1 if q < 2 else 4 <= k < 6 and k - 4 <= q - 2,
    ),
}


@pytest.mark.parametrize("kind", list(SEEN))
def test_every_place(kind):
    mask, seen = SEEN[kind]()
    keys = 8 if "Padded" in kind else 5
    found = mask.materialize([2, 1, 5, keys], "float64")
    expected = [[0.0 if seen(q, k) else -np.inf for k in range(keys)] for q in range(5)]
    assert found.shape == [2, 1, 5, keys] and found.dtype == paddle.float64
    assert np.array_equal(found.numpy(), np.broadcast_to(expected, found.shape))


def test_a_bias_on_a_triangle():
    bias = paddle.randn([2, 3, 3])
    found = attn_bias.LowerTriangularMask().add_bias(bias).materialize([2, 3, 3])
    expected = np.where(np.tri(3, dtype=bool), bias.numpy(), -np.inf)
    assert np.array_equal(found.numpy(), expected)


def test_batches_as_one_row_and_back():
    batches = [paddle.randn([2, 3, 4]), paddle.randn([1, 5, 4])]
    mask, row = attn_bias.BlockDiagonalMask.from_tensor_list(batches)
    assert row.shape == [1, 11, 4] and mask.q_seqinfo.seqstart.tolist() == [0, 3, 6, 11]
    assert mask.q_seqinfo.seqstart.dtype == paddle.int32 and mask.q_seqinfo.max_seqlen == 5
    for part, batch in zip(mask.split(row), batches, strict=True):
        assert (part == batch).all()
    keys = [paddle.randn([2, 2, 4]), paddle.randn([1, 1, 4])]
    both, q, k, v = attn_bias.BlockDiagonalMask.from_tensor_lists_qkv(batches, keys, keys)
    assert [x.shape[1] for x in (q, k, v)] == [11, 5, 5]
    assert [x.shape for x in both.split_queries(q)] == [[2, 3, 4], [1, 5, 4]]
    assert [x.shape for x in both.split_kv(k)] == [[2, 2, 4], [1, 1, 4]]
    assert attn_bias.BlockDiagonalMask.from_tensor_lists_qkv(batches, keys)[3] is None
    assert [x.shape for x in attn_bias.SeqLenInfo.from_seqlens([1, 2]).split(paddle.zeros([1, 3]))] == [
        [1, 1],
        [1, 2],
    ]


def test_bad_input():
    padded = attn_bias.PaddedSeqLenInfo
    mask = attn_bias.BlockDiagonalMask.from_seqlens([2], [3])
    with pytest.raises(ValueError, match=r"shape: expected \[2, 3\] at the end, got \[2, 2\]"):
        mask.materialize([2, 2])
    with pytest.raises(ValueError, match="split: expected queries and keys of the same lengths"):
        mask.split(paddle.zeros([1, 2, 4]))
    with pytest.raises(ValueError, match=r"x: expected \[1, 2, ...\], got \[1, 3\]"):
        mask.split_queries(paddle.zeros([1, 3]))
    with pytest.raises(ValueError, match="padding: expected at least 3, the longest sequence, got 2"):
        padded.from_seqlens_padded([1, 3], 2)
    with pytest.raises(ValueError, match="kv_seqlen: expected 1 lengths, got 2"):
        attn_bias.BlockDiagonalMask.from_seqlens([2], [3, 1])
    with pytest.raises(ValueError, match="kv_seqlen: expected 1 lengths, got 2"):
        attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2], 4, [3, 1])
    with pytest.raises(ValueError, match="tensors_k: expected as many batches"):
        attn_bias.BlockDiagonalMask.from_tensor_lists_qkv([paddle.zeros([2, 1])], [])
    with pytest.raises(NotImplementedError, match="from_seqlens_padded"):
        padded.from_seqlens([1])
    with pytest.raises(NotImplementedError, match="are not split"):
        padded.from_seqlens_padded([1], 2).split(paddle.zeros([1, 2]))
