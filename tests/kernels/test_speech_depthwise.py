import pytest
import torch

from sampan.kernels import speech_depthwise as kernels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_agree(dtype, monkeypatch) -> None:
    """Strided inputs too. The functions that other devices and dtypes take are the reference."""
    x = torch.randn(4, 9, 2, dtype=dtype).transpose(0, 2)
    weight, bias = (
        torch.randn(3, 1, 4, dtype=dtype).transpose(0, 2)[:, :, :3].contiguous(),
        torch.randn(4).to(dtype),
    )
    g = torch.randn(4, 7, 2, dtype=dtype).transpose(0, 2)
    found = kernels.depthwise(x, weight, bias), kernels.depthwise_weight(x, g)
    monkeypatch.setattr(kernels, "OWN", ())
    torch.testing.assert_close(found[0], kernels.depthwise(x, weight, bias), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[1], kernels.depthwise_weight(x, g), rtol=1e-5, atol=1e-5)
