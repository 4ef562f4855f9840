"""The summary: each parameter once, any inputs."""

import pytest

import sampan as paddle
from sampan import nn


def test_summary_counts_each_parameter_once(capsys):
    shared = nn.Linear(4, 4)
    net = nn.Sequential(nn.Linear(3, 4), shared, nn.ReLU(), shared)
    net[0].bias.trainable = False
    net.train()
    assert paddle.summary(net, (None, 3)) == {"total_params": 16 + 20, "trainable_params": 32}
    out = capsys.readouterr().out
    assert (
        "Linear (0)" in out and "[1, 3]" in out and "[1, 4]" in out and "Parameters: 36, trainable: 32" in out
    )
    assert net.training and not net[0]._forward_post_hooks
    assert paddle.Model(net).summary((2, 3))["total_params"] == 36


class Joined(nn.Layer):
    """Takes its inputs in one list or dictionary, as some networks do."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 2), nn.Linear(5, 2)

    def forward(self, inputs):
        one, two = inputs.values() if isinstance(inputs, dict) else inputs
        return {"sum": self.first(one) + self.second(two)}


def test_summary_of_other_inputs(capsys):
    one, two = paddle.ones([4, 3]), paddle.ones([4, 5])
    for given in ([one, two], (one, two), {"one": one, "two": two}):
        assert paddle.summary(Joined(), input=given)["total_params"] == 8 + 12
    assert "[4, 5]" in capsys.readouterr().out
    spec = paddle.static.InputSpec([None, 3], "float32")
    for sizes in (spec, [spec], [3], (1, 3), [(2, 3)], [[2, 3]]):
        assert paddle.summary(nn.Linear(3, 2), sizes)["total_params"] == 8
    with pytest.raises(ValueError, match="input_size"):
        paddle.summary(nn.Linear(3, 2), (0, 3))
