from typing import Any

import torch

import sampan as paddle
from sampan import nn

from .beside import passed, rewriting_of


class Twice(nn.Layer):
    def forward(self, x: Any) -> Any:
        return (x.exp() * 2) + (x.exp() * 2) + x.exp() * 3 + paddle.rand([1]) * 0 + paddle.rand([1]) * 0


def test_equal_calls_are_one_and_random_ones_are_not() -> None:
    left = passed(rewriting_of(Twice(), [4]), "merge_equal_calls", torch.randn(4))
    assert left.count("exp") == 1 and left.count("multiply") == 4
    assert sum(name in ("rand", "uniform") for name in left) == 2


def test_two_results_keep_memory_of_their_own() -> None:
    class Both(nn.Layer):
        def forward(self, x: Any) -> Any:
            return [x.exp(), x.exp()]

    rewriting = rewriting_of(Both(), [4])
    from sampan.jit.passes import PASSES

    PASSES["merge_equal_calls"](rewriting)
    assert len(rewriting.calls) == 2
