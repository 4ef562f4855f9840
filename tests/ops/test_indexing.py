"""Indexing against NumPy: what is read, what is written, and the gradients of both; gather and scatter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sampan as paddle
from sampan.engine.tensor import Tensor

F64 = "float64"


def leaf(values) -> Tensor:
    return paddle.to_tensor(values, dtype=F64, stop_gradient=False)


def filled(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape)


@st.composite
def an_index(draw, shape: tuple[int, ...]):
    """Any index that NumPy takes and for which torch and Paddle agree with it.

    They differ in one point: NumPy takes an int beside an array for an array, so that a slice between the two moves
    the picked axes to the front. Paddle, torch and Sampan pick the int first.
    """
    kind = draw(st.sampled_from(["basic", "basic", "arrays", "mask", "mixed"]))
    if kind == "basic":
        return draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    if kind == "mask":
        return draw(hnp.arrays(bool, shape))
    result = draw(hnp.broadcastable_shapes((2,), max_dims=2, max_side=3, min_side=1))
    arrays = st.integers(0, 2**32 - 1).map(np.random.default_rng)
    parts: list = []
    for n in shape:
        if kind == "arrays" or draw(st.booleans()):
            chosen = draw(arrays).integers(-n, n, size=result)
            parts.append(draw(st.sampled_from([chosen, chosen.tolist() if chosen.ndim == 1 else chosen])))
        else:
            parts.append(draw(st.slices(n)))
    keep = draw(st.integers(1, len(parts)))
    return tuple(parts[:keep])


def as_given(index, form: str):
    """The same index with arrays as Tensors, lists as they are."""
    if isinstance(index, tuple):
        return tuple(as_given(i, form) for i in index)
    return paddle.to_tensor(index) if form == "tensors" and isinstance(index, np.ndarray) else index


@settings(max_examples=400)
@given(st.data())
def test_reading_and_its_gradient(data) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    index, form = data.draw(an_index(shape)), data.draw(st.sampled_from(["arrays", "tensors"]))
    values = filled(shape)
    expected = values[index]
    x = leaf(values)
    found = x[as_given(index, form)]
    assert found.shape == list(expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected)
    weights = np.random.default_rng(0).uniform(1, 2, expected.shape)
    (found * paddle.to_tensor(weights)).sum().backward()
    gradient = np.zeros(shape)
    np.add.at(gradient, index, weights)
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-14)


@settings(max_examples=400)
@given(st.data())
def test_writing_and_its_gradients(data) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    index, form = data.draw(an_index(shape)), data.draw(st.sampled_from(["arrays", "tensors"]))
    values = filled(shape)
    picked = values[index].shape
    small = data.draw(st.sampled_from([picked, (), picked[1:], tuple(1 for _ in picked)]))
    if isinstance(index, np.ndarray):  # a mask: one value for each, or one for all
        small = data.draw(st.sampled_from([picked, ()]))
    value = np.random.default_rng(1).uniform(100, 200, small)
    places = np.arange(values.size).reshape(shape)[index]
    repeats = np.unique(places).size < places.size
    if repeats:
        value = np.asarray(value.flat[0] if value.size else 0.0)  # else NumPy's result depends on the order
    expected = values.copy()
    expected[index] = value

    plain = paddle.to_tensor(values)
    plain[as_given(index, form)] = value if value.ndim else float(value)
    np.testing.assert_array_equal(plain.numpy(), expected)
    assert plain.is_leaf and plain.stop_gradient

    x, v = leaf(values), leaf(value)
    y = x * 1.0
    y[as_given(index, form)] = v
    np.testing.assert_array_equal(y.numpy(), expected)
    weights = np.random.default_rng(2).uniform(1, 2, shape)
    (y * paddle.to_tensor(weights)).sum().backward()
    hit = np.zeros(shape, bool)
    hit[index] = True
    np.testing.assert_array_equal(x.grad.numpy(), np.where(hit, 0.0, weights))
    if not repeats:
        wide = weights[index]
        extra = wide.ndim - value.ndim
        axes = (*range(extra), *(extra + i for i, n in enumerate(value.shape) if n == 1))
        expected = wide.sum(axis=axes, keepdims=True).reshape(value.shape)
        np.testing.assert_allclose(v.grad.numpy(), expected, rtol=1e-12)


X, Y = filled((4, 5)), filled((2, 3, 4))


@pytest.mark.parametrize(
    "index",
    [
        (slice(None, None, -1),), (slice(3, 0, -2), slice(None, None, -3)), (Ellipsis, slice(None, None, -1)), (Ellipsis,),
        (), None, (None, 2, None), True, False, [], [True, False, True, False], (slice(None), [True, False, True, False, True]),
        range(2), np.int64(1), np.array([1, 1], "uint8"), np.array(2), [[0, 1], [2, 3]], ([0, 2], None), slice(10, 20),
        np.ones((0,), int), (slice(None), np.array([[0], [1]])), ([0, 1], [[0], [1]]), -4,
    ],
    ids=str,
)  # fmt: skip
def test_cases_by_hand(index) -> None:
    np.testing.assert_array_equal(paddle.to_tensor(X)[index].numpy(), X[index])


def test_indices_of_the_library_itself() -> None:
    x = paddle.to_tensor(X)
    one, two = paddle.to_tensor(1), paddle.to_tensor(3)
    assert x[one].tolist() == X[1].tolist() and x[one:two].tolist() == X[1:3].tolist()
    assert x[[one, two]].tolist() == X[[1, 3]].tolist()
    assert x[paddle.to_tensor([0, 1], dtype="uint8")].tolist() == X[[0, 1]].tolist()
    assert x[paddle.to_tensor([0, 1], dtype="int32")].tolist() == X[[0, 1]].tolist()
    assert x[paddle.to_tensor(True)].shape == [1, 4, 5] and x[x > 7].tolist() == X[X > 7].tolist()
    assert x[torch.tensor([2, 0])].tolist() == X[[2, 0]].tolist()


def test_an_int_beside_an_array_is_picked_first() -> (
    None
):  # as PaddlePaddle 3.3.1; NumPy moves the array's axis to the front
    y = paddle.to_tensor(Y)
    assert y[0, :, [1, 2]].tolist() == Y[0][:, [1, 2]].tolist()
    assert (
        y[[0, 1], :, [1, 2]].tolist() == Y[[0, 1], :, [1, 2]].tolist()
    )  # two arrays apart: to the front, everywhere
    y[0, :, [1, 2]] = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=F64)
    assert y.numpy()[0, :, 1].tolist() == [1.0, 3.0, 5.0]


def test_basic_indices_are_views_and_others_copies() -> None:
    x = paddle.zeros([4, 5])
    for index in (1, slice(1, 3), (Ellipsis, 2), None, (slice(0, 4, 2), 1)):
        view = x[index]
        view.fill_(7.0)
        assert x.max() == 7.0
        x.zero_()
    for index in ([0, 1], slice(None, None, -1), paddle.ones([4], "bool")):
        x[index].fill_(7.0)
        assert x.max() == 0.0


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (4, IndexError), (-5, IndexError), ((0, 0, 0), IndexError), ([7], IndexError), (([0], [9]), IndexError),
        (np.zeros((3, 5), bool), IndexError), (np.zeros(5, bool), IndexError), (1.0, IndexError), ("a", IndexError),
        ([0.5, 1.0], IndexError), (np.array([0.0]), IndexError), ([[0], [1, 2]], (IndexError, ValueError)), (slice(None, None, 0), ValueError),
        (slice(1.5), TypeError), ({}, (IndexError, TypeError)), (["a"], IndexError), (([0, 1], [0, 1, 2]), (IndexError, ValueError)),
    ],
    ids=str,
)  # fmt: skip
def test_indices_that_are_refused(index, error) -> None:
    x = paddle.to_tensor(X)
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 0.0
    y = leaf(X) * 1.0
    with pytest.raises(error):
        y[index] = leaf(1.0)
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(y.numpy(), X)


def test_values_that_are_refused() -> None:
    x = paddle.to_tensor(X)
    for value, error in (([1.0, 2.0], ValueError), (1 + 2j, TypeError), ("a", TypeError), (None, (TypeError, ValueError)), (np.ones((2, 5)), ValueError)):  # fmt: skip
        with pytest.raises(error):
            x[0] = value
    with pytest.raises(ValueError, match=r"^setitem: shape mismatch"):
        x[x > 17] = paddle.ones([2], F64)
    np.testing.assert_array_equal(x.numpy(), X)


def test_values_take_the_dtype_of_what_they_are_written_to() -> None:
    counts, truths = paddle.arange(3), paddle.zeros([3], "bool")
    counts[0] = 1.7
    counts[1:] = paddle.to_tensor([2.9, 3.9])
    truths[0] = 5
    truths[1] = True
    assert counts.tolist() == [1, 2, 3] and truths.tolist() == [True, True, False]
    x = paddle.zeros([2, 2])
    x[0] = [1.0, 2.0]
    x[1] = torch.tensor([3.0, 4.0])
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_write_from_its_own_memory() -> None:
    x = paddle.to_tensor(X)
    x[::-1, ::-1] = x
    np.testing.assert_array_equal(x.numpy(), X[::-1, ::-1])
    y = paddle.to_tensor(X)
    y[0] = y[1]
    np.testing.assert_array_equal(y.numpy()[0], X[1])


def test_an_infinite_gradient_does_not_spread_into_what_was_overwritten() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y[0] = 0.0
    y.backward(paddle.to_tensor([1.0, np.inf], dtype=F64))
    assert x.grad.tolist() == [0.0, np.inf]


# --- gather, scatter and their kin: torch as the oracle -------------------------------------------------------


def both(shape, seed: int = 0) -> tuple[Tensor, torch.Tensor]:
    values = np.random.default_rng(seed).uniform(1, 2, shape)
    return leaf(values), torch.tensor(values, requires_grad=True)


def same(ours: Tensor, theirs: torch.Tensor, *pairs) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-14)
    weights = np.random.default_rng(9).uniform(1, 2, ours.shape)
    (ours * paddle.to_tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    for x, t in pairs:
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-12)


def test_gather() -> None:
    x, t = both((4, 3))
    index = paddle.to_tensor([2, 0, 2])
    same(x.gather(index), t[[2, 0, 2]], (x, t))
    assert x.gather(paddle.to_tensor([[2], [0]])).tolist() == x.numpy()[[2, 0]].tolist()
    assert x.gather(paddle.to_tensor(1)).tolist() == x.numpy()[1].tolist()  # 0-d: the axis is gone
    assert x.gather(paddle.to_tensor([1]), axis=1).shape == [4, 1]
    with pytest.raises(
        ValueError, match=r"gather: expected an index of shape \[n\] or \[n, 1\], got \[2, 2\]"
    ):
        x.gather(paddle.zeros([2, 2], "int64"))
    assert x.gather(paddle.to_tensor([-1])).tolist() == x.numpy()[[-1]].tolist()
    for wrong in (paddle.to_tensor([9]), paddle.to_tensor([-5])):
        with pytest.raises(IndexError, match=r"^gather: "):
            x.gather(wrong)
    with pytest.raises(TypeError, match=r"index must be integers, got float32"):
        x.gather(paddle.to_tensor([0.5]))


def test_take_and_put_along_an_axis() -> None:
    x, t = both((3, 4))
    index = paddle.to_tensor([[0, 2], [1, 1], [3, 0]])
    same(x.take_along_axis(index, 1), torch.take_along_dim(t, index.data, 1), (x, t))
    assert x.take_along_axis(paddle.to_tensor([[1]]), 1).tolist() == x.numpy()[:, 1:2].tolist()  # broadcast
    x, t = both((3, 4))
    v, w = both((3, 2), 1)
    distinct = paddle.to_tensor([[0, 2], [1, 3], [3, 0]])
    same(x.put_along_axis(distinct, v, 1), t.scatter(1, distinct.data, w), (x, t), (v, w))
    x, t = both((3, 4))
    v, w = both((3, 2), 1)
    same(x.put_along_axis(index, v, 1, "add"), t.scatter_add(1, index.data, w), (x, t), (v, w))
    x, t = both((3, 4))
    v, w = both((3, 2), 1)
    fresh = t.scatter_reduce(1, index.data, w, "sum", include_self=False)
    same(x.put_along_axis(index, v, 1, "add", include_self=False), fresh, (x, t), (v, w))
    put = x.put_along_axis(paddle.to_tensor([[0]]), 9.0, 1)
    assert put.numpy()[:, 0].tolist() == [9.0] * 3  # as PaddlePaddle 3.3.1: indices broadcast
    with pytest.raises(ValueError, match=r"reduce: expected 'assign' or one of add, mul, .*, got 'median'"):
        x.put_along_axis(index, 1.0, 1, "median")
    with pytest.raises(ValueError, match="take_along_axis: indices have 1 axes, the array has 2"):
        x.take_along_axis(paddle.to_tensor([0]), 1)
    with pytest.raises(IndexError, match="axis 2 is outside"):
        x.take_along_axis(index, 2)
    with pytest.raises(ValueError, match="index 9 is out of bounds"):
        x.take_along_axis(paddle.to_tensor([[9]]), 1)


def test_scatter() -> None:
    x, t = both((4, 3))
    u, v = both((2, 3), 1)
    same(
        paddle.scatter(x, paddle.to_tensor([3, 0]), u),
        t.index_copy(0, torch.tensor([3, 0]), v),
        (x, t),
        (u, v),
    )
    x, t = both((4, 3))
    u, v = both((2, 3), 1)
    expected = t.index_fill(0, torch.tensor([1]), 0).index_add(0, torch.tensor([1, 1]), v)
    same(paddle.scatter(x, paddle.to_tensor([1, 1]), u, overwrite=False), expected, (x, t), (u, v))


def test_scatter_nd() -> None:
    x, t = both((3, 4))
    u, v = both((3,), 1)
    index = paddle.to_tensor([[0, 1], [2, 3], [0, 1]])
    expected = t.index_put((index.data[:, 0], index.data[:, 1]), v, accumulate=True)
    same(paddle.scatter_nd_add(x, index, u), expected, (x, t), (u, v))
    zeros = torch.zeros(3, 4, dtype=torch.float64)
    alone = zeros.index_put((index.data[:, 0], index.data[:, 1]), v.detach(), accumulate=True)
    np.testing.assert_allclose(paddle.scatter_nd(index, u, [3, 4]).numpy(), alone.numpy())


def test_masked_select_and_topk() -> None:
    x, t = both((3, 4))
    mask = paddle.to_tensor([True, False, True, True])
    same(x.masked_select(mask), t[:, mask.data].flatten(), (x, t))
    for axis, largest in ((None, True), (0, False)):
        x, t = both((3, 4))
        values, indices = x.topk(2, axis, largest)
        expected = torch.topk(t, 2, -1 if axis is None else axis, largest)
        assert indices.tolist() == expected.indices.tolist()
        same(values, expected.values, (x, t))
    with pytest.raises(ValueError, match="topk: k must be from 1 to 4"):
        x.topk(5)


def test_where() -> None:
    condition = paddle.to_tensor([[True, False], [False, True]])
    x, t = both((2, 1))
    y, u = both((2,), 1)
    same(paddle.where(condition, x, y), torch.where(condition.data, t, u), (x, t), (y, u))
    assert [i.tolist() for i in paddle.where(condition)] == [[0, 1], [0, 1]]
    assert paddle.where(condition, 1.0, 2.0).tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert condition.where(x, y).shape == [2, 2]
    with pytest.raises(TypeError, match=r"where: expected a bool condition, got int64"):
        paddle.where(paddle.to_tensor([1]), x, y)
    with pytest.raises(ValueError, match="both x and y"):
        paddle.where(condition, x)
