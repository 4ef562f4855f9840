"""Functions as Programs for inputs of any size."""

from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.jit.program import Ref
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.whole import Refused, Whole, evaluating, filled_in, flat, recorded, samples
from sampan.ops.regularization import masked


def whole(function: Any, *specs: Any) -> Whole:
    with paddle.no_grad():
        return recorded(function, list(specs), Outside())


def test_numbers_follow_the_inputs() -> None:
    made = whole(lambda x: x.reshape([x.shape[0] * x.shape[1], 4]), InputSpec([None, None, 4], name="x"))
    assert "x0.shape[0] * x0.shape[1]" in str(made.program) and not made.branched
    assert made.takes == {"x": Ref("x", 0)} and made.specs[0].name == "x" and made.tied == []


def test_lengths_that_must_agree_are_found() -> None:
    made = whole(lambda x, y: x + y, InputSpec([None, 4]), InputSpec([None, 4]))
    assert [[(a.input, a.axis) for a in group] for group in made.tied] == [[(0, 0), (1, 0)]]
    assert whole(lambda x, y: x @ y, InputSpec([None, 4]), InputSpec([4, None])).tied == []


def test_names_nested_arguments_and_constants() -> None:
    made = whole(
        lambda xs, k=2, *, flag=True: xs["a"] * k + xs["b"], {"a": InputSpec([2]), "b": InputSpec([2])}, 3
    )
    assert made.takes == {"xs": {"a": Ref("x", 0), "b": Ref("x", 1)}, "k": 3}
    assert [spec.name for spec in made.specs] == ["xs", "xs_1"]
    tensors = samples(made.specs, {}, 0)
    assert (
        filled_in(made.takes, tensors)["xs"]["b"] is tensors[1]
        and len(flat([tensors, {"a": tensors[0]}])) == 3
    )


def test_both_ways_of_an_if_are_recorded() -> None:
    made = whole(lambda x: x * 2 if x.sum() > 0 else x + 1, InputSpec([None]))
    names = {way.calls[-1].name for way in (made.program, *made.others)}
    assert made.branched and names == {"multiply", "add"}


def test_what_is_refused_whatever_the_size() -> None:
    with pytest.raises(Refused, match=r"test_whole\.py:\d+: item\(\) of a Tensor"):
        whole(lambda x: x * x.max().item(), InputSpec([None]))


def test_a_layer_evaluates_within_and_is_as_before_after_it() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2))
    net[1].eval()
    with evaluating(net):
        assert not net[0].training and not paddle.is_grad_enabled()
    assert net[0].training and not net[1].training


def test_constants_that_a_function_makes_anew_in_each_run_are_one() -> None:
    def function(x: Any) -> Any:
        return masked(x, torch.from_numpy(np.array([1.0, 0.0], "float32"))) + x[:, paddle.to_tensor([1, 0])]

    outside = Outside(by_content=True)
    made = recorded(function, [InputSpec([None, 2])], outside)
    assert [call.name for call in made.program.calls] == ["masked", "to", "getitem", "add"]
    assert [buffer.tolist() for buffer in outside.buffers] == [[1.0, 0.0], [1, 0]]
