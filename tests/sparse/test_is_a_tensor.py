"""A sparse tensor is a Tensor, as in Paddle; what reads a dense buffer refuses it by name."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, sparse
from sampan.autograd import PyLayer
from sampan.sparse import SparseTensor

DENSE = [[0.0, 0.5, 0.0], [0.25, 0.0, 0.75]]


def made(layout: str, stop_gradient: bool = True) -> SparseTensor:
    x = paddle.to_tensor(DENSE)
    found: SparseTensor = x.to_sparse_coo(2) if layout == "coo" else x.to_sparse_csr()
    found.stop_gradient = stop_gradient
    return found


@pytest.fixture(params=["coo", "csr"])
def layout(request: Any) -> str:
    return str(request.param)


def test_it_is_a_tensor(layout: str) -> None:
    x = made(layout)
    assert isinstance(x, paddle.Tensor) and paddle.is_tensor(x)
    assert x.size == 6 and x.size() == [2, 3] and x.ndim == 2 and len(x) == 2 and x.contiguous() is x
    assert x.is_sparse() and not x.is_dense() and x.is_leaf and x.grad_fn is None


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("exp", lambda x: paddle.exp(x)),
        ("exp", lambda x: x.exp()),
        ("add", lambda x: paddle.add(paddle.ones([2, 3]), x)),
        ("matmul", lambda x: paddle.matmul(x, paddle.ones([3, 2]))),
        ("linear", lambda x: nn.Linear(3, 2)(x)),
        ("concat", lambda x: paddle.concat([x, x])),
        ("where", lambda x: paddle.where(paddle.ones([2, 3], "bool"), x, x)),
        ("getitem", lambda x: paddle.ones([2, 3])[x]),
        ("getitem", lambda x: x[0]),
        ("reshape", lambda x: paddle.reshape(x, [3, 2])),
        ("equal", lambda x: x == x),
        ("item", lambda x: x.item()),
        ("to_tensor", lambda x: paddle.to_tensor(x)),
        ("zeros_like", lambda x: paddle.zeros_like(x)),
        ("add_", lambda x: x.add_(x)),
        ("fill_", lambda x: x.fill_(1.0)),
        ("", lambda x: np.asarray(x)),  # Python calls these two, not the user
        ("", lambda x: bool(x)),
    ],
)
def test_dense_functions_refuse_it(layout: str, name: str, call: Any) -> None:
    called = rf"(^|: ){name}: " if name else "^"
    with pytest.raises(TypeError, match=rf"{called}(\w+: )?expected a dense Tensor, got a sparse one"):
        call(made(layout))


def test_mixed_precision_refuses_it_too() -> None:
    with paddle.amp.auto_cast(dtype="bfloat16"), pytest.raises(TypeError, match=r"^exp: x: expected a dense"):
        paddle.exp(made("coo"))


def test_gradients_of_it(layout: str) -> None:
    x = made(layout, stop_gradient=False)
    (found,) = paddle.grad(sparse.sin(x), x)
    assert isinstance(found, SparseTensor)
    paddle.autograd.backward([sparse.sin(x)])
    for gradient in (found, x.grad):
        assert np.allclose(gradient.values().numpy(), np.cos([0.5, 0.25, 0.75]))
    (of_sum,) = paddle.grad(sparse.matmul(x, paddle.ones([3, 2])).sum(), [x])
    assert of_sum.values().tolist() == [2.0, 2.0, 2.0]  # type: ignore[union-attr]


class Doubled(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, dense: bool) -> Any:  # type: ignore[override]
        ctx.save_for_backward(x)
        ctx.dense = dense
        return x.to_dense() * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        (x,) = ctx.saved_tensor()
        return g * 2 if ctx.dense else sparse.mask_as(g * 2, x)


def test_through_a_layer_of_ones_own(layout: str) -> None:
    x = made(layout, stop_gradient=False)
    Doubled.apply(x, False).sum().backward()
    assert x.grad.values().tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match=r"Doubled.backward: expected a sparse gradient"):
        Doubled.apply(x, True).sum().backward()


class Graph(nn.Layer):
    def __init__(self, layout: str) -> None:
        super().__init__()
        self.adjacency = made(layout)
        self.register_buffer("kept", made(layout))


def test_a_layer_holds_it_as_a_buffer(layout: str) -> None:
    layer = Graph(layout)
    assert [n for n, _ in layer.named_buffers()] == ["adjacency", "kept"]
    assert list(layer.state_dict()) == ["kept"]
    layer.to(dtype="float64")
    assert layer.adjacency.dtype == paddle.float64


def test_copies(layout: str) -> None:
    x = made(layout, stop_gradient=False)
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy(Graph(layout)).adjacency):
        assert again.is_sparse_csr() == (layout == "csr") and again.to_dense().tolist() == DENSE
        again.values().fill_(0.0) if again.stop_gradient else None
    assert x.to_dense().tolist() == DENSE and not copy.deepcopy(x).stop_gradient
