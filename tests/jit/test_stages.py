"""A Program after each pass. Oracles: the layer called eagerly, shapes counted by hand."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument
from sampan.jit.evaluation import run
from sampan.jit.passes import PASSES
from sampan.jit.program import Ref
from sampan.jit.stages import stages


def network() -> nn.Layer:
    paddle.seed(0)
    return nn.Sequential(
        nn.Conv2D(1, 4, 3, padding=1),
        nn.BatchNorm2D(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(64, 3),
    )


def test_each_pass_has_its_program() -> None:
    net, x = network(), paddle.randn([2, 1, 4, 4])
    found = stages(net, [x])
    assert [stage.name for stage in found] == ["", *PASSES] and net.training
    names = {stage.name: [call.name for call in stage.program.calls] for stage in found}
    assert names[""] == ["convolve", "normalize_batch", "relu", "reshape", "assign", "affine"]
    assert names["drop_copies"] == ["convolve", "normalize_batch", "relu", "reshape", "affine"]
    assert names["fold_batch_norm"] == ["convolve", "relu", "reshape", "affine"]
    assert names["fuse_activation"] == ["convolution", "reshape", "affine"]
    first, last = found[0], found[-1]
    image, answer = (
        4 * 2 * 4 * 4 * 4,
        4 * 2 * 3,
    )  # bytes; the reshape is a view, the copy of the dropout is not
    assert (first.bytes, last.bytes) == (4 * image + answer, image + answer)
    assert (first.peak, last.peak) == (2 * image, image + answer)
    assert first.values[Ref("v", 0)].shape == (2, 4, 4, 4) and first.values[Ref("x", 0)].bytes == 128
    assert last.program.result in last.values and first.values[Ref("p", 0)].dtype == "float32"


def test_a_stage_is_not_changed_by_later_passes_and_answers_as_the_function() -> None:
    def function(x: Any) -> Any:
        return (x.exp() * 2 + x.exp()).tanh()

    x = paddle.randn([3, 4])
    found = stages(function, [x])
    counts = [len(stage.program.calls) for stage in found]
    once = 1 + list(PASSES).index("merge_equal_calls")  # from here on exp(x) is there once
    assert counts[:-1] == [5] * once + [4] * (len(PASSES) - once) and counts[-1] == 1  # one chain
    for stage in found:
        values = run({Ref("x", 0): x.data}, stage.program.calls, [x.data])
        np.testing.assert_array_equal(values[stage.program.result].numpy(), function(x).numpy())


def test_what_has_no_stages_is_refused() -> None:
    x = paddle.ones([2])
    with pytest.raises(InvalidArgument, match=r"passes: expected names of drop_copies.*got nothing"):
        stages(nn.ReLU(), [x], ["nothing"])
    with pytest.raises(InvalidArgument, match=r"test_stages.py:\d+: values of Tensors decide"):
        stages(lambda x: x * 2 if x.sum() > 0 else x, [x])
