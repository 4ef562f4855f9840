"""The writer of graphs."""

import numpy as np
import pytest
import torch

from sampan.jit.program import Ref
from sampan.jit.symbolic import Axis, Length
from sampan.onnx.facts import Fact
from sampan.onnx.graph import Graph, Unsupported


def graph() -> Graph:
    pytest.importorskip("onnx")
    x = Ref("x", 0)
    made = Graph({x: Fact((None, 4), torch.float32)}, 17, {Ref("p", 0): ("w", torch.ones(2))})
    made.names[x] = "given"
    return made


def test_equal_constants_and_lengths_are_one():
    g = graph()
    assert g.ints([1, 2]) == g.ints([1, 2]) != g.ints([2, 1])
    assert g.number(1, torch.float32) != g.number(1, torch.int64)
    twice = Length(2, 1, (Axis(0, 0),), 1)
    assert g.length(twice) == g.length(twice)
    assert [node.op_type for node in g.nodes] == ["Shape", "Mul", "Add"]


def test_a_parameter_is_held_where_it_is_used_under_its_name():
    g = graph()
    assert g.name(Ref("p", 0)) == "w" and g.name(Ref("p", 0)) == "w"
    np.testing.assert_array_equal(g.constants["w"], [1, 1])


def test_one_length_that_follows_the_input_is_inferred():
    g, batch = graph(), Length(1, 1, (Axis(0, 0),), 0)
    assert g.lengths([batch, 4]) == [-1, 4]
    assert g.lengths([batch, 0]) == [batch, 0] and g.lengths([batch, batch]) == [batch, batch]


def test_what_has_no_form_is_refused():
    g = graph()
    with pytest.raises(Unsupported, match=r"shape \[None, 4\] is not known"):
        g.static(Ref("x", 0), "a pool")
    with pytest.raises(Unsupported, match="a value of type set"):
        g.name(set())
