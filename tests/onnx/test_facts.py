"""Dtypes and shapes of a Program's values."""

import torch
from sampan.static import InputSpec

import sampan as paddle
from sampan.jit.program import Ref
from sampan.onnx.export import recorded
from sampan.onnx.facts import facts
from tests.onnx.exported import Function


def test_lengths_that_follow_the_input_are_none_and_constants_have_their_content():
    def computed(x):
        return x.reshape([x.shape[0] * 2, 2]).astype("int64") + paddle.arange(2)

    _, loaded, outside = recorded(Function(computed), [InputSpec([None, 4])])
    known, fresh = facts(loaded, outside)
    assert known[Ref("x", 0)].shape == (None, 4) and known[Ref("x", 0)].buffer is None
    assert known[loaded.program.result].shape == (None, 2)
    assert known[loaded.program.result].dtype is torch.int64
    (same,) = (fact for fact in known.values() if fact.buffer is not None)
    assert same.buffer.tolist() == [0, 1]
    assert fresh[0].shape == [4, 4]
