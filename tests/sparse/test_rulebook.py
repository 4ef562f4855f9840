"""The search for neighbours: shared, by hashing, in any order; and a rulebook that leads outside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from sampan.kernels import cpu_sparse_conv
from sampan.sparse import rulebook
from tests.sparse.clouds import cloud, small, weights

from .drawn import examples

F = sparse.nn.functional


def test_layers_over_one_pattern_share_the_search():
    x, _ = cloud((1, 6, 6, 6), 4)
    net = sampan.nn.Sequential(
        sparse.nn.SubmConv3D(4, 4, 3), sparse.nn.BatchNorm(4), sparse.nn.ReLU(), sparse.nn.SubmConv3D(4, 2, 3)
    )
    net.to(dtype="float64")
    net(x)
    assert len(x.pattern.books) == 1


def test_a_large_space_is_searched_by_hashing_with_the_same_result(monkeypatch):
    (x, _), (w, _) = cloud((2, 7, 6, 5), 3), weights((3, 3, 3, 3, 4))
    found = [F.conv3d(x, w, None, 2, 1).numpy(), F.subm_conv3d(x, w).numpy()]
    monkeypatch.setattr(cpu_sparse_conv, "LARGEST_GRID", 0)
    x.pattern.books.clear()
    assert np.array_equal(F.conv3d(x, w, None, 2, 1).numpy(), found[0])
    assert np.array_equal(F.subm_conv3d(x, w).numpy(), found[1])
    far = sparse.sparse_coo_tensor([[0, 0], [5, 6], [99_999, 99_998], [7, 7]], [[1.0], [2.0]], [1, 100_000, 100_000, 100_000, 1])  # fmt: skip
    assert F.subm_conv3d(far, sampan.ones([3, 3, 3, 1, 1])).values().tolist() == [[3], [3]]


@examples
@given(st.data())
def test_neighbours_in_any_order(data):
    """By a grid and by hashing, with offsets that have their opposites and without, against a dictionary."""
    shape = (2, *(data.draw(st.integers(1, 5)) for _ in range(3)))
    count = data.draw(st.integers(0, min(20, int(np.prod(shape)))))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    places = np.stack(np.unravel_index(rng.permutation(int(np.prod(shape)))[:count], shape)).astype(np.int64)
    half = rng.integers(-2, 3, (data.draw(st.integers(0, 3)), 3))
    offsets = np.concatenate([half, np.zeros((1, 3), np.int64), -half[::-1]])
    if data.draw(st.booleans()):
        offsets = rng.integers(-3, 4, (5, 3))
    entry = {tuple(place): i for i, place in enumerate(places.T)}
    expected = [[entry.get((b, z + p, y + q, x + r), -1) for b, z, y, x in places.T] for p, q, r in offsets]
    before = cpu_sparse_conv.LARGEST_GRID
    try:
        for cpu_sparse_conv.LARGEST_GRID in (before, 0):
            found = rulebook.neighbours(places, offsets, shape)
            assert found.dtype == np.int32 and np.array_equal(found, np.reshape(expected, found.shape))
    finally:
        cpu_sparse_conv.LARGEST_GRID = before


@pytest.mark.parametrize("wrong", [np.full((27, 3), 3), np.full((27, 3), -2), np.zeros((26, 3), int)])
def test_a_rulebook_that_leads_outside_is_refused(wrong, monkeypatch):
    monkeypatch.setattr(rulebook, "neighbours", lambda places, offsets, shape: wrong)
    with pytest.raises(ValueError, match=r"neighbours: expected (-1 to 2|shape \[27, 3\]), got"):
        F.subm_conv3d(small(), sampan.ones([3, 3, 3, 2, 2], dtype="float64"))
