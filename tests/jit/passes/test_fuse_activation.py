from typing import Any

import pytest
import torch

from sampan import nn
from sampan.jit.passes.fuse_activation import chosen, convolution, convolution_twin, prepacked

from .beside import calls, passed, rewriting_of

SETTINGS = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)


@pytest.mark.parametrize(
    ("activation", "added"), [("", False), ("", True), ("relu", False), ("relu", True), ("relu6", False)]
)
def test_the_private_call_computes_what_the_public_one_does(activation: str, added: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(2, 3, 9, 9), torch.randn(5, 3, 3, 3) * 3, torch.randn(5)
    other = torch.randn(2, 5, 9, 9) if added else None
    packed = prepacked(weight, SETTINGS, tuple(x.shape))
    one = convolution(x, packed, bias, other, SETTINGS, activation)
    two = convolution_twin(x, weight, bias, other, SETTINGS, activation)
    wanted = torch.conv2d(x.double(), weight.double(), bias.double(), 1, 1)
    wanted = wanted if other is None else wanted + other
    wanted = wanted.clamp(0, 6) if activation == "relu6" else wanted.relu() if activation else wanted
    for found in (one, two):
        assert torch.allclose(found.double(), wanted, rtol=1e-4, atol=1e-4)


class Residual(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2D(3, 3, 3, padding=1), nn.Conv2D(3, 3, 3, padding=1)
        self.relu, self.six = nn.ReLU(), nn.ReLU6()

    def forward(self, x: Any) -> Any:
        return self.relu(x + self.b(self.six(self.a(x))))


def test_a_residual_block_is_two_calls() -> None:
    rewriting = rewriting_of(Residual(), [None, 3, 8, 8])
    left = passed(rewriting, "fuse_activation", torch.randn(2, 3, 8, 8), exact=False)
    assert left == ["convolution", "convolution"]
    assert [call.args[5] for call in calls(rewriting, "convolution")] == ["relu6", "relu"]


def test_the_choice_is_one_of_both() -> None:
    x, weight = torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3)
    function, own = chosen([x, weight, None, None, SETTINGS, "relu"], repeat=1)
    assert function in (convolution, convolution_twin) and (own is weight) == (function is convolution_twin)
    strange = chosen([x.double(), weight.double(), None, None, SETTINGS, "relu"], repeat=1)
    assert torch.isfinite(strange[0](x.double(), strange[1], None, None, SETTINGS, "relu")).all()
