"""The second spellings of arguments: aliases, `out=`, sizes written out, and where a factory makes its tensor."""

import inspect

import numpy as np
import pytest
import torch

import sampan
from sampan.engine.operator import operators
from sampan.engine.spelling import ALIASES, factory, renamed, spelled


def tensor(values, **kind):
    return sampan.to_tensor(np.asarray(values, "float32"), **kind)


def test_aliases_stand_for_the_arguments_of_operators_and_composites() -> None:
    x = tensor([[1, -2], [3, -4]])
    assert sampan.abs(input=x).tolist() == [[1, 2], [3, 4]]
    assert sampan.add(x, other=x).tolist() == [[2, -4], [6, -8]]
    assert sampan.sum(input=x, dim=1).tolist() == [-1, -1]
    assert sampan.concat(tensors=[x, x], dim=1).shape == [2, 4]
    assert x.sum(dim=0, keepdim=True).shape == [1, 2]


def test_an_argument_given_under_both_names_is_refused() -> None:
    x = tensor([1.0])
    with pytest.raises(TypeError, match="axis: was given twice"):
        sampan.sum(x, axis=0, dim=0)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        sampan.abs(x, input=x)
    with pytest.raises(TypeError, match=r"abs: .*unexpected keyword argument 'foo'"):
        sampan.abs(x, foo=1)
    with pytest.raises(TypeError, match=r"add: .*missing 1 required positional argument: 'y'"):
        sampan.add(x)


def test_a_parameter_of_that_very_name_is_never_an_alias() -> None:
    assert renamed(["input", "x"], {"input": 1}) == {"input": 1}
    for alias, names in ALIASES.items():
        assert alias not in names


def test_out_takes_the_result_and_its_place_on_the_tape() -> None:
    x = tensor([1.0, 2.0], stop_gradient=False)
    out = sampan.zeros([2])
    view = out.reshape([2, 1])
    assert sampan.multiply(x, x, out=out) is out
    assert view.flatten().tolist() == [1, 4]  # the same memory was written
    out.sum().backward()
    assert x.grad.tolist() == [2, 4]
    resized = sampan.zeros([5], dtype="int32")
    sampan.exp(tensor([0.0]), out=resized)
    assert resized.tolist() == [1.0] and resized.dtype == torch.float32
    values, indices = sampan.zeros([1]), sampan.zeros([1], dtype="int64")
    sampan.topk(tensor([3.0, 5.0]), 1, out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([5.0], [1])


def test_out_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="out: expected a Tensor, got list"):
        sampan.abs(tensor([1.0]), out=[1])
    with pytest.raises(TypeError, match="out: expected a tuple of 2 tensors"):
        sampan.topk(tensor([1.0]), 1, out=tensor([1.0]))


def test_sizes_may_be_written_out() -> None:
    x = sampan.arange(6)
    assert x.reshape(2, 3).shape == [2, 3]
    assert sampan.reshape(x, sampan.to_tensor(3), 2).shape == [3, 2]
    assert x.reshape(2, 3).permute(1, 0).shape == [3, 2]


def test_a_factory_takes_sizes_a_tensor_to_fill_and_the_wish_for_a_gradient() -> None:
    @factory()
    def ones(shape, dtype=None, name=None):
        return sampan.full(shape, 1.0, dtype)

    assert ones(2, 3).shape == ones([2, 3]).shape == ones(size=[2, 3]).shape == [2, 3]
    assert ones(2, "float64").dtype == torch.float64
    out = sampan.zeros([2])
    assert ones([2], out=out) is out and out.tolist() == [1, 1]
    assert not ones([2], requires_grad=True).stop_gradient
    assert ones([2], device="cpu").place.is_cpu_place()
    assert list(inspect.signature(ones).parameters)[-4:] == ["out", "device", "requires_grad", "pin_memory"]


def test_spelled_keeps_name_and_signature() -> None:
    @spelled(out=True)
    def softmax(x, axis=-1, name=None):
        return x.sum(axis)

    assert softmax.__name__ == "softmax"
    assert list(inspect.signature(softmax).parameters) == ["x", "axis", "name", "out"]
    assert softmax(input=tensor([[1, 2]]), dim=0).tolist() == [1, 2]


def test_every_declared_name_shows_what_it_takes() -> None:
    takes_out = [name for name, operator in operators.items() if operator.takes_out]
    assert len(takes_out) > 60
    for name in [*takes_out, "concat", "stack", "matmul", "take_along_axis"]:
        function = operators[name].call if name in operators else getattr(sampan, name)
        assert "out" in inspect.signature(function).parameters, name
