"""Bad input to Tensors and operators: the kind of error, the operator and what it was given; nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.apply import AxisError
from sampan.engine.operator import operator, operators

f, g, i = paddle.ones([2, 3]), paddle.ones([2, 4]), paddle.arange(6).reshape([2, 3])
SHAPES = r"float32\[2, 3\].*float32\[2, 4\]"

CASES = [
    # shapes
    ("add", lambda: f + g, ValueError, SHAPES),
    ("multiply", lambda: paddle.multiply(f, g), ValueError, SHAPES),
    ("maximum", lambda: paddle.maximum(f, g), ValueError, SHAPES),
    ("equal", lambda: f == g, ValueError, SHAPES),
    ("where", lambda: paddle.where(f > 0, f, g), ValueError, SHAPES),
    ("matmul", lambda: f @ g, ValueError, SHAPES),
    ("matmul", lambda: paddle.ones([2, 3, 4]) @ paddle.ones([2, 3, 4]), ValueError, r"\[2, 3, 4\]"),
    ("matmul", lambda: paddle.to_tensor(1.0) @ f, ValueError, r"at least one axis each, got shapes \[\] and \[2, 3\]"),
    ("bmm", lambda: paddle.bmm(f, f), ValueError, r"\[b, n, k\] and \[b, k, m\], got \[2, 3\]"),
    ("dot", lambda: paddle.dot(f, g), ValueError, r"of one shape, got \[2, 3\] and \[2, 4\]"),
    ("reshape", lambda: f.reshape([4, -1]), ValueError, r"float32\[2, 3\], shape=\[4, -1\]"),
    ("reshape", lambda: f.reshape([-1, -1]), ValueError, "only one dimension can be inferred"),
    ("reshape", lambda: f.reshape([2, 3, 0]), ValueError, "shape="),
    ("expand", lambda: f.expand([2, 4]), ValueError, r"\[2, 4\]"),
    ("concat", lambda: paddle.concat([f, g]), ValueError, "Expected size 3 but got size 4"),
    ("stack", lambda: paddle.stack([f, g]), ValueError, r"one shape, got \[\[2, 3\], \[2, 4\]\]"),
    ("split", lambda: paddle.split(f, [1, 2]), ValueError, r"sizes \[1, 2\] do not add up to 2"),
    ("split", lambda: paddle.split(f, 4), ValueError, "4 equal parts cannot be cut from an axis of length 2"),
    ("split", lambda: paddle.split(f, 0), ValueError, "0 equal parts"),
    ("t", lambda: paddle.ones([1, 1, 1]).t(), ValueError, r"at most 2 axes, got shape \[1, 1, 1\]"),
    ("transpose", lambda: f.transpose([0, 0]), ValueError, r"perm \[0, 0\] is not a permutation of 2 axes"),
    ("transpose", lambda: f.transpose([1]), ValueError, "not a permutation"),
    ("flatten", lambda: f.flatten(1, 0), ValueError, "start_axis 1 comes after stop_axis 0"),
    ("max", lambda: paddle.zeros([0, 3]).max(), ValueError, r"float32\[0, 3\]"),
    ("argmax", lambda: paddle.zeros([0]).argmax(), ValueError, r"float32\[0\]"),
    ("zeros: shape", lambda: paddle.zeros([2, -1]), ValueError, r"lengths of 0 or more, got \[2, -1\]"),
    ("rand: shape", lambda: paddle.rand([-2]), ValueError, "lengths of 0 or more"),
    ("arange", lambda: paddle.arange(0, 5, 0), ValueError, "step must not be 0"),
    ("linspace", lambda: paddle.linspace(0, 1, -1), ValueError, "num must be at least 0, got -1"),
    ("randint", lambda: paddle.randint(3, 3), ValueError, "low < high"),
    # axes: an AxisError is both an IndexError and a ValueError
    *[
        (name, call, AxisError, r"axis (2|-3)|expected to be in range of \[-2, 1\]")
        for name, call in (
            ("sum", lambda: f.sum(axis=2)), ("mean", lambda: f.mean(axis=-3)), ("max", lambda: f.max(axis=2)),
            ("all", lambda: (f > 0).all(axis=2)), ("logsumexp", lambda: f.logsumexp(axis=2)), ("cumsum", lambda: f.cumsum(axis=2)),
            ("argmax", lambda: f.argmax(axis=2)), ("squeeze", lambda: f.squeeze(2)), ("flip", lambda: f.flip(2)),
            ("concat", lambda: paddle.concat([f, f], axis=2)), ("split", lambda: paddle.split(f, 2, axis=2)),
            ("unbind", lambda: paddle.unbind(f, 2)), ("flatten", lambda: f.flatten(2)),
            ("softmax", lambda: paddle.nn.functional.softmax(f, axis=2)), ("transpose", lambda: f.transpose([0, 2])),
            ("swapaxes", lambda: f.swapaxes(0, 2)), ("index_select", lambda: f.index_select(paddle.to_tensor([0]), 2)),
            ("argsort", lambda: f.argsort(axis=2)), ("roll", lambda: f.roll(1, axis=2)), ("tril|moveaxis", lambda: f.moveaxis(0, 2)),
        )
    ],
    ("stack", lambda: paddle.stack([f, f], axis=3), AxisError, "axis 3 is outside an array of 3 axes"),
    ("unsqueeze", lambda: f.unsqueeze(3), AxisError, "axis 3"),
    ("sum", lambda: f.sum(axis=[0, 0]), ValueError, r"axis \[0, 0\] names one axis twice"),
    ("getitem", lambda: f[2], IndexError, "index 2 is out of bounds"),
    # dtypes and kinds
    ("sum", lambda: f.sum(axis=1.0), TypeError, "axis: expected an int, a list of ints or None, got 1.0"),
    ("sum", lambda: f.sum(axis="a"), TypeError, "got 'a'"),
    ("reshape", lambda: f.reshape([2.0, 3]), TypeError, r"shape: expected integers, got \[2.0, 3\]"),
    ("zeros: shape", lambda: paddle.zeros([2.5]), TypeError, r"expected integers, got \[2.5\]"),
    ("softmax", lambda: paddle.nn.functional.softmax(i), TypeError, r"int64\[2, 3\]"),
    ("bitwise_and", lambda: f & f, TypeError, r"float32\[2, 3\]"),
    ("bitwise_not", lambda: ~f, TypeError, r"float32\[2, 3\]"),
    ("matmul", lambda: f @ f.astype("float64").T, ValueError, "float64"),
    ("concat", lambda: paddle.concat([f, i]), TypeError, r"several dtypes: float32, int64"),
    ("concat: x", lambda: paddle.concat(f), TypeError, "expected a non-empty list of tensors, got Tensor"),
    ("concat: x", lambda: paddle.concat([]), TypeError, "non-empty list"),
    ("pow", lambda: i**-1, ValueError, "y=-1"),
    ("add", lambda: f + "a", TypeError, "y='a'"),
    ("add", lambda: f + None, TypeError, "y=None"),
    ("add", lambda: f + [1.0, 2.0, 3.0], TypeError, r"y=\[1.0, 2.0, 3.0\]"),
    ("exp", lambda: paddle.exp(3.0), TypeError, "x=3.0"),
    ("astype", lambda: f.astype("floaty"), TypeError, "got 'floaty'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "call", "error", "words"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_bad_input_says_who_refused_what(name: str, call, error, words: str) -> None:
    before = [t.numpy().copy() for t in (f, g, i)]
    with pytest.raises(error, match=rf"(?s)^({name}): .*({words})"):
        call()
    for tensor, was in zip((f, g, i), before, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), was)
        assert tensor.inplace_version == 0 and tensor.is_leaf


@pytest.mark.parametrize("name", sorted(n for n, o in operators.items() if not o.variadic))
def test_every_operator_names_itself(name: str) -> None:
    call = operators[name].call
    with pytest.raises((TypeError, ValueError), match=name):
        call(f, nonsense=1)
    with pytest.raises((TypeError, ValueError)) as caught:
        call(*[object()] * max(len(operators[name].parameters) - 1, 1))
    assert "object" in str(caught.value)


def test_long_values_are_shortened() -> None:
    with pytest.raises(ValueError, match=r"reshape") as caught:
        f.reshape(list(range(500)))
    assert len(str(caught.value)) < 400


def test_running_out_of_memory_is_no_value_error() -> None:
    with pytest.raises(MemoryError, match="add"):
        _ = paddle.ones([1 << 24, 1]) + paddle.ones([1, 1 << 24])  # 1 PB


def test_a_derivative_that_asks_for_an_unknown_name_is_refused() -> None:
    with pytest.raises(TypeError, match="operator wrong: a derivative asks for half; expected parameters of"):

        @operator(lambda g, half: g * half)
        def wrong(x):
            return x / 2

    assert "wrong" not in operators


def test_a_missing_gradient_is_named() -> None:
    @operator(lambda g, y: g * y)
    def half_done(x, y):
        return x * y

    try:
        x, y = (paddle.to_tensor(2.0, stop_gradient=False) for _ in range(2))
        with pytest.raises(NotImplementedError, match="half_done has no gradient for its argument 'y'"):
            half_done(x, y).backward()
        assert x.grad is None and y.grad is None
        half_done(x, paddle.to_tensor(3.0)).backward()
        assert float(x.grad) == 3.0
    finally:
        del operators["half_done"]


def test_a_name_that_a_tensor_has_already_is_refused() -> None:
    from sampan.engine.operator import as_method

    with pytest.raises(TypeError, match=r"Tensor\.shape is already defined"):
        as_method(lambda x: x, "shape")


def test_torch_itself_is_left_as_it_was() -> None:
    with pytest.raises(ValueError, match="add"):
        _ = f + g
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    with pytest.raises(RuntimeError, match="size of tensor"):
        _ = f.data + g.data


@pytest.mark.parametrize("kind", [TypeError, ValueError, RuntimeError, AssertionError])
def test_an_operand_of_a_wrong_kind_is_refused_in_every_class_that_paddle_uses(kind) -> None:
    with pytest.raises(kind, match="relu"):
        paddle.nn.functional.relu([1.0])
    with pytest.raises(kind, match="softmax"):
        paddle.nn.functional.softmax(i)


@pytest.mark.parametrize("kind", [ValueError, AssertionError])
def test_a_value_is_refused_where_paddle_asserts(kind) -> None:
    with pytest.raises(kind, match="prelu"):
        paddle.nn.functional.prelu(f, paddle.ones([7]))
