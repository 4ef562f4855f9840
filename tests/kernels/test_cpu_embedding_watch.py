"""Hashes of rows."""

import numpy as np
import pytest

from sampan.kernels.cpu_embedding_watch import hashes


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_hashes_of_rows(dtype):
    """Beside whole numbers of any length, whatever the number of threads; a change of one bit always shows."""
    rows = np.random.default_rng(0).normal(size=(4000, 16)).astype(dtype)
    places = np.random.default_rng(1).permutation(4000)
    found = hashes(rows, places)
    np.testing.assert_array_equal(found[:9], hashes(rows, places[:9]))  # few rows go on one thread
    words = rows.view(f"u{rows.itemsize}")
    factors = [
        int(f)
        for f in np.random.default_rng(20).integers(0, 1 << 63, 16, np.uint64) * np.uint64(2) + np.uint64(1)
    ]
    for k in range(9):
        expected = sum(int(w) * f for w, f in zip(words[places[k]], factors, strict=True)) % 2**64
        assert int(found[k]) == expected
    words[np.arange(4000), np.arange(4000) % 16] ^= words.dtype.type(1) << (
        np.arange(4000) % (8 * rows.itemsize)
    ).astype(words.dtype)
    assert (hashes(rows, places) != found).all()
