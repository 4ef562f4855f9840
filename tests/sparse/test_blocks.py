"""Masks by blocks, and attention under them, against dense torch attention."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import sparse
from tests.sparse.dense_attention import TOLERANCE, dense, leaves, near

examples = settings(max_examples=30)
attention = sparse.nn.functional.block_attention


@examples
@given(st.data())
def test_values_and_gradients_are_those_of_dense_attention(data):
    batch, heads, length = (data.draw(st.integers(1, n)) for n in (2, 2, 13))
    dtype, size = data.draw(st.sampled_from(sorted(TOLERANCE))), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    seen = torch.tensor(rng.random((length, length)) < data.draw(st.sampled_from([0, 0.05, 0.4, 1])))
    mask = sparse.create_block_mask(seen, block_size=size)
    assert torch.equal(mask.to_dense(), seen)
    arrays = [rng.standard_normal((batch, heads, length, 3)) for _ in range(4)]
    mine, theirs = leaves(arrays[:3], dtype)
    out, expected = attention(*mine, mask), dense(*theirs, seen)
    assert out.dtype == mine[0].dtype and near(out, expected, dtype)
    g = sampan.to_tensor(arrays[3]).astype(dtype)
    out.backward(g)
    expected.backward(g.data.double())
    for x, t in zip(mine, theirs, strict=True):
        assert near(x.grad, t.grad, dtype)


def test_second_derivatives_and_a_scale():
    rng = np.random.default_rng(0)
    seen = torch.tensor(rng.random((7, 7)) < 0.4)
    seen[2:4] = False
    seen[6] = False
    mask = sparse.create_block_mask(seen, block_size=2)
    mine, theirs = leaves([rng.standard_normal((1, 2, 7, 3)) for _ in range(3)])
    first = sampan.grad((attention(*mine, mask, scale=0.3) ** 3).sum(), mine, create_graph=True)
    scaled = (theirs[0] * (0.3 * 3**0.5), *theirs[1:])
    expected = torch.autograd.grad((dense(*scaled, seen) ** 3).sum(), theirs, create_graph=True)
    sum((g**2).sum() for g in first).backward()
    sum((g**2).sum() for g in expected).backward()
    for x, t, g, e in zip(mine, theirs, first, expected, strict=True):
        assert near(g, e) and np.allclose(x.grad.numpy(), t.grad, rtol=1e-9)


def test_what_is_computed_in_several_parts(monkeypatch):
    rng = np.random.default_rng(0)
    mask = sparse.sliding_window(96, 9, global_tokens=3, block_size=8)
    arrays = [rng.standard_normal((2, 2, 96, 4)) for _ in range(3)]
    found = []
    for cells in (1, 1 << 30):
        monkeypatch.setattr(sparse.blocks, "CELLS", cells)
        mine, theirs = leaves(arrays)
        attention(*mine, mask).sum().backward()
        found.append([x.grad.numpy() for x in mine])
    dense(*theirs, mask.to_dense()).sum().backward()
    for one, other, t in zip(*found, theirs, strict=True):
        assert np.allclose(one, t.grad) and np.allclose(other, t.grad)


@pytest.mark.parametrize("causal", [False, True])
def test_windows(causal):
    mask = sparse.sliding_window(50, 4, global_tokens=2, causal=causal, block_size=8)
    q, k = np.arange(50)[:, None], np.arange(50)[None]
    seen = (abs(q - k) <= 4) | (q < 2) | (k < 2)
    seen &= (k <= q) | (not causal)
    assert np.array_equal(mask.to_dense().numpy(), seen)
    blocks = np.pad(seen, (0, 6)).reshape(7, 8, 7, 8).any((1, 3))
    assert np.array_equal(mask.layout.numpy(), blocks) and mask.density == pytest.approx(blocks.mean())


def test_what_does_not_fit_is_refused():
    x, mask = sampan.ones([2, 3, 4, 5]), sparse.create_block_mask(lambda q, k: k <= q, 8, 4)
    for call, message in [
        (lambda: attention(x, x, x, mask), "mask: expected one of length 4, got 8"),
        (lambda: attention(x, x, sampan.ones([2, 3, 4, 1]), mask), "query, key, value: expected one shape"),
        (lambda: sparse.create_block_mask(torch.ones(3, 4, dtype=torch.bool)), r"seen: expected bool \[length, length\]"),
        (lambda: sparse.create_block_mask(np.ones((3, 3))), "seen: expected bool"),
        (lambda: sparse.create_block_mask(lambda q, k: k <= q), "length, block_size: expected 1 or more, got None"),
        (lambda: sparse.sliding_window(8, -1), "window, global_tokens: expected 0 or more"),
        (lambda: sparse.sliding_window(8, 1, 9), "tokens up to 8, got 1 and 9"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()
