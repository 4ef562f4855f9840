"""The polyphase kernel against its sum, and its transpose."""

import numpy as np
import pytest

from sampan.kernels import cpu_speech_resample as kernel


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("phase", [0, 2])
def test_sum_and_transpose(kind, phase) -> None:
    rng = np.random.default_rng(0)
    filters, first, step = rng.standard_normal((3, 8)).astype(kind), np.array([0, 2, 1]), 2
    x, out = rng.standard_normal(40).astype(kind), np.empty(20, kind)
    kernel.polyphase(x, filters, first, step, phase, out)
    matrix = np.zeros((20, 40))
    for m in range(20):
        i, j = divmod(phase + m, 3)
        matrix[m, i * step + first[j] : i * step + first[j] + 8] = filters[j]
    np.testing.assert_allclose(out, matrix @ x, atol=1e-5 if kind is np.float32 else 1e-12)
    if phase == 0:
        back = np.empty(40, kind)
        kernel.polyphase_back(out, filters, first, step, back)
        np.testing.assert_allclose(back, matrix.T @ out, atol=1e-5 if kind is np.float32 else 1e-12)
