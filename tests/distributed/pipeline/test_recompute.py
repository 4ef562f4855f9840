"""Functions that run again in the backward pass."""

import gc
import weakref

import numpy as np

import sampan as paddle
from sampan import nn
from sampan.distributed.pipeline.recompute import recomputed


def test_gradients_are_the_same_and_nothing_in_between_is_kept():
    layer, kept, calls = nn.Linear(3, 3), [], []

    def function(x, factor, *, more):
        calls.append(paddle.is_grad_enabled())
        inner = paddle.tanh(layer(x)) * factor
        kept.append(weakref.ref(inner.data))
        return {"y": inner * inner + more["a"], "n": 3}

    x, a = (paddle.randn([4, 3]) for _ in range(2))
    x.stop_gradient = a.stop_gradient = False
    results = []
    for run in (lambda f, *args, **kwargs: f(*args, **kwargs), recomputed):
        out = run(function, x, 2.0, more={"a": a})
        gc.collect()
        results.append([out["y"].numpy(), out["n"], kept[-1]() is None])
        out["y"].sum().backward()
        results[-1] += [t.grad.numpy() for t in (x, a, layer.weight, layer.bias)]
        for tensor in (x, a, layer.weight, layer.bias):
            tensor.clear_grad()
    plain, again = results
    assert (plain[2], again[2]) == (False, True)
    assert calls == [True, False, True]
    for ours, theirs in zip(again[:2] + again[3:], plain[:2] + plain[3:], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_same_random_numbers_and_casts():
    x = paddle.ones([100], "float32")
    x.stop_gradient = False
    kinds = []

    def function(value):
        product = paddle.matmul(nn.functional.dropout(value, 0.5).reshape([1, -1]), paddle.ones([100, 1]))
        kinds.append(str(product.dtype))
        return product

    paddle.seed(1)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        out = recomputed(function, x)
    paddle.seed(7)
    drawn = paddle.rand([3]).tolist()
    paddle.seed(7)
    out.astype("float32").sum().backward()
    assert paddle.rand([3]).tolist() == drawn  # the state is put back
    assert kinds == ["paddle.bfloat16"] * 2
    assert float(x.grad.sum()) == float(out.astype("float32"))


def test_without_gradients_it_is_the_call():
    seen = []
    layer = nn.Linear(2, 2)
    out = recomputed(lambda x: seen.append(1) or layer(x), paddle.ones([1, 2]))
    out.sum().backward()
    assert (len(seen), layer.weight.grad is not None) == (1, True)
    with paddle.no_grad():
        assert recomputed(lambda x: x * 2, paddle.ones([1])).tolist() == [2]
