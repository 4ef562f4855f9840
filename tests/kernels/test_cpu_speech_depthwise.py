import numpy as np

from sampan.kernels import cpu_speech_depthwise as kernels
from sampan.kernels.loops import in_both_forms


def test_the_loops_are_the_sums_of_their_definition() -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=(2, 9, 5)), rng.normal(size=(5, 4)), rng.normal(size=5)
    g = rng.normal(size=(2, 6, 5))
    for _ in in_both_forms():
        found = kernels.depthwise(x, weight, bias)
        expected = bias + sum(x[:, k : k + 6] * weight[:, k] for k in range(4))
        np.testing.assert_allclose(found, expected, atol=1e-14)
        slopes = [(x[:, k : k + 6] * g).sum((0, 1)) for k in range(4)]
        np.testing.assert_allclose(kernels.depthwise_weight(x, g), slopes, atol=1e-13)
