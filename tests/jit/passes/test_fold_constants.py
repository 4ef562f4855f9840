from typing import Any

import torch

import sampan as paddle
from sampan import nn

from .beside import passed, rewriting_of


class Folds(nn.Layer):
    weight: Any

    def __init__(self) -> None:
        super().__init__()
        self.weight = self.create_parameter([3, 4])

    def forward(self, x: Any) -> Any:
        scale = (self.weight.exp() * 2).sum(0)  # known
        shift = paddle.zeros([4]) + 1  # known
        noise = paddle.zeros([x.shape[0], 4])  # follows the input
        return x * scale + shift + noise


def test_what_is_known_is_computed_once() -> None:
    left = passed(rewriting_of(Folds(), [None, 4]), "fold_constants", torch.randn(5, 4))
    assert left[0] in ("multiply", "full", "zeros") and "exp" not in left and left.count("add") == 2
    assert "sum" not in left and len(left) == 4


def test_what_is_written_to_or_random_is_not_known() -> None:
    class Writes(nn.Layer):
        def forward(self, x: Any) -> Any:
            y = paddle.zeros([4])
            y.add_(x)
            return y + paddle.rand([4]) * 0

    rewriting = rewriting_of(Writes(), [4])
    before = len(rewriting.calls)
    assert len(passed(rewriting, "fold_constants", torch.randn(4))) == before
