"""What a ParamAttr decides about a parameter."""

import pytest

import sampan as paddle
from sampan import nn


def test_attr_decides_over_a_parameter():
    attr = paddle.ParamAttr(
        name="w",
        initializer=nn.initializer.Constant(5.0),
        learning_rate=0.5,
        trainable=False,
        need_clip=False,
    )
    layer = nn.Linear(2, 2, weight_attr=attr, bias_attr=False)
    assert layer.bias is None and [n for n, _ in layer.named_parameters()] == ["weight"]
    weight = layer.weight
    assert weight.name == "w" and weight.stop_gradient and not weight.need_clip
    assert weight.optimize_attr["learning_rate"] == 0.5 and weight.numpy().tolist() == [[5, 5], [5, 5]]
    assert layer(paddle.ones([1, 2])).numpy().tolist() == [[10, 10]]
    with pytest.raises(TypeError, match="attr: expected a ParamAttr"):
        nn.Linear(2, 2, weight_attr=3)
