import numpy as np

from sampan.kernels import cpu_speech_int8 as kernels
from sampan.kernels.loops import in_both_forms


def test_numbers_to_int8_and_sums_back() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 7)).astype(np.float32)
    x[3] = 0
    sums = rng.integers(-(1 << 20), 1 << 20, (5, 3)).astype(np.int32)
    columns, bias = rng.normal(size=3).astype(np.float32), rng.normal(size=3).astype(np.float32)
    for _ in in_both_forms():
        q, scales = kernels.to_int8(x)
        np.testing.assert_allclose(scales, np.abs(x).max(1) / 127, rtol=1e-6)
        assert (np.abs(q * scales[:, None] - x) <= 0.5001 * scales[:, None]).all()
        assert np.abs(q).max(1).tolist() == [127, 127, 127, 0, 127]
        found = kernels.from_sums(sums, scales, columns, bias)
        expected = sums * scales[:, None].astype(float) * columns + bias
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_value_that_is_not_finite_makes_its_row_not_finite() -> None:
    x = np.ones((3, 40), np.float32)
    x[0, 7], x[2, 9] = np.nan, np.inf
    for _ in in_both_forms():
        q, scales = kernels.to_int8(x)
        assert np.isnan(scales[0]) and scales[1] == np.float32(1 / 127) and np.isinf(scales[2])
        assert (q[1] == 127).all() and not q[[0, 2]].any()
        ones = np.ones(2, np.float32)
        found = kernels.from_sums(q[:, :2].astype(np.int32), scales, ones, ones)
        assert np.isfinite(found[1]).all() and not np.isfinite(found[[0, 2]]).any()
