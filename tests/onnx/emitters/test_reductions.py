"""Reductions and orders in ONNX beside the operators themselves."""

import pytest

import sampan as paddle
import sampan.nn.functional as F
from tests.onnx.exported import function_agrees


@pytest.mark.parametrize("opset", [17, 18])
def test_reductions(tmp_path, opset):
    def computed(x):
        yield from (x.mean(), x.mean(1), x.sum(1), x.sum([1, 2]), x.max(-1), x.min([1, 2], keepdim=True))
        yield from (x.prod(1), (x > 0).any(1), (x > 0).all(), x.logsumexp(-1), x.std(), x.var(1))
        yield from (x.cumsum(1), x.norm(), x.norm(1, 1), x.norm(float("inf"), 1), x.norm(3, 1))
        yield from (x.argmax(-1), x.argmin(1, keepdim=True), x.argmax(), paddle.count_nonzero(x, 1))

    function_agrees(tmp_path, lambda x: list(computed(x)), opset=opset)


def test_orders(tmp_path):
    def computed(x):
        return paddle.topk(x, 2), x.topk(3, 1, largest=False), x.sort(-1), x.argsort(-1, descending=True)

    function_agrees(tmp_path, computed)


def test_cross_entropy(tmp_path):
    function_agrees(tmp_path, lambda x: F.cross_entropy(x[:, 0], x[:, 1].argmax(-1)))
