import numpy as np
import pytest

from sampan.jit.loops.rows import exponentials, moments


@pytest.mark.parametrize("size", [1, 7, 768])
def test_moments_and_exponentials_are_those_in_float64(size: int) -> None:
    row = (np.random.default_rng(size).standard_normal(size) * 3 + 5).astype(np.float32)
    wide = row.astype(np.float64)
    mean, scale = moments(row, np.float32(1e-5))
    assert mean == pytest.approx(wide.mean(), rel=1e-6)
    assert scale == pytest.approx(1 / np.sqrt(wide.var() + 1e-5), rel=1e-5)
    out = np.empty_like(row)
    share = exponentials(row, out)
    exact = np.exp(wide - wide.max())
    assert np.allclose(out * share, exact / exact.sum(), rtol=4e-6, atol=0)  # x - max is rounded


def test_a_row_with_nan_gives_nan() -> None:
    row = np.array([1.0, np.nan, 2.0], np.float32)
    out = np.empty_like(row)
    assert np.isnan(moments(row, np.float32(0.0))).all() and np.isnan(exponentials(row, out))
    endless = np.array([1.0, np.inf], np.float32)
    assert np.isnan(exponentials(endless, out[:2]))


def test_exponentials_may_overwrite_the_row() -> None:
    row = np.array([1000.0, 1001.0, -np.inf], np.float32)
    share = exponentials(row, row)
    assert np.allclose(row * share, [0.26894142, 0.7310586, 0.0])
