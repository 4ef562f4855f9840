"""What programs of several processes call on a Layer."""

import sampan as paddle
import sampan.distributed
from sampan import nn


class Own(nn.Layer):
    def __init__(self):
        super().__init__()
        self._dtype = self._helper.get_default_dtype()
        self.weight = self.create_parameter([2, 2])
        self.inner = nn.BatchNorm1D(2)
        self.register_buffer("cache", paddle.ones([1]), persistable=False)


def test_parameters_and_buffers():
    layer = Own()
    assert layer._dtype == "float32"
    assert layer._helper.name == layer.full_name()
    found = layer._obtain_parameters_buffers()
    assert [*found] == ["weight", "inner.weight", "inner.bias", "inner._mean", "inner._variance"]
    assert found["weight"] is layer.weight
    more = {"first": layer.weight}
    assert [*layer._obtain_parameters_buffers(more, False, "own.")] == ["first", "own.weight"]


def test_a_hook_after_backward_sees_the_gradient():
    layer, seen = nn.Linear(2, 1, bias_attr=False), []
    layer.weight._register_backward_hook(lambda: seen.append(layer.weight.grad.tolist()))
    for _ in range(2):
        layer(paddle.ones([1, 2])).sum().backward()
    assert seen == [[[1], [1]], [[2], [2]]]
    assert sampan.distributed.is_available()
