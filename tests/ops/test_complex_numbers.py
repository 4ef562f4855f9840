"""Complex numbers: values against NumPy, gradients of both orders against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle

Z = np.array([[1 + 2j, -0.5 + 0.3j], [0.2 - 1.1j, -1.5 - 0.4j]])
W = np.array([[0.7 - 0.2j, 1.1 + 0.9j], [-0.3 + 0.8j, 0.6 + 0.1j]])
ONE = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "imag", "log", "log10",
    "log1p", "log2", "neg", "real", "reciprocal", "sgn", "sigmoid", "sin", "sinh", "sqrt", "square", "tan", "tanh",
]  # fmt: skip


def both(arrays: list[np.ndarray]) -> tuple[list, list]:
    ours = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    return ours, [torch.tensor(a, requires_grad=True) for a in arrays]


def compared(ours, theirs, inputs, references) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs.detach().resolve_conj().numpy(), rtol=1e-12)
    weight = np.cos(np.arange(ours.size)).reshape(ours.shape) + (0.5j if theirs.is_complex() else 0)
    paddle.autograd.backward([ours], [paddle.to_tensor(weight)])
    theirs.backward(torch.tensor(weight))
    for t, r in zip(inputs, references, strict=True):
        np.testing.assert_allclose(t.grad.numpy(), r.grad.resolve_conj().numpy(), rtol=1e-9)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_complex_number(name: str) -> None:
    (x,), (r,) = both([Z])
    theirs = {"imag": lambda: r.imag, "real": lambda: r.real}.get(name, lambda: getattr(torch, name)(r))()
    compared(getattr(paddle, name)(x), theirs, [x], [r])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow"])
@pytest.mark.parametrize("kinds", ["zz", "zr", "rz"])
def test_functions_of_two(name: str, kinds: str) -> None:
    first, second = Z if kinds[0] == "z" else np.abs(Z), W if kinds[1] == "z" else np.abs(W[0])
    ours, theirs = both([first, second])
    torch_name = {"subtract": "sub", "multiply": "mul", "divide": "div"}.get(name, name)
    compared(getattr(paddle, name)(*ours), getattr(torch, torch_name)(*theirs), ours, theirs)


def test_a_number_may_be_complex() -> None:
    (x,), (r,) = both([np.abs(Z)])
    compared(x * (1 + 2j) + 3j, r * (1 + 2j) + 3j, [x], [r])


@pytest.mark.parametrize("name", ["exp", "sin", "multiply", "angle", "abs", "sgn"])
def test_second_derivatives(name: str) -> None:
    ours, theirs = both([Z, W] if name == "multiply" else [Z])
    y = getattr(paddle, name)(*ours)
    r = getattr(torch, "mul" if name == "multiply" else name)(*theirs)
    (first,) = paddle.grad(
        [(paddle.real(y * paddle.conj(y)) + paddle.real(y)).sum()], ours[:1], create_graph=True
    )
    (expected,) = torch.autograd.grad(
        (torch.real(r * r.conj()) + torch.real(r)).sum(), theirs[0], create_graph=True
    )
    np.testing.assert_allclose(first.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)
    if first.stop_gradient:
        assert not expected.requires_grad or name == "angle"
        return
    paddle.real(first * paddle.conj(first)).sum().backward()
    torch.real(expected * expected.conj()).sum().backward()
    np.testing.assert_allclose(ours[0].grad.numpy(), theirs[0].grad.numpy(), rtol=1e-9, atol=1e-12)


def test_parts_and_pairs_are_views() -> None:
    for part in (paddle.real, paddle.imag, paddle.as_real):
        z = paddle.to_tensor(Z)
        part(z).fill_(7.0)
        assert not np.allclose(z.numpy(), Z)
    x = paddle.to_tensor(np.ones((3, 2)))
    paddle.as_complex(x)[0] = 5.0
    assert x[0].tolist() == [5.0, 0.0]
    conjugate = paddle.conj(x)
    conjugate.fill_(0.0)
    assert float(x.sum()) == 9.0


def test_pairs_both_ways() -> None:
    pairs = np.random.default_rng(0).normal(size=(2, 3, 2))
    (x,), (r,) = both([pairs])
    compared(paddle.as_complex(x) * 2j, torch.view_as_complex(r) * 2j, [x], [r])
    assert paddle.as_complex(paddle.zeros([0, 2])).shape == [0]
    assert (
        paddle.view_as_real(paddle.view_as_complex(paddle.to_tensor(pairs))).numpy().tolist()
        == pairs.tolist()
    )
    with pytest.raises(ValueError, match="as_complex"):
        paddle.as_complex(paddle.zeros([2, 3]))
    with pytest.raises(TypeError, match="as_real"):
        paddle.as_real(paddle.zeros([2]))
    with pytest.raises(TypeError, match="imag"):
        paddle.imag(paddle.zeros([2]))


def test_the_gradient_at_zero_is_zero() -> None:
    for name in ("abs", "angle"):
        x = paddle.to_tensor(np.array([0j, 1 + 1j]), stop_gradient=False)
        getattr(paddle, name)(x).sum().backward()
        assert x.grad.numpy()[0] == 0


def test_kinds() -> None:
    assert paddle.to_tensor([1j]).is_complex() and not paddle.is_floating_point(paddle.to_tensor([1j]))
    assert paddle.is_integer(paddle.to_tensor([1])) and not paddle.is_integer(paddle.to_tensor([True]))
    assert paddle.to_tensor(Z).isreal().tolist() == [[False, False], [False, False]]
    with pytest.raises(TypeError, match="expected a Tensor"):
        paddle.is_complex(1)


def test_no_way_leads_to_complex32() -> None:
    """torch's complex32 is not a dtype of Paddle: a float16 with a complex number is complex64."""
    x = paddle.to_tensor([1.0, 2.0], "float16")
    chosen = paddle.where(paddle.to_tensor([True, False]), x, paddle.to_tensor(1j))
    made = [x + 2j, 2j - x, x * 2j, x / 2j, 2j / x, x**2j, chosen]
    assert {str(z.dtype).split(".")[-1] for z in made} == {"complex64"}
    assert chosen.tolist() == [1, 1j]
    leaf = paddle.to_tensor([1.0, 2.0], "float16", stop_gradient=False)
    (leaf * (3 + 2j)).real().sum().backward()
    assert str(leaf.grad.dtype).endswith("float16") and leaf.grad.tolist() == [3, 3]
    for refused in (lambda: paddle.complex(x, x), lambda: paddle.as_complex(x)):
        with pytest.raises(TypeError, match="float16"):
            refused()
