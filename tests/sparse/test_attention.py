"""Attention at the entries of a mask, against dense torch attention and finite differences."""

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import kernels, sparse
from tests.sparse.dense_attention import TOLERANCE, dense, leaves, near

examples = settings(max_examples=30)
attention = sparse.nn.functional.attention


def masks(array):
    return sparse.dense_to_csr(sampan.to_tensor(array.astype(np.float32)))


@examples
@given(st.data())
def test_values_and_gradients_are_those_of_dense_attention(data):
    batch, heads, length = (data.draw(st.integers(1, n)) for n in (2, 3, 9))
    width = data.draw(st.sampled_from([1, 3, 16, 20]))
    dtype = data.draw(st.sampled_from(sorted(TOLERANCE)))
    count = data.draw(st.sampled_from([1, batch, batch * heads]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    seen = rng.random((count, length, length)) < data.draw(st.sampled_from([0, 0.3, 0.7, 1]))
    given_masks, left = {}, torch.tensor(seen).reshape(count, -1, length, length)
    left = left.repeat_interleave(batch * heads // count, 0).reshape(batch, heads, length, length)
    if data.draw(st.booleans()):
        padding = rng.random((batch, length)) < 0.7
        given_masks["key_padding_mask"] = sampan.to_tensor(padding.astype(np.float32))
        left = left & torch.tensor(padding)[:, None, None]
    if data.draw(st.booleans()):
        among = rng.random((length, length)) < 0.7
        given_masks["attn_mask"] = sampan.to_tensor(among.astype(np.float32))
        left = left & torch.tensor(among)
    arrays = [rng.standard_normal((batch, heads, length, width)) for _ in range(4)]
    mine, theirs = leaves(arrays[:3], dtype)
    out, expected = attention(*mine, masks(seen), **given_masks), dense(*theirs, left)
    assert out.dtype == mine[0].dtype and near(out, expected, dtype)
    g = sampan.to_tensor(arrays[3]).astype(dtype)
    out.backward(g)
    expected.backward(g.data.double())
    for x, t in zip(mine, theirs, strict=True):
        assert near(x.grad, t.grad, dtype)


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 2, 5, 3)) for _ in range(4)]
    where = masks(rng.random((1, 5, 5)) < 0.6)
    mine, _ = leaves(arrays[:3])

    def loss(*inputs):
        return (attention(*(sampan.to_tensor(a) for a in inputs), where).numpy() * arrays[3]).sum()

    attention(*mine, where).backward(sampan.to_tensor(arrays[3]))
    for place, x in enumerate(mine):
        for at in np.ndindex(*arrays[place].shape):
            moved = [[a.copy() for a in arrays[:3]] for _ in range(2)]
            moved[0][place][at] += 1e-6
            moved[1][place][at] -= 1e-6
            slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-6
            assert abs(slope - x.grad.numpy()[at]) < 1e-7


@pytest.mark.parametrize("count", [1, 2, 4])
def test_second_derivatives(count):
    rng = np.random.default_rng(0)
    seen = rng.random((count, 5, 5)) < 0.6
    mine, theirs = leaves([rng.standard_normal((2, 2, 5, 3)) for _ in range(3)])
    left = torch.tensor(seen).repeat_interleave(4 // count, 0).reshape(2, 2, 5, 5)
    first = sampan.grad((attention(*mine, masks(seen)) ** 3).sum(), mine, create_graph=True)
    expected = torch.autograd.grad((dense(*theirs, left) ** 3).sum(), theirs, create_graph=True)
    sum((g**2).sum() for g in first).backward()
    sum((g**2).sum() for g in expected).backward()
    for x, t, g, e in zip(mine, theirs, first, expected, strict=True):
        assert near(g, e) and np.allclose(x.grad.numpy(), t.grad, rtol=1e-9)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    seen = rng.random((1, 300, 300)) < 0.2
    arrays = [rng.standard_normal((1, 3, 300, 24)).astype(np.float32) for _ in range(4)]
    before, found, loops = numba.get_num_threads(), [], []
    heard = loops.append
    kernels.listeners.append(heard)
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            mine, theirs = leaves(arrays[:3], "float32")
            out = attention(*mine, masks(seen))
            out.backward(sampan.to_tensor(arrays[3]))
            found.append([x.numpy().tobytes() for x in (out, *(x.grad for x in mine))])
    finally:
        numba.set_num_threads(before)
        kernels.listeners.remove(heard)
    assert found[0] == found[1] and near(out, dense(*theirs, torch.tensor(seen)), "float32")
    names = [
        "sparse_attention",
        "sparse_attention_back",
        "sparse_attention_turned",
        "sparse_attention_turned",
    ]
    assert [name for name in loops if "attention" in name] == [f"{name} (parallel)" for name in names * 2]


def test_large_scores_and_what_is_empty():
    where = masks(np.array([[[1, 1], [0, 0]]]))
    q, k = (sampan.to_tensor([[[[1e4], [1e4]]]], dtype="float32") for _ in range(2))
    v = sampan.to_tensor([[[[1.0], [3.0]]]], dtype="float32")
    assert attention(q, k, v, where).tolist() == [[[[2.0], [0.0]]]]
    for shape in ([0, 1, 2, 1], [1, 0, 2, 1], [1, 1, 2, 0]):
        empty = sampan.zeros(shape)
        assert list(attention(empty, empty, empty, where).shape) == shape


@pytest.mark.parametrize("kind", ["entries", "blocks"])
def test_mixed_precision(kind):
    rng = np.random.default_rng(0)
    seen = rng.random((6, 6)) < 0.6
    mine, theirs = leaves([rng.standard_normal((1, 2, 6, 3)) for _ in range(3)], "float32")
    where, run = masks(seen[None]), attention
    if kind == "blocks":
        where, run = sparse.create_block_mask(seen, block_size=2), sparse.nn.functional.block_attention
    with sampan.amp.auto_cast(dtype="bfloat16"):
        out = run(mine[0].astype("bfloat16"), *mine[1:], where)
    assert out.dtype == torch.bfloat16
    out.astype("float32").sum().backward()
    expected = dense(*theirs, torch.tensor(seen))
    expected.sum().backward()
    assert near(out, expected, "bfloat16")
    for x, t in zip(mine, theirs, strict=True):
        assert x.grad.dtype == torch.float32 and near(x.grad, t.grad, "bfloat16")


def test_what_does_not_fit_is_refused():
    x, where = sampan.ones([2, 3, 4, 5]), masks(np.ones((6, 4, 4)))
    for arguments, message in [
        ((x, x, sampan.ones([2, 3, 4, 1]), where), "query, key, value: expected one shape"),
        (
            (x, x, x, masks(np.ones((3, 4, 4)))),
            r"sparse_mask: expected \[masks, 4, 4\] with 1, 2 \(batch\) or 6",
        ),
        ((x, x, x, where, sampan.ones([4, 2])), r"key_padding_mask: expected shape \[2, 4\], got \[4, 2\]"),
        ((x, x, x, where, None, sampan.ones([2, 4])), r"attn_mask: expected shape \[4, 4\], got \[2, 4\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            attention(*arguments)
    for other in ("float64", "int32"):
        with pytest.raises(TypeError, match="expected query, key and value of one floating dtype"):
            attention(x.astype(other) if other == "int32" else x, x, x.astype(other), where)
    with pytest.raises(TypeError, match="sparse_mask: expected a sparse tensor"):
        attention(x, x, x, sampan.ones([6, 4, 4]))
