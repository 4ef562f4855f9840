from typing import Any

import torch

import sampan as paddle
from sampan import nn

from .beside import passed, rewriting_of


def test_a_linear_layer_of_sequences_is_one_call() -> None:
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    left = passed(rewriting_of(net, [None, None, 4]), "fuse_linear", torch.randn(3, 5, 4))
    assert left == ["linear", "tanh", "linear"]


def test_another_sum_stays() -> None:
    class Other(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.shift = nn.Linear(4, 6, bias_attr=False), paddle.randn([5, 6])

        def forward(self, x: Any) -> Any:
            return self.a(x) + self.shift

    left = passed(rewriting_of(Other(), [None, 5, 4]), "fuse_linear", torch.randn(3, 5, 4))
    assert "linear" not in left and "mm" in left
