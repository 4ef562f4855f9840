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


def test_a_state_with_the_place_of_each_part():
    """In one process all are whole; tests/distributed/auto_parallel/test_sharded_weight.py has parts."""
    network = nn.Sequential(Own(), nn.Linear(2, 3))
    found = network.sharded_state_dict("net.")
    assert [*found] == [f"net.{name}" for name in network.state_dict()]
    for name, tensor in network.state_dict().items():
        weight = found[f"net.{name}"]
        assert weight.key == f"net.{name}" and weight.local_tensor is tensor
        assert weight.global_shape == weight.local_shape == tuple(tensor.shape)
        assert weight.global_offset == (0,) * tensor.ndim


def test_a_layer_that_cuts_its_own_is_asked():
    class Half(nn.Linear):
        def sharded_state_dict(self, structured_name_prefix=""):
            return {f"{structured_name_prefix}half": self.weight}

    found = nn.LayerList([Half(2, 2), nn.Linear(2, 2)]).sharded_state_dict()
    assert [*found] == ["0.half", "1.weight", "1.bias"]


def test_a_hook_after_backward_sees_the_gradient():
    layer, seen = nn.Linear(2, 1, bias_attr=False), []
    layer.weight._register_backward_hook(lambda: seen.append(layer.weight.grad.tolist()))
    for _ in range(2):
        layer(paddle.ones([1, 2])).sum().backward()
    assert seen == [[[1], [1]], [[2], [2]]]
    assert sampan.distributed.is_available()
