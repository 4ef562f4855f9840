"""Compressed rows against NumPy's stable sort, serial, parallel, and while the caller writes to its array."""

import threading

import numba
import numpy as np
import pytest

from sampan.kernels import cpu_graph_structure as loops


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("count", "height"), [(0, 0), (0, 3), (1, 1), (7, 3), (1000, 5000), (700_000, 3), (700_000, 300_001)]
)
def test_compress_is_a_stable_sort(count, height, threads):
    rng = np.random.default_rng(count)
    rows, columns = (rng.integers(0, max(height, 1), count).astype(np.int32) for _ in range(2))
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, before))
    try:
        starts, neighbours, edges = loops.compress(rows, columns, height)
    finally:
        numba.set_num_threads(before)
    order = np.argsort(rows, kind="stable")
    np.testing.assert_array_equal(edges, order)
    np.testing.assert_array_equal(neighbours, columns[order])
    np.testing.assert_array_equal(
        starts, np.append(0, np.cumsum(np.bincount(rows, minlength=height)))[: height + 1]
    )


def test_a_copy_is_in_range_while_its_source_changes():
    given, stop = np.zeros(2_000_000, np.int64), threading.Event()

    def overwrite():
        while not stop.is_set():
            given[:] = 10**9
            given[:] = 0

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        seen = [loops.copy_checked(given, 5) for _ in range(20)]
    finally:
        stop.set()
        writer.join()
    assert all(owned.min() >= 0 and owned.max() < 5 for owned, _ in seen)
