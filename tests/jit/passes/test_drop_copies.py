from typing import Any

import torch

from sampan import nn

from .beside import passed, rewriting_of


def test_dropout_that_evaluates_leaves_no_copy() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU(), nn.Dropout(0.5))
    left = passed(rewriting_of(net, [None, 4]), "drop_copies", torch.randn(3, 4))
    assert left == ["affine", "relu", "assign"]  # the last one is returned: the caller may write to it


def test_copies_stay_where_something_is_written() -> None:
    class Writes(nn.Layer):
        def forward(self, x: Any) -> Any:
            y = x.clone()
            y[0] = 0.0
            return x + y

    assert "assign" in passed(rewriting_of(Writes(), [4]), "drop_copies", torch.randn(4))
