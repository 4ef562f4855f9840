"""Which rows a batch names, and the sums of their gradients, beside NumPy."""

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.kernels import cpu_embedding

COUNT = 40


@pytest.fixture(params=["by slots", "sorted"])
def way(request, monkeypatch):
    if request.param == "sorted":  # as of a table whose slots would take too much memory
        monkeypatch.setattr(cpu_embedding, "LARGEST_SLOTS", COUNT - 1)


@pytest.mark.usefixtures("way")
@settings(max_examples=60)
@given(st.lists(st.integers(-1, COUNT - 1), max_size=80))
def test_distinct_rows(ids):
    ids = np.array(ids, np.int64)
    found, place = cpu_embedding.distinct(ids, COUNT)
    assert found.tolist() == list(dict.fromkeys(ids[ids >= 0].tolist()))  # each once, as they first came
    np.testing.assert_array_equal(np.append(found, -1)[place], ids)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 7, 16, 33, 100, 600])
@pytest.mark.parametrize("shared", [False, True])
def test_sums_of_any_width_and_number_of_threads(width, dtype, shared):
    rng = np.random.default_rng(width)
    ids = rng.integers(-1, COUNT, 60_000)
    rows = rng.standard_normal((9 if shared else ids.size, width)).astype(dtype)
    which = rng.integers(0, 9, ids.size).astype(np.int32) if shared else np.empty(0, np.int32)
    scale = rng.standard_normal(ids.size if shared else 0).astype(dtype)
    expected = np.zeros((COUNT, width))
    each = rows[which] * scale[:, None] if shared else rows
    np.add.at(expected, ids[ids >= 0], each[ids >= 0].astype(float))
    most, found, sums = numba.get_num_threads(), [], []
    try:
        for threads in (1, most):
            numba.set_num_threads(threads)
            chosen, summed = cpu_embedding.sums((ids, COUNT, False), which, scale, rows)
            found.append(chosen)
            sums.append(summed)
    finally:
        numba.set_num_threads(most)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(*sums)
    np.testing.assert_allclose(
        sums[0], expected[found[0]], rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-3
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "shape", [(30, 3), (4000, 10), (0,)]
)  # the second on several threads, in memory that is lent
def test_rows_of_ids_some_of_which_name_none(shape, dtype):
    rng = np.random.default_rng(0)
    table = torch.from_numpy(rng.standard_normal((COUNT, 64)).astype(dtype))
    ids = torch.from_numpy(rng.integers(-1, COUNT, shape))
    expected = table.numpy()[ids] * (ids.numpy() >= 0)[..., None]
    most = numba.get_num_threads()
    try:
        for threads in (1, most):
            numba.set_num_threads(threads)
            np.testing.assert_array_equal(cpu_embedding.rows_found(table, ids).numpy(), expected)
    finally:
        numba.set_num_threads(most)
    nothing = cpu_embedding.rows_found(table[:0], torch.full(shape, -1))
    assert nothing.shape == (*shape, 64) and not nothing.any()


@pytest.mark.parametrize("size", [5, 40_000])
@pytest.mark.parametrize(
    ("read", "wrong"), [("rows_found", -2), ("rows_found", COUNT), ("rows_read", -1), ("rows_read", COUNT)]
)
def test_an_id_outside_is_not_read(read, wrong, size):
    ids = torch.zeros(size, dtype=torch.int64)
    ids[3] = wrong
    with pytest.raises(IndexError, match="out of range"):
        getattr(cpu_embedding, read)(torch.zeros(COUNT, 64), ids)


def test_sums_that_are_there_are_taken_as_they_are():
    none, rows = np.empty(0, np.int32), np.arange(6.0).reshape(2, 3)
    ids = np.array([7, 2])
    chosen, summed = cpu_embedding.sums((ids, COUNT, True), none, np.empty(0), rows)
    assert chosen is ids and summed is rows
    chosen, summed = cpu_embedding.sums((ids[:0], COUNT, False), none, np.empty(0), rows)
    assert chosen.shape == (0,) and summed.shape == (0, 3)
