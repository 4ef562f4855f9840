import numpy as np

from sampan.kernels import cpu_quantization as kernels
from sampan.kernels.loops import in_both_forms


def test_numbers_are_rounded_halves_to_even_and_limited() -> None:
    x = np.array([[0, 0.25, 0.75, 1.25, -0.25, -0.75], [63.5, 64, 1e9, -64, -64.3, -1e9]], np.float32)
    for _ in in_both_forms():
        found = kernels.to_unsigned(x, 0.5)
        expected = np.rint(np.clip(x.astype(float) / 0.5, -128, 127)) + 128
        assert found.dtype == np.uint8 and found.tolist() == expected.tolist()
        assert kernels.to_unsigned(x[:, :0], 0.5).shape == (2, 0)
        assert kernels.to_unsigned(np.zeros(2, np.float32), 1e-30).tolist() == [128, 128]
