"""The dtype of a Tensor and the dtype of its buffer. What PaddlePaddle answers is recorded in tests/parity ("paddle.dtype")."""

import copy
import pickle

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.dtype import DTYPES, NAMES, DataType, as_dtype, name_of

EVERY = list(NAMES)


@pytest.mark.parametrize("name", EVERY)
def test_a_dtype_equals_torchs_and_keys_of_either_find_the_other(name: str) -> None:
    kind, below = getattr(paddle, name), getattr(torch, name)
    assert kind == below and below == kind and hash(kind) == hash(below)
    assert {kind: 1}[below] == {below: 1}[kind] == 1 and kind in [below] and below in {kind}
    other = torch.int8 if name != "int8" else torch.int16
    assert kind != other and other != kind and kind not in (other, name, None)
    assert (as_dtype(kind), as_dtype(below), name_of(kind), name_of(below)) == (below, below, name, name)
    assert as_dtype(str(kind)) is below and DTYPES[below] is kind
    facts = ("is_complex", "is_floating_point", "is_signed", "itemsize")
    assert [getattr(kind, fact) for fact in facts] == [getattr(below, fact) for fact in facts]


def test_there_is_one_object_of_each() -> None:
    x = paddle.ones([2])
    assert x.dtype is paddle.float32 is DataType.FLOAT32 is paddle.dtype(10)
    assert copy.copy(x.dtype) is copy.deepcopy([x.dtype])[0] is pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert x.astype("bool").dtype is pickle.loads(pickle.dumps(paddle.bool)) is paddle.bool
    with pytest.raises(ValueError, match="no dtype has the number 99"):
        paddle.dtype(99)
    with pytest.raises(AttributeError):
        paddle.float32.other = 1


def test_a_buffer_of_a_dtype_that_paddle_does_not_have_is_named_too() -> None:
    tensor = paddle.Tensor(torch.zeros(2, dtype=torch.uint8).view(torch.float8_e8m0fnu))
    assert str(tensor.dtype) == "paddle.float8_e8m0fnu" and int(tensor.dtype) == 0
    assert tensor.dtype == torch.float8_e8m0fnu and "FLOAT8_E8M0FNU" not in paddle.dtype.__members__


def test_everything_that_has_a_dtype_gives_this_one() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    table = paddle.nn.Embedding(4, 2, sparse=True)
    table(paddle.to_tensor([1])).sum().backward()
    sparse = paddle.to_tensor([0.0, 1.0]).to_sparse_coo(1)
    seen = [x, x.grad, table.weight, table.weight.grad, sparse, sparse.values(), paddle.static.InputSpec([2])]
    assert {type(v.dtype) for v in seen} == {paddle.dtype} and {str(v.dtype) for v in seen} == {
        "paddle.float32"
    }


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_pullback_sees_either_kind(create_graph: bool) -> None:
    kinds = []

    class Squared(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            kinds.append(dy.dtype)
            return (dy * x * 2).astype(x.dtype)

    x = paddle.to_tensor([3.0], dtype="float64", stop_gradient=False)
    (found,) = paddle.grad(Squared.apply(x), x, create_graph=create_graph)
    assert found.tolist() == [6.0] and found.dtype == paddle.float64 and kinds == [paddle.float64]


def test_dtypes_as_arguments_in_every_spelling() -> None:
    spellings = [
        paddle.int32,
        torch.int32,
        np.int32,
        np.dtype("int32"),
        "int32",
        "paddle.int32",
        "torch.int32",
    ]
    for spelling in spellings:
        made = [
            paddle.zeros([2], spelling), paddle.ones([2]).astype(spelling), paddle.ones([2]).to(spelling),
            paddle.to_tensor([1, 2], dtype=spelling), paddle.cast(paddle.ones([2]), spelling),
            paddle.arange(2, dtype=spelling), paddle.full_like(paddle.ones([2]), 3, dtype=spelling),
            paddle.randint(0, 3, [2], dtype=spelling), paddle.ones([2]).sum(dtype=spelling),
        ]  # fmt: skip
        assert {m.dtype for m in made} == {paddle.int32}, spelling
    assert paddle.nn.Linear(2, 2).to(dtype=paddle.float64).weight.dtype == torch.float64


def test_errors_name_a_dtype_without_its_library() -> None:
    x = paddle.ones([2])
    with pytest.raises(TypeError, match="expected a bool condition, got float32"):
        paddle.where(x, x, x)
    with pytest.raises(TypeError, match="mask: expected bools, got int64"):
        paddle.masked_select(x, paddle.to_tensor([0, 1]))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_a_difference_with_bools_has_the_other_dtype(dtype: str) -> None:
    bools, values = np.array([True, False]), np.array([1, 2], dtype)
    x, y = paddle.to_tensor(bools), paddle.to_tensor(values)
    for found, expected in ((x - y, bools.astype(dtype) - values), (y - x, values - bools.astype(dtype))):
        assert found.numpy().dtype == dtype
        np.testing.assert_array_equal(found.numpy(), expected)
