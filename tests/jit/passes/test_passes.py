import torch

import sampan as paddle
from sampan.jit.passes import PASSES, optimized

from .beside import answer, rewriting_of


def test_all_passes_together_on_a_residual_network() -> None:
    paddle.seed(0)
    net = paddle.vision.models.resnet18(num_classes=4)
    before = rewriting_of(net, [None, 3, 32, 32])
    after = optimized(before.program, before.frozen)
    x = torch.randn(2, 3, 32, 32)
    assert torch.allclose(answer(before, x), answer(after, x), rtol=1e-3, atol=1e-4)
    names = [call.name for call in after.calls]
    assert "normalize_batch" not in names and "relu" not in names and names.count("convolution") == 17
    assert len(before.calls) == 69 and len(names) == 24
    one = optimized(before.program, before.frozen, ["fold_batch_norm"])
    assert set(PASSES) and len(one.calls) == 49
