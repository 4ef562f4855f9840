"""The sketch beside a counter, and values that depend on the id alone."""

from collections import Counter

import numpy as np
import pytest

from sampan.kernels import cpu_embedding_hash as loops


def test_the_sketch_never_counts_too_low_and_seldom_too_high():
    rng = np.random.default_rng(1)
    ids = rng.zipf(1.3, 50_000) % 10_000
    counters = np.zeros((loops.SKETCH_ROWS, 1 << 14), np.uint16)
    seen = loops.count_up(ids.astype(np.int64).view(np.uint64), counters)
    exact, right = Counter(), 0
    for i, estimate in zip(ids.tolist(), seen.tolist(), strict=True):
        exact[i] += 1
        assert estimate >= exact[i]
        right += estimate == exact[i]
    assert right > 0.98 * len(ids)


def test_the_sketch_stops_at_its_largest_number():
    counters = np.full((loops.SKETCH_ROWS, 16), 65535, np.uint16)
    assert loops.count_up(np.zeros(3, np.uint64), counters).tolist() == [65535] * 3


@pytest.mark.parametrize("kind", ["uniform", "normal", "constant"])
def test_values_depend_on_the_id_and_the_seed_alone(kind):
    ids = np.arange(20_000, dtype=np.int64).view(np.uint64)
    made, other, turned = (np.empty((20_000, 8), np.float32) for _ in range(3))
    loops.drawn(ids, np.arange(20_000), 3, kind, 0.5, made)
    loops.drawn(ids[::-1].copy(), np.arange(20_000)[::-1].copy(), 3, kind, 0.5, turned)
    np.testing.assert_array_equal(made, turned)
    loops.drawn(ids, np.arange(20_000), 4, kind, 0.5, other)
    if kind == "constant":
        assert (made == 0.5).all()
        return
    assert (made != other).mean() > 0.99
    spread = {"uniform": 0.5 / 3**0.5, "normal": 0.5}[kind]
    assert abs(made.mean()) < 0.01 and abs(made.std() - spread) < 0.01
    across = np.corrcoef(made.T.astype(np.float64)) - np.eye(8)
    assert abs(across).max() < 0.05
    if kind == "uniform":
        assert abs(made).max() <= 0.5
