from typing import Any

import torch

import sampan as paddle
import sampan.nn.functional as F
from benchmarks.deploy_fused_rows import allocated
from sampan import nn
from sampan.jit import evaluation
from sampan.jit.evaluation import Evaluation
from sampan.jit.loops.pooling import max_pool_values
from sampan.jit.passes.fuse_activation import convolution, prepacked
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.stages import stages
from sampan.jit.whole import recorded

from .beside import calls, passed, rewriting_of


class Pooled(nn.Layer):
    def __init__(self, mask: bool) -> None:
        super().__init__()
        self.mask = mask

    def forward(self, x: Any) -> Any:
        if not self.mask:
            return F.max_pool2d(x, 3, 2, 1)
        value, places = F.max_pool2d(x, 2, 2, return_mask=True)
        return value + places.astype("float32")


def test_a_max_pooling_whose_places_nobody_reads_gives_values_alone() -> None:
    rewriting = rewriting_of(Pooled(False), [None, 3, 65, 65])
    assert passed(rewriting, "drop_indices", torch.randn(3, 3, 65, 65)) == ["max_pool"]
    (call,) = calls(rewriting, "max_pool")
    assert call.function is max_pool_values and call.saved is None


def test_places_that_are_read_stay() -> None:
    rewriting = rewriting_of(Pooled(True), [None, 3, 8, 8])
    passed(rewriting, "drop_indices", torch.randn(2, 3, 8, 8))
    assert all(call.function is not max_pool_values for call in rewriting.calls)


def test_resnet18_allocates_no_more_than_is_alive(monkeypatch: Any) -> None:
    """With oneDNN's own order of weights: torch's form, which a measurement may prefer, writes results twice."""

    def packed(buffers: list[Any]) -> tuple[Any, torch.Tensor]:
        x, weight, _, _, settings, _ = buffers
        return convolution, prepacked(weight, settings, tuple(x.shape))

    monkeypatch.setattr(evaluation, "chosen", packed)
    paddle.seed(0)
    net = paddle.vision.models.resnet18()
    net.eval()
    x = paddle.randn([1, 3, 224, 224])
    outside = Outside()
    with paddle.no_grad():
        whole = recorded(net.forward, [InputSpec(x.shape)], outside)
    replay = Evaluation(whole.program, outside.tensors, outside.buffers)
    with paddle.no_grad():
        eager, static = allocated(lambda: net(x)), allocated(lambda: replay([x.data]))
    bound = stages(net, [x])[-1].peak
    assert bound <= static <= 1.05 * bound and static <= 0.45 * eager
