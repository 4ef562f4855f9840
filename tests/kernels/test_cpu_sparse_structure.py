"""Entries are grouped in the order they came."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sampan.kernels import cpu_sparse_structure
from tests.sparse.drawn import examples


@examples
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1 << 18, 2048), (100, 40), (7, 1)]))
def test_entries_are_grouped_in_the_order_they_came(seed, sizes):
    """Whatever buckets and chunks they are sorted by, into few rows or many, over few columns or 2^31."""
    rng = np.random.default_rng(seed)
    height, width, count = (
        rng.choice([1, 9, 2000, 10**6]),
        rng.choice([1, 300, 2**31 - 1]),
        rng.integers(0, 400),
    )
    rows, cols = rng.integers(0, height, count), rng.integers(0, width, count)
    with mock.patch.multiple(cpu_sparse_structure, CHUNK=sizes[0], BUCKET=sizes[1]):
        crows, found, (starts, order) = cpu_sparse_structure.grouped(rows, cols, int(height))
    keys = rows * 2**31 + cols
    stable = np.argsort(keys, kind="stable")
    unique, first = np.unique(keys[stable], return_index=True)
    assert np.array_equal(order, stable) and np.array_equal(starts, np.append(first, count))
    assert np.array_equal(found, unique % 2**31)
    assert np.array_equal(crows, np.searchsorted(unique >> 31, np.arange(height + 1)))
