"""Filled, counted and copied tensors against NumPy, and how a factory is told what to make."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import get_window

import sampan as paddle


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("arange", (5,), np.arange(5)),
        ("arange", (1.0, 2.0, 0.3), np.arange(1.0, 2.0, 0.3)),
        ("arange", (5, 0, -2), np.arange(5, 0, -2)),
        ("arange", (5, 0), np.arange(0)),
        ("range", (1, 4), np.array([1.0, 2.0, 3.0, 4.0])),
        ("range", (0.0, 1.0, 0.25), np.arange(0, 1.25, 0.25)),
        ("linspace", (0, 10, 5), np.linspace(0, 10, 5)),
        ("linspace", (0, 10, 0), np.zeros(0)),
        ("logspace", (0, 3, 4), np.logspace(0, 3, 4)),
        ("logspace", (0, 3, 4, 2.0), 2.0 ** np.arange(4)),
        ("eye", (2, 3), np.eye(2, 3)),
        ("tril_indices", (3, 4, -1), np.tril_indices(3, -1, 4)),
        ("triu_indices", (3,), np.triu_indices(3)),
    ],
)
def test_counted(name: str, args: tuple, expected: np.ndarray) -> None:
    found = getattr(paddle, name)(*args)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    floats = np.asarray(expected).dtype.kind == "f" and name != "arange"
    assert found.dtype == (paddle.float32 if floats or args == (1.0, 2.0, 0.3) else paddle.int64)


def test_dtypes_of_filled_tensors() -> None:
    for value, kind in ((3, "float32"), (True, "bool"), (1j, "complex128"), ("2.5", "float32")):
        assert paddle.full([2], value).dtype == getattr(paddle, kind)
    assert paddle.full([2], 2.7, "int64").tolist() == [2, 2]
    assert paddle.full_like(paddle.ones([2], "int32"), paddle.to_tensor(3)).tolist() == [3, 3]
    assert paddle.linspace(0, 10, 5, "int32").tolist() == [0, 2, 5, 7, 10]
    with pytest.raises(TypeError, match="fill_value"):
        paddle.full([2], [1])


@pytest.mark.parametrize("shape", [[2, 3], (2, 3), paddle.to_tensor([2, 3]), [paddle.to_tensor(2), 3]])
def test_shapes(shape) -> None:
    for name in ("zeros", "ones", "empty", "rand", "randn"):
        assert getattr(paddle, name)(shape).shape == [2, 3]
    assert paddle.full(shape, 1).shape == paddle.uniform(shape).shape == [2, 3]


def test_how_a_factory_makes() -> None:
    assert paddle.zeros(2, 3).shape == [2, 3] and paddle.full(3, 1).shape == [3]
    out = paddle.empty([2])
    assert paddle.ones([2], out=out) is out and out.tolist() == [1, 1]
    weight = paddle.zeros(size=[2], requires_grad=True, device="cpu")
    assert not weight.stop_gradient
    like = paddle.ones_like(input=weight, dtype="float64")
    assert like.dtype == paddle.float64 and like.stop_gradient


def test_new_tensors_of_a_tensor() -> None:
    x = paddle.ones([2], "int64")
    assert x.new_zeros([2, 3]).dtype == x.new_empty(4).dtype == paddle.int64
    assert x.new_ones(2, 3).shape == [2, 3]
    assert x.new_full((2,), 1.5, dtype="float32").tolist() == [1.5, 1.5]
    assert not x.new_zeros([1], dtype="float32", requires_grad=True).stop_gradient


def test_grids() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    for indexing in ("ij", "xy"):
        x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (a, b))
        found = paddle.meshgrid([x, y], indexing=indexing)
        for mine, theirs in zip(found, np.meshgrid(a, b, indexing=indexing), strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs)
        (found[0].sum() + 2.0 * found[1].sum()).backward()
        assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="indexing"):
        paddle.meshgrid(paddle.ones([2]), indexing="zz")


def test_copies() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    for copied in (paddle.clone(x), paddle.assign(x)):
        assert copied.data.data_ptr() != x.data.data_ptr()
        copied.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert paddle.assign([1.0, 2.0]).dtype == paddle.float64 and paddle.assign(True).shape == [1]
    into = paddle.zeros([2], "int64")
    assert paddle.assign(np.array([3, 4]), into) is into and into.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: paddle.zeros([-1]), ValueError, "0 or more"),
        (lambda: paddle.arange(0, 5, 0), ValueError, "step"),
        (lambda: paddle.linspace(0, 1, -1), ValueError, "num"),
        (lambda: paddle.eye(-1), TypeError, "num_rows"),
        (lambda: paddle.eye(2.0), TypeError, "num_rows"),
        (lambda: paddle.tril_indices(-1, 3), TypeError, "row"),
        (lambda: paddle.triu_indices(2, 3, 1.5), TypeError, "offset"),
    ],
)
def test_refusals(call, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_windows_against_scipy():
    for name, of_scipy, settings in (
        ("hann", "hann", ()), ("hamming", ("general_hamming", 0.54), ()), ("blackman", "blackman", ()),
        ("bartlett", "bartlett", ()), ("kaiser", ("kaiser", 12.0), (12.0,)),
    ):  # fmt: skip
        make = getattr(paddle, f"{name}_window")
        for periodic in (True, False):
            found = make(7, periodic, *settings, dtype="float64")
            expected = get_window(of_scipy, 7, fftbins=periodic)
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
        assert make(4).dtype is paddle.float32 and make(0).shape == [0]
        with pytest.raises(ValueError, match="window_length"):
            make(-1)
    assert not paddle.hann_window(3, requires_grad=True).stop_gradient
