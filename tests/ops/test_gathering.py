"""What picks and puts entries, and what reorders, joins and cuts, beyond what the table of operators covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan as paddle
from sampan.engine.tensor import Tensor


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def leaf(values) -> Tensor:
    return paddle.to_tensor(values, dtype="float64", stop_gradient=False)


def same(actual, expected) -> None:
    np.testing.assert_array_equal(actual.numpy(), np.asarray(expected))


def test_negative_indices_count_from_the_end() -> None:
    x = leaf(drawn(3, 4))
    index = paddle.to_tensor([-1, 0])
    for taken in (paddle.index_select(x, index, 1), paddle.gather(x, index, 1), x[:, [-1, 0]]):
        same(taken, x.numpy()[:, [-1, 0]])
    same(paddle.take_along_axis(x, paddle.to_tensor([[-1]]), 0), x.numpy()[[-1]])
    same(
        paddle.put_along_axis(x, paddle.to_tensor([[-2]]), 7.0, 0),
        np.vstack([x.numpy()[0], [7.0] * 4, x.numpy()[2]]),
    )
    paddle.index_select(x, index, 1).sum().backward()
    same(x.grad, np.tile([1.0, 0.0, 0.0, 1.0], (3, 1)))
    with pytest.raises(ValueError, match=r"index_select: .*out of"):
        paddle.index_select(x, paddle.to_tensor([-5, 0]), 1)


@pytest.mark.parametrize("reduce", ["add", "mul", "multiply", "mean", "amin", "amax"])
@pytest.mark.parametrize("include_self", [True, False])
def test_put_along_axis_reduces(reduce, include_self) -> None:
    x, v = drawn(3, 4), drawn(3, 3, seed=1)
    index = torch.tensor([[0, 0, 1], [2, 2, 2], [3, 0, 3]])
    mine, values = leaf(x), leaf(v)
    put = mine.put_along_axis(Tensor(index), values, 1, reduce, include_self)
    t, w = torch.tensor(x, requires_grad=True), torch.tensor(v, requires_grad=True)
    name = {"add": "sum", "mul": "prod", "multiply": "prod"}.get(reduce, reduce)
    expected = t.scatter_reduce(1, index, w, name, include_self=include_self)
    np.testing.assert_allclose(put.numpy(), expected.detach().numpy())
    (put * put).sum().backward()
    expected.square().sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), t.grad.numpy())
    np.testing.assert_allclose(values.grad.numpy(), w.grad.numpy())


def test_equal_extremes_share_the_gradient() -> None:
    x, v = leaf([[5.0, 2.0]]), leaf([[5.0, 5.0, 1.0]])
    x.put_along_axis(paddle.to_tensor([[0, 0, 0]]), v, 1, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[1 / 3, 1.0]])
    np.testing.assert_allclose(v.grad.numpy(), [[1 / 3, 1 / 3, 0.0]])


def test_scatter_add_and_reduce() -> None:
    x, index, source = leaf(drawn(3, 4)), paddle.to_tensor([[0, 1], [2, 2]]), leaf(drawn(3, 3))
    added = paddle.scatter_add(x, 1, index, source)  # more entries in the source than indices
    expected = torch.scatter_add(x.data, 1, index.data, source.data[:2, :2])
    np.testing.assert_allclose(added.numpy(), expected.numpy())
    added.sum().backward()
    assert source.grad.numpy()[:2, :2].tolist() == [[1, 1], [1, 1]] and source.grad.numpy().sum() == 4
    with pytest.raises(ValueError, match="scatter_reduce: reduce: expected sum"):
        paddle.scatter_reduce(x, 1, index, source, "median")


def test_index_put() -> None:
    x, v = leaf(drawn(3, 4)), leaf([1.0, 2.0])
    rows, columns = paddle.to_tensor([0, 0]), paddle.to_tensor([1, 1])
    put = paddle.index_put(x, (rows, columns), v, accumulate=True)
    expected = x.numpy().copy()
    expected[0, 1] += 3.0
    same(put, expected)
    put.sum().backward()
    assert v.grad.tolist() == [1.0, 1.0] and x.grad.numpy().min() == 1.0
    mask = paddle.to_tensor([True, False, True])
    same(paddle.index_put(x, (mask,), paddle.to_tensor(0.0, "float64"))[1], x.numpy()[1])
    with pytest.raises(TypeError, match="index_put: indices: expected a tuple"):
        paddle.index_put(x, rows, v)


def test_masked_scatter() -> None:
    x, v = leaf(drawn(2, 3)), leaf(drawn(4))
    mask = paddle.to_tensor([True, False, True])
    filled = paddle.masked_scatter(x, mask, v)
    expected = x.numpy().copy()
    expected[:, [0, 2]] = v.numpy().reshape(2, 2)
    same(filled, expected)
    filled.sum().backward()
    assert v.grad.tolist() == [1.0] * 4 and x.grad.numpy()[:, 0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="masked_scatter: value: expected at least 4 entries, got 3"):
        paddle.masked_scatter(x, mask, v[:3])


def test_scatter_nd_takes_its_shape_as_a_tensor() -> None:
    index, updates = paddle.to_tensor([[1], [1]]), leaf(drawn(2, 3))
    made = paddle.scatter_nd(index, updates, paddle.to_tensor([4, 3]))
    np.testing.assert_allclose(made.numpy()[1], updates.numpy().sum(0))
    assert made.numpy()[[0, 2, 3]].any() == np.False_


def test_take_has_three_ways_with_what_is_outside() -> None:
    x = leaf(drawn(3, 4))
    index = paddle.to_tensor([[0, 13], [-14, 1]])
    same(paddle.take(x, index, mode="wrap"), np.take(x.numpy(), index.numpy(), mode="wrap"))
    same(paddle.take(x, index, mode="clip"), np.take(x.numpy(), index.numpy(), mode="clip"))
    with pytest.raises(IndexError):
        paddle.take(x, index)
    with pytest.raises(ValueError, match="take: mode"):
        paddle.take(x, index, mode="nearest")
    with pytest.raises(TypeError, match="take: index: expected a tensor of int32 or int64"):
        paddle.take(x, paddle.to_tensor([0.5]))


def test_crop() -> None:
    x = leaf(drawn(4, 5))
    same(paddle.crop(x, [2, -1], [1, 2]), x.numpy()[1:3, 2:])
    same(paddle.crop(x, paddle.to_tensor([2, 3]), [0, paddle.to_tensor(1)]), x.numpy()[:2, 1:4])
    same(paddle.crop(x), x.numpy())
    with pytest.raises(ValueError, match="does not lie in"):
        paddle.crop(x, [4, 5], [1, 0])
    with pytest.raises(ValueError, match="crop: expected 2 lengths"):
        paddle.crop(x, [4], [1])


def test_slices_by_lists() -> None:
    x = leaf(drawn(4, 5, 6))
    same(paddle.slice(x, [0, 2], [1, -3], [3, 100]), x.numpy()[1:3, :, -3:])
    same(paddle.strided_slice(x, [0, 2], [0, -1], [3, -7], [2, -2]), x.numpy()[0:3:2, :, ::-2])
    with pytest.raises(ValueError, match="a stride must not be 0"):
        paddle.strided_slice(x, [0], [0], [3], [0])
    with pytest.raises(ValueError, match="differ in length"):
        paddle.slice(x, [0, 1], [0], [3])
    with pytest.raises(ValueError, match="narrow: 4 slices from 2 do not lie"):
        paddle.narrow(x, 0, 2, 4)
    same(paddle.narrow(x, -1, paddle.to_tensor(-2), 2), x.numpy()[..., -2:])
    with pytest.raises(RuntimeError, match="select_scatter: values"):
        paddle.select_scatter(x, x[0], 1, 1)


def test_splits() -> None:
    x = leaf(drawn(7, 4, 2))
    for parts, axis in ((3, 0), ([2, 5], 0), ([-2], 0), ([5, 2], 0), (3, 1)):
        ours = paddle.tensor_split(x, parts, axis)
        for a, b in zip(ours, np.array_split(x.numpy(), parts, axis), strict=True):
            same(a, b)
    same(paddle.hsplit(x, 2)[1], np.hsplit(x.numpy(), 2)[1])
    same(paddle.vsplit(x, [3])[0], x.numpy()[:3])
    same(paddle.dsplit(x, 2)[0], x.numpy()[..., :1])
    same(paddle.hsplit(x[:, 0, 0], [2])[1], x.numpy()[2:, 0, 0])
    with pytest.raises(ValueError, match="dsplit: expected at least 3 axes"):
        paddle.dsplit(x[0], 2)
    with pytest.raises(ValueError, match="tensor_split: num_or_indices: expected at least 1"):
        paddle.tensor_split(x, 0)
    with pytest.raises(ValueError, match="unstack: num is 2, but axis 1 has length 4"):
        paddle.unstack(x, 1, num=2)
    total = sum((p * (i + 1)).sum() for i, p in enumerate(paddle.unstack(x, 2)))
    total.backward()
    assert x.grad.numpy()[0, 0].tolist() == [1.0, 2.0]


def test_stacks() -> None:
    a, b, c = leaf(drawn(3)), leaf(drawn(2, 3)), leaf(2.0)
    same(paddle.hstack([a, a]), np.hstack([a.numpy(), a.numpy()]))
    same(paddle.vstack([a, b]), np.vstack([a.numpy(), b.numpy()]))
    same(paddle.row_stack([c, c]), [[2.0], [2.0]])
    same(paddle.dstack([a, a]), np.dstack([a.numpy(), a.numpy()]))
    same(paddle.column_stack([a, b.t()]), np.column_stack([a.numpy(), b.numpy().T]))
    assert [t.shape for t in paddle.atleast_3d(a, b, c)] == [[1, 3, 1], [2, 3, 1], [1, 1, 1]]
    assert paddle.atleast_2d(3.0).shape == [1, 1] and a.atleast_2d().shape == [1, 3]
    assert [t.shape for t in paddle.broadcast_tensors([a, b])] == [[2, 3], [2, 3]]
    assert paddle.broadcast_shape([2, 1], [3]) == [2, 3] and paddle.broadcast_shapes(
        [2, 1], [3], [4, 1, 1]
    ) == [4, 2, 3]
    with pytest.raises(ValueError, match="do not broadcast"):
        paddle.broadcast_shape([2], [3])
    for wrong in ([a, leaf(drawn(2))], [a, a.astype("float32")]):
        with pytest.raises((ValueError, TypeError), match="stack"):
            paddle.stack(wrong)
    with pytest.raises(ValueError, match="different numbers of axes"):
        paddle.concat([a, b])
    with pytest.raises(TypeError, match="non-empty list of tensors"):
        paddle.concat([])


def test_repeats_by_a_vector() -> None:
    x = leaf(drawn(2, 3))
    repeated = paddle.repeat_interleave(x, paddle.to_tensor([1, 0, 2]), axis=1)
    same(repeated, np.repeat(x.numpy(), [1, 0, 2], axis=1))
    repeated.sum().backward()
    assert x.grad.numpy()[0].tolist() == [1.0, 0.0, 2.0]
    for wrong in (0, paddle.to_tensor([1, 2])):
        with pytest.raises(ValueError, match="repeat_interleave: repeats"):
            paddle.repeat_interleave(x, wrong, axis=1)


def test_shard_index() -> None:
    ids = paddle.to_tensor([[16], [1]])
    assert paddle.shard_index(ids, 20, 2, 0).tolist() == [[-1], [1]]
    assert paddle.shard_index(ids, 20, 2, 1, -5).tolist() == [[6], [-5]]
    for bad in ((20, 2, 2), (15, 2, 0)):
        with pytest.raises(ValueError, match="shard_index: "):
            paddle.shard_index(ids, *bad)


def test_fill_diagonal_in_place() -> None:
    for shape, offset, wrap in (((3, 3), 0, False), ((7, 3), 0, True), ((3, 4), 1, False), ((4, 3), -1, False), ((3, 3, 3), 0, False)):  # fmt: skip
        x = paddle.to_tensor(drawn(*shape))
        expected = x.numpy().copy()
        if offset == 0:
            np.fill_diagonal(expected, 9.0, wrap)
        else:
            for row in range(shape[0]):
                if 0 <= row + offset < shape[1] and row < shape[1]:
                    expected[row, row + offset] = 9.0
        assert x.fill_diagonal_(9.0, offset, wrap) is x
        same(x, expected)
    y = leaf(drawn(3, 4))
    (y * 1.0).fill_diagonal_(0.0).sum().backward()
    same(y.grad, 1.0 - np.eye(3, 4))


def test_as_strided_counts_its_offset_in_bytes() -> None:
    x = leaf(drawn(8, 6))
    window = paddle.as_strided(x, [2, 3], [1, 2], 16)
    flat = x.numpy().ravel()[2:]
    same(window, [[flat[0], flat[2], flat[4]], [flat[1], flat[3], flat[5]]])
    paddle.as_strided(x, [4], [0], 0).sum().backward()  # one entry, read four times
    assert float(x.grad[0, 0]) == 4.0 and float(x.grad.sum()) == 4.0


def test_memory_under_another_name() -> None:
    x = paddle.to_tensor(drawn(4, 6).astype("float32"))
    same(x.view("int32"), x.numpy().view("int32"))
    same(x.view([2, -1]), x.numpy().reshape(2, 12))
    same(paddle.view_as(x, paddle.zeros([24])), x.numpy().ravel())
    y = paddle.to_tensor([1.0, 2.0])
    assert y.resize_([3], fill_zero=True).tolist() == [1.0, 2.0, 0.0]
    with pytest.raises(ValueError, match="pass fill_zero=True"):
        y.resize_([9])
    assert y.set_(x, [2], [6], 4).tolist() == x.numpy().ravel()[[1, 7]].tolist()
    assert y.set_().shape == [0]


def test_unique() -> None:
    x = paddle.to_tensor([[3, 1], [2, 1], [3, 1]])
    for axis in (None, 0, 1):
        ours = paddle.unique(x, True, True, True, axis=axis)
        expected = np.unique(x.numpy(), True, True, True, axis=axis)
        for a, b in zip(ours, expected, strict=True):
            assert a.numpy().ravel().tolist() == b.ravel().tolist()
    assert paddle.unique(x, return_counts=True, dtype="int32")[1].dtype == torch.int32
    assert paddle.unique(paddle.to_tensor([2.0, 1.0])).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="expected int32 or int64"):
        paddle.unique(x, return_counts=True, dtype="float32")


def test_unique_consecutive() -> None:
    x = paddle.to_tensor([1, 1, 2, 2, 3, 1])
    value, inverse, counts = paddle.unique_consecutive(x, True, True)
    assert (
        value.tolist() == [1, 2, 3, 1]
        and inverse.tolist() == [0, 0, 1, 1, 2, 3]
        and counts.tolist() == [2, 2, 1, 1]
    )
    rows = paddle.unique_consecutive(paddle.to_tensor([[1, 1], [1, 1], [2, 3]]), axis=0)
    assert rows.tolist() == [[1, 1], [2, 3]]


def test_where_a_value_belongs() -> None:
    edges = paddle.to_tensor([1.0, 3.0, 5.0, 7.0])
    values = paddle.to_tensor([2.0, 3.0, 8.0, 0.0])
    for right in (False, True):
        expected = np.searchsorted(edges.numpy(), values.numpy(), "right" if right else "left")
        same(paddle.searchsorted(edges, values, right=right), expected)
        same(paddle.bucketize(values, edges, True, right), expected.astype("int32"))
    same(
        paddle.searchsorted(edges, values, side="right"),
        np.searchsorted(edges.numpy(), values.numpy(), "right"),
    )
    backwards = paddle.to_tensor([7.0, 5.0, 3.0, 1.0])
    order = paddle.to_tensor([3, 2, 1, 0])
    same(paddle.searchsorted(backwards, values, sorter=order), np.searchsorted(edges.numpy(), values.numpy()))
    with pytest.raises(ValueError, match="bucketize: sorted_sequence: expected a vector"):
        paddle.bucketize(values, edges.reshape([2, 2]))


def test_top_p_sampling_draws_among_the_most_likely() -> None:
    x = paddle.to_tensor([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])
    ps = paddle.to_tensor([0.5, 0.6])
    paddle.seed(2)
    seen = [set(), set()]
    for _ in range(60):
        values, indices = x.top_p_sampling(ps)
        for row in range(2):
            seen[row].add(int(indices[row]))
            assert float(values[row]) == float(x[row, int(indices[row])])
    assert seen[0] == {2} and seen[1] == {0, 1}  # 0.4 alone does not reach 0.6
    wide = {int(x.top_p_sampling(ps, mode="non-truncated")[1][0]) for _ in range(80)}
    assert wide == {0, 1, 2}
    high = {int(x.top_p_sampling(ps * 2, threshold=paddle.to_tensor([0.15, 0.0]))[1][0]) for _ in range(60)}
    assert high == {1, 2}
    starts = paddle.to_tensor([5, 5])
    assert (
        x.top_p_sampling(ps, topp_seed=starts)[1].tolist()
        == x.top_p_sampling(ps, topp_seed=starts)[1].tolist()
    )
    assert x.top_p_sampling(ps, k=2, return_top=True)[3].tolist() == [[2, 1], [1, 0]]
    with pytest.raises(ValueError, match="top_p_sampling: expected x"):
        x.top_p_sampling(ps, mode="greedy")


@st.composite
def additions(draw: Any) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """An array, indices of both signs along one of its axes, and what is added there."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    n = shape[axis]
    index = np.array(draw(st.lists(st.integers(-n, n - 1), max_size=12)), np.int64)
    added = shape.copy()
    added[axis] = len(index)
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return generator.standard_normal(shape), index, axis, generator.standard_normal(added)


@given(additions())
def test_each_entry_is_added_once_whatever_the_signs_of_the_indices(drawn_call: Any) -> None:
    x, index, axis, value = drawn_call
    expected = x.copy()
    np.add.at(np.moveaxis(expected, axis, 0), index, np.moveaxis(value, axis, 0))
    place, added = Tensor(torch.from_numpy(index)), leaf(value)
    result = paddle.index_add(leaf(x), place, axis, added)
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
    weights = np.random.default_rng(1).standard_normal(x.shape)
    (result * paddle.to_tensor(weights)).sum().backward()
    np.testing.assert_allclose(added.grad.numpy(), weights.take(index, axis), atol=1e-12)
    in_place = paddle.to_tensor(x)
    paddle.index_add_(in_place, place, axis, paddle.to_tensor(value))
    np.testing.assert_allclose(in_place.numpy(), expected, atol=1e-12)

    picked = leaf(x)  # the gradient of a pick adds at its indices
    (paddle.index_select(picked, place, axis) * paddle.to_tensor(value)).sum().backward()
    np.testing.assert_allclose(picked.grad.numpy(), expected - x, atol=1e-12)
    alone = np.zeros_like(x)
    if axis == 0:
        np.add.at(alone, index, value)
        kept = np.delete(np.arange(len(x)), index)
        alone[kept] = x[kept]
        scattered = paddle.scatter(leaf(x), place, leaf(value), overwrite=False)
        np.testing.assert_allclose(scattered.numpy(), alone, atol=1e-12)
        spots = place.reshape([-1, 1])
        np.testing.assert_allclose(paddle.scatter_nd_add(leaf(x), spots, added).numpy(), expected, atol=1e-12)
        key = (place,)
        put = paddle.index_put(leaf(x), key, added, accumulate=True)
        np.testing.assert_allclose(put.numpy(), expected, atol=1e-12)
    whole = np.broadcast_to(index.reshape([-1 if k == axis else 1 for k in range(x.ndim)]), value.shape)
    along = paddle.put_along_axis(leaf(x), paddle.to_tensor(whole), added, axis, "add")
    np.testing.assert_allclose(along.numpy(), expected, atol=1e-12)


def test_a_refused_sum_at_indices_leaves_the_array_as_it_was() -> None:
    x = paddle.ones([3, 2])
    for indices in ([0, 5], [0, -4], [-1, 3]):
        with pytest.raises(ValueError, match=r"out of"):
            paddle.index_add_(x, paddle.to_tensor(indices), 0, paddle.ones([2, 2]))
        same(x, np.ones([3, 2]))


def test_scatter_of_one_row_named_by_a_number() -> None:
    """A 0-d index takes updates with an axis less than x; PaddlePaddle 3.3.1 refuses others too."""
    x, one = paddle.ones([3, 2]), paddle.to_tensor(1)
    assert paddle.scatter(x, one, paddle.zeros([2])).tolist() == [[1, 1], [0, 0], [1, 1]]
    assert paddle.scatter(x, one, paddle.ones([2]) * 3, overwrite=False).tolist() == [[1, 1], [3, 3], [1, 1]]
    assert paddle.scatter(paddle.ones([3]), one, paddle.to_tensor(5.0)).tolist() == [1, 5, 1]
    for shape in ([], [1, 2], [2, 2]):
        with pytest.raises(ValueError, match="scatter: updates: expected 1 axes for one row, got shape"):
            paddle.scatter(x, one, paddle.zeros(shape))
