"""The Tensor: making one, what it shares memory with, how it converts, copies, prints and compares."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sampan as paddle
from sampan.engine.tensor import Tensor, is_tensor
from sampan.nn import Parameter

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
REAL = ["float16", "bfloat16", "float32", "float64"]


def name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("paddle.")


# --- making ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling", ["float64", "paddle.float64", "double", np.float64, np.dtype("float64"), torch.float64]
)
def test_spellings_of_a_dtype(spelling) -> None:
    assert name(paddle.to_tensor([1], dtype=spelling)) == "float64"


def test_python_types_and_wrong_spellings() -> None:
    assert [name(paddle.zeros([1], d)) for d in (float, int, bool, complex)] == [
        "float64",
        "int64",
        "bool",
        "complex128",
    ]
    for wrong in ("floaty", 3, [], None.__class__, np.dtype("datetime64[s]")):
        with pytest.raises(TypeError, match="dtype: expected one of uint8"):
            paddle.zeros([1], wrong)


def test_creation_as_numpy_has_it() -> None:
    pairs = [
        (paddle.zeros([2, 0]), np.zeros((2, 0))),
        (paddle.ones(3), np.ones(3)),
        (paddle.full([2], 7), np.full(2, 7.0)),
        (paddle.arange(5), np.arange(5)),
        (paddle.arange(5, 0), np.arange(5, 0)),
        (paddle.arange(5, 0, -2), np.arange(5, 0, -2)),
        (paddle.arange(0, 1, 0.25), np.arange(0, 1, 0.25)),
        (paddle.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (paddle.linspace(0, 1, 0), np.linspace(0, 1, 0)),
        (paddle.linspace(2, 1, 1), np.linspace(2, 1, 1)),
        (paddle.eye(2, 3), np.eye(2, 3)),
        (paddle.eye(3, 0), np.eye(3, 0)),
        (paddle.full_like(paddle.to_tensor([1, 2]), 1.5), [1, 1]),
        (paddle.zeros_like(paddle.to_tensor([1, 2]), dtype="bool"), [False, False]),
        (paddle.diag(paddle.to_tensor([1.0, 2.0]), padding_value=9), [[1, 9], [9, 2]]),
        *zip(
            paddle.meshgrid(paddle.arange(2), paddle.arange(3)),
            np.meshgrid(np.arange(2), np.arange(3), indexing="ij"),
            strict=True,
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours.numpy(), theirs)
    assert (
        name(paddle.full([1], 1)) == "float32" and name(paddle.full([1], True)) == "bool"
    )  # as PaddlePaddle 3.3.1
    assert name(paddle.arange(3)) == "int64" and name(paddle.arange(3.0)) == "float32"


def test_random_draws_follow_the_seed() -> None:
    def draws() -> list:
        paddle.seed(7)
        x = [
            paddle.rand([3]),
            paddle.randn([3]),
            paddle.randint(0, 9, [3]),
            paddle.randperm(5),
            paddle.normal(1.0, 2.0, [3]),
        ]
        x += [
            paddle.uniform([3]),
            paddle.bernoulli(paddle.full([5], 0.5)),
            paddle.multinomial(paddle.ones([4]), 2),
        ]
        return [t.tolist() for t in x]

    assert draws() == draws()
    state = paddle.get_rng_state()
    first = paddle.rand([4]).tolist()
    paddle.set_rng_state(state)
    assert paddle.rand([4]).tolist() == first
    assert paddle.uniform([3], seed=5).tolist() == paddle.uniform([3], seed=5).tolist()
    many = paddle.randn([20_000]).numpy()
    assert abs(many.mean()) < 0.03 and abs(many.std() - 1) < 0.03
    assert sorted(paddle.randperm(9).tolist()) == list(range(9))


# --- what it is -----------------------------------------------------------------------------------------------


def test_the_facts_of_a_tensor() -> None:
    x = paddle.zeros([2, 3], "float32")
    assert (x.shape, x.ndim, x.dim(), x.size, x.strides, x.element_size()) == ([2, 3], 2, 2, 6, [3, 1], 4)
    assert int(x.numel()) == 6 and int(x.rank()) == 2 and len(x) == 2
    assert x.is_leaf and x.grad is None and x.grad_fn is None and is_tensor(x) and not is_tensor(x.data)
    assert x.place.is_cpu_place() and repr(x.place) == "Place(cpu)" and x.place == paddle.CPUPlace()
    assert x.T.shape == [3, 2] and not x.T.is_contiguous() and x.T.contiguous().is_contiguous()
    assert x.contiguous() is x and x.mT.strides == [1, 3]
    with pytest.raises(ValueError, match="mT: expected at least 2 axes"):
        _ = paddle.zeros([2]).mT
    assert x.name == x.name != paddle.zeros([1]).name
    with pytest.raises(TypeError, match="0-d"):
        len(paddle.to_tensor(1.0))


def test_places() -> None:
    assert paddle.set_device("cpu").is_cpu_place() and paddle.get_device() == "cpu"
    assert hash(paddle.CUDAPlace(1)) == hash(paddle.CUDAPlace(1)) and paddle.CUDAPlace(1) != paddle.CUDAPlace(
        0
    )
    assert repr(paddle.CUDAPlace(1)) == "Place(gpu:1)"
    for wrong in ("tpu", "gpu:x", "cpu:", 3):
        with pytest.raises(ValueError, match="place: expected 'cpu'"):
            paddle.to_tensor(1.0, place=wrong)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"'gpu:0', but 0 GPUs"):
            paddle.set_device("gpu:0")
    assert paddle.to_tensor(1.0, place=paddle.CPUPlace()).place == paddle.CPUPlace()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_copies_between_devices_are_on_the_tape() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x.cuda()
    assert y.place.is_gpu_place() and y.cpu().tolist() == [1.0, 2.0]
    (y * y).sum().cpu().backward()
    assert x.grad.place.is_cpu_place() and x.grad.tolist() == [2.0, 4.0]


# --- memory ---------------------------------------------------------------------------------------------------


def test_buffers_share_memory_both_ways() -> None:
    buffer = torch.zeros(3)
    x = Tensor(buffer)
    assert x.data is buffer
    array = x.data.numpy()
    array[0] = 1.0
    buffer[1] = 2.0
    x[2] = 3.0
    assert x.tolist() == array.tolist() == buffer.tolist() == [1.0, 2.0, 3.0]
    asked = torch.zeros(1, requires_grad=True)
    assert not Tensor(asked).data.requires_grad and Tensor(asked).data_ptr() == asked.data_ptr()


def test_dlpack_both_ways() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    theirs, array = torch.from_dlpack(x), np.from_dlpack(x)
    theirs[0, 0] = 9.0
    assert x.tolist()[0][0] == array[0, 0] == 9.0
    source = np.arange(6.0).reshape(2, 3)
    ours = paddle.interop.from_dlpack(source)
    ours[1, 2] = -1.0
    assert source[1, 2] == -1.0
    back = paddle.interop.from_dlpack(paddle.interop.to_dlpack(ours))
    assert back.data_ptr() == ours.data_ptr()


def test_detach_shares_and_clone_does_not() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    shared, copied = x.detach(), x.clone()
    assert shared.stop_gradient and shared.data_ptr() == x.data_ptr()
    assert not copied.stop_gradient and not copied.is_leaf and copied.data_ptr() != x.data_ptr()
    y = x * 2.0
    assert y.detach_() is y and y.is_leaf and y.stop_gradient


def test_numpy_protocols() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    for copied in (x.numpy(), np.array(x), np.asarray(x), np.array(x, copy=None), np.asarray(x, copy=True)):
        copied[:] = 9.0
        assert x.tolist() == [1.0, 2.0] and copied.flags.owndata
    assert np.asarray(x, dtype="float64").dtype == np.float64
    for dtype in (None, "float32", "float64"):  # NumPy's rule: an error where a copy cannot be avoided
        with pytest.raises(ValueError, match="copy"):
            np.array(x, dtype=dtype, copy=False)
    for view in (x.detach(), x[None], x.reshape([2, 1])):
        assert not np.shares_memory(view.numpy(), x.data.numpy())
    assert x[::-1].numpy().flags.c_contiguous and paddle.ones([2, 3]).T.numpy().flags.c_contiguous
    for result in (
        np.float32(2) * x,
        np.float64(2) * x,
        x * np.float64(2),
        np.array([2.0, 2.0], "float32") * x,
    ):
        assert isinstance(result, Tensor) and name(result) == "float32" and result.tolist() == [2.0, 4.0]
    assert (x + np.array([1.0, 2.0], "float32")[::-1]).tolist() == [3.0, 3.0]
    assert (x + np.broadcast_to(np.float32(1), (2,))).tolist() == [2.0, 3.0]
    np.testing.assert_allclose(np.sin(x), np.sin([1.0, 2.0]), rtol=1e-6)
    bits = paddle.to_tensor([1.5, -2.0], dtype="bfloat16").numpy()  # NumPy has no such dtype
    assert bits.dtype == np.uint16 and bits.tolist() == [0x3FC0, 0xC000]
    assert paddle.to_tensor(bits).dtype is paddle.bfloat16 and paddle.to_tensor(bits).tolist() == [1.5, -2.0]


# --- converting and copying -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", [d for d in DTYPES if not d.startswith("complex")])
def test_astype_as_numpy_casts(source: str, target: str) -> None:
    values = np.array([0, 1, 2.5]).astype(source)
    np.testing.assert_array_equal(paddle.to_tensor(values).astype(target).numpy(), values.astype(target))


def test_to_takes_dtypes_places_and_tensors() -> None:
    x = paddle.to_tensor([1.0], stop_gradient=False)
    assert x.to("cpu") is x and x.cpu() is x and x.astype("float32") is x and x.to("float32") is not x
    assert name(x.to("float64")) == name(x.to("cpu", "float64")) == name(x.to(dtype="float64")) == "float64"
    assert name(x.to(paddle.to_tensor([1]))) == "int64"
    x.to("float64").sum().backward()
    assert name(x.grad) == "float32"
    with pytest.raises(TypeError, match="dtype: expected"):
        x.to("nowhere")


def test_single_values() -> None:
    x = paddle.to_tensor([[1, 2], [3, 4]])
    assert x.item(3) == 4 and x.item(1, 0) == 3 and float(paddle.to_tensor([2.5])) == 2.5
    assert int(paddle.to_tensor(2.9)) == 2 and bool(paddle.to_tensor([0.0])) is False
    assert list(range(5))[paddle.to_tensor(3)] == 3 and f"{paddle.to_tensor(1.23456):.2f}" == "1.23"
    with pytest.raises(ValueError, match=r"item: expected a tensor with one value, got shape \[2, 2\]"):
        x.item()
    with pytest.raises(ValueError, match=r"truth value.*\[2, 2\].*any\(\) or all\(\)"):
        bool(x)
    with pytest.raises(TypeError, match="only an integer tensor is an index, got float32"):
        _ = [1, 2][paddle.to_tensor(1.0)]
    with pytest.raises(TypeError, match="0-d"):
        iter(paddle.to_tensor(1.0))
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pickle_and_copies_keep_everything(dtype: str) -> None:
    x = paddle.to_tensor([[0, 1], [2, 3]]).astype(dtype)
    x.stop_gradient = False
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert (
            made is not x and made.dtype is x.dtype and made.tolist() == x.tolist() and not made.stop_gradient
        )
    assert copy.deepcopy(x).data_ptr() != x.data_ptr()
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1]


def test_copies_of_parameters_and_of_what_is_no_leaf() -> None:
    p = Parameter(torch.ones(2), learning_rate=0.5, need_clip=False)
    for made in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(made) is Parameter and made.tolist() == [1.0, 1.0] and not made.need_clip
        assert made.optimize_attr == {"learning_rate": 0.5} and made.trainable
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(p * 2.0)


def test_set_value_keeps_the_memory() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    memory = x.data_ptr()
    x.set_value([3.0, 4.0])
    x.set_value(np.array([5.0, 6.0]))
    assert x.tolist() == [5.0, 6.0] and x.data_ptr() == memory and x.inplace_version == 2 and x.is_leaf
    with pytest.raises(ValueError, match=r"set_value: expected shape \[2\], got \[3\]"):
        x.set_value(np.zeros(3))
    with pytest.raises(TypeError, match="set_value: expected int64, got float64"):
        paddle.to_tensor([1, 2]).set_value(np.array([1.5, 2.5]))
    assert x.tolist() == [5.0, 6.0]


def test_a_shape_shows_as_paddle_size() -> None:
    shape = paddle.ones([2, 3]).shape
    assert repr(shape) == str(shape) == f"{shape}" == "paddle.Size([2, 3])" and shape == [2, 3] == [*shape]
    assert str([4] + shape) == "paddle.Size([4, 2, 3])"
    with pytest.raises(ValueError, match=r"shape \[2, 3\]"):  # messages stay short
        paddle.cartesian_prod([paddle.ones([2, 3])])


def test_the_gradient_can_be_set() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x.grad = paddle.to_tensor([10.0, 10.0])
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0] and x.gradient().tolist() == [12.0, 12.0]
    with pytest.raises(ValueError, match=r"grad: expected shape \[2\], got \[3\]"):
        x.grad = paddle.ones([3])
    with pytest.raises(TypeError, match="grad: expected a Tensor or None, got ndarray"):
        x.grad = np.ones(2)


# --- comparing and printing -----------------------------------------------------------------------------------


def test_equality_is_elementwise_and_identity_is_the_hash() -> None:
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 3.0])
    assert (x == y).tolist() == [True, False] and (x != y).tolist() == [False, True]
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert {x: "x", y: "y"}[x] == "x" and len({x, y, x}) == 2
    with pytest.raises(TypeError, match="equal: expected tensors and numbers, got Tensor and str"):
        _ = x == "a"


# --- promotion ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", *REAL, "complex64"])
def test_a_python_number_takes_the_tensors_dtype(dtype: str, op) -> None:
    x = paddle.to_tensor([1, 2]).astype(dtype)
    wider = "float32" if dtype in ("int32", "int64", "uint8") else dtype
    for number, expected in ((2, dtype), (2.5, wider)):
        assert name(op(x, number)) == name(op(number, x)) == expected


def test_promotion_between_tensors() -> None:
    order = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2}
    for a in REAL:
        for b in REAL:
            widest = (
                a if a == b else max((a, b), key=order.__getitem__) if order[a] != order[b] else "float32"
            )
            assert name(paddle.ones([1], a) + paddle.ones([1], b)) == widest
    # 3.3.1 refuses integers beside floats; here they take part as numbers do
    assert name(paddle.ones([1], "int64") * paddle.ones([1], "float16")) == "float16"
    assert name(paddle.ones([1], "bool") + paddle.ones([1], "int32")) == "int32"
    assert name(paddle.ones([], "float64") + paddle.ones([1], "float32")) == "float32"
    assert name(paddle.to_tensor([1]) / paddle.to_tensor([2])) == "float32"
    assert (
        name(paddle.to_tensor([True]) + 1) == "int64" and name(paddle.exp(paddle.to_tensor([1]))) == "float32"
    )


@settings(max_examples=60)
@given(st.data())
def test_broadcasting_as_numpy(data) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0))
    a, b = (np.random.default_rng(0).uniform(1, 2, s) for s in shapes.input_shapes)
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (a, b))
    result = x * y + x / y
    np.testing.assert_allclose(result.numpy(), a * b + a / b, rtol=1e-14)
    result.sum().backward()
    wide = np.broadcast_arrays(a, b)
    for leaf, local, shape in (
        (x, wide[1] + 1 / wide[1], a.shape),
        (y, wide[0] - wide[0] / wide[1] ** 2, b.shape),
    ):
        extra = local.ndim - len(shape)
        axes = (*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1))
        np.testing.assert_allclose(
            leaf.grad.numpy(), local.sum(axis=axes, keepdims=True).reshape(shape), rtol=1e-12
        )


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7.5, 2.0), (7.5, -2.0)])
def test_floor_division_and_remainder_as_python(a, b) -> None:
    x, y = paddle.to_tensor([a]), paddle.to_tensor([b])
    assert (x // y).tolist() == (x // b).tolist() == (a // y).tolist() == [a // b]
    assert (x % y).tolist() == (x % b).tolist() == (a % y).tolist() == [a % b]


def test_python_operators_from_either_side() -> None:
    x = paddle.to_tensor([1.0, 2.0, 4.0])
    assert (3 - x).tolist() == [2.0, 1.0, -1.0] and (4 / x).tolist() == [4.0, 2.0, 1.0]
    assert (2**x).tolist() == [2.0, 4.0, 16.0] and (-x).tolist() == [-1.0, -2.0, -4.0] and (+x) is x
    assert abs(-x).tolist() == x.tolist() and (x @ x).tolist() == 21.0
    assert (np.ones((1, 3), "float32") @ x).tolist() == [7.0]
    y = x
    y += 1
    assert x.tolist() == [1.0, 2.0, 4.0] and y is not x  # as in Paddle, += makes a new tensor


def test_size_is_a_number_and_a_function() -> None:
    x = paddle.zeros([2, 3])
    assert (x.size, x.size + 1, x.size(), x.size(-1)) == (6, 7, [2, 3], 3)


def test_what_paddle_calls_inside() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert x._grad_ivar() is None and not x.persistable
    called = []
    x._register_backward_hook(lambda: called.append(1))
    (x * 3).sum().backward()
    assert called == [1] and x._grad_ivar().tolist() == [3, 3] and not x.grad.stop_gradient
    x._set_grad_ivar(paddle.to_tensor([5.0, 6.0]))
    assert x.grad.tolist() == [5, 6]
    x._zero_grads()
    assert x.grad.tolist() == [0, 0]
    x._clear_gradient()
    y = paddle.zeros([2])
    x.detach()._share_buffer_to(y)
    assert x._is_shared_buffer_with(y) and y.tolist() == [1, 2] and not x._is_shared_buffer_with(x * 1)
    assert (x._numel(), x._is_initialized(), x._inplace_version()) == (2, True, 0)
    assert x._copy_to(paddle.CPUPlace(), True).tolist() == [1, 2]
    y.persistable = True
    assert y.persistable
    y.copy_(paddle.ones([3]))
    assert y.tolist() == [1, 1, 1]
    for wrong in (lambda: x.set_value(np.ones(3, "float32")), lambda: bool(x), lambda: len(paddle.ones([]))):
        with pytest.raises(AssertionError):
            wrong()


@pytest.mark.parametrize("make", [lambda: paddle.ones([2]), lambda: paddle.nn.Linear(2, 2).weight, lambda: paddle.ones([2]).to_sparse_coo(1)])  # fmt: skip
def test_attributes_of_a_programs_own(make) -> None:
    """As PaddlePaddle 3.3.1 has it: they stay with the object, also through a change in place, and are not copied."""
    x = make()
    x.tag, x.fast = 1, None
    assert (x.tag, x.fast, hasattr(make(), "tag")) == (1, None, False)
    x.scale_(2.0) if x.is_dense() and x.stop_gradient else None
    assert x.tag == 1 and not hasattr(x.detach(), "tag")
    assert not (hasattr(copy.deepcopy(x), "tag") or hasattr(x.clone(), "tag"))
    del x.tag
    with pytest.raises(AttributeError, match="tag"):
        x.tag  # noqa: B018
    for name in (
        "shape",
        "dtype",
        "ndim",
        "size",
        "place",
        "T",
        "grad_fn",
        "is_leaf",
        "strides",
        "inplace_version",
    ):
        if hasattr(type(x), name):
            with pytest.raises(AttributeError):
                setattr(x, name, 1)
