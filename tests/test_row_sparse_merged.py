"""Gradients whose rows are added up once: no observable result differs from adding them up in each step."""

import copy

import numba
import numpy as np
import pytest
import torch

import sampan
from sampan import embedding, nn, optimizer
from sampan.kernels import loops as kernel_loops
from sampan.kernels.arena import LENT_FROM
from sampan.nn import functional as F
from sampan.row_sparse import RowGradient

COUNT, WIDTH, NAMED = 3000, 64, LENT_FROM // (4 * 64) + 1  # rows of a gradient that is not copied


def batch(seed, dtype="float32"):
    rng = np.random.default_rng(seed)
    return rng.zipf(1.3, NAMED) % COUNT, rng.standard_normal((NAMED, WIDTH)).astype(dtype)


def summed(*batches):
    """The rows of the dense gradient, added up one after the other."""
    total = np.zeros((COUNT, WIDTH), batches[0][1].dtype)
    for ids, rows in batches:
        np.add.at(total, ids, rows)
    return total


def weight(dtype="float32"):
    values = np.random.default_rng(7).standard_normal((COUNT, WIDTH)).astype(dtype)
    return sampan.to_tensor(values, stop_gradient=False)


def backward(table, ids, rows):
    F.embedding(sampan.to_tensor(ids), table).backward(sampan.to_tensor(rows))


@pytest.fixture
def loops(monkeypatch):
    names = []
    monkeypatch.setattr(kernel_loops, "listeners", [lambda name: names.append(name.split(" ")[0])])
    return names


@pytest.fixture(params=[1, 2])
def threads(request):
    before = numba.get_num_threads()
    numba.set_num_threads(min(request.param, before))
    yield
    numba.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gradient_that_its_caller_keeps_is_added_up_at_once(dtype, loops):
    table, (ids, rows) = weight(dtype), batch(0, dtype)
    given, named = sampan.to_tensor(rows), sampan.to_tensor(ids)
    start, expected = table.numpy().copy(), summed((ids, rows))
    F.embedding(named, table).backward(given)
    assert table.grad.is_row_sparse and f"{NAMED} rows named" in repr(table.grad)
    np.testing.assert_array_equal(given.numpy(), rows)  # not written to
    given.data.zero_()  # nor read again, whatever becomes of it
    named.data.zero_()
    optimizer.SGD(0.5, parameters=[table]).step()
    assert loops.count("row_sums") == 1
    np.testing.assert_array_equal(table.numpy(), start - 0.5 * expected)
    np.testing.assert_array_equal(table.grad.numpy(), expected)


def test_what_nobody_else_holds_is_added_up_by_the_step_alone(loops):
    table, (ids, rows) = weight(), batch(0)
    (F.embedding(sampan.to_tensor(ids), table) * 2.0).backward(sampan.to_tensor(rows))
    assert "row_sums" not in loops and not table.grad.rows().merged
    np.testing.assert_array_equal(table.grad.numpy(), summed((ids, 2.0 * rows)))


def test_later_gradients_are_added_in_their_order():
    """Exactly what one row after the other gives, for merging each pass by itself would round otherwise."""
    table, passes = weight(), [batch(seed) for seed in range(3)]
    for ids, rows in passes:
        backward(table, ids, rows)
    assert f"{3 * NAMED} rows named" in repr(table.grad)
    np.testing.assert_array_equal(table.grad.numpy(), summed(*passes))


def test_half_precision_is_copied():
    table, (ids, rows) = weight("float16"), batch(0, "float16")
    backward(table, np.tile(ids, 2), np.tile(rows, (2, 1)))
    assert not table.grad.rows().merged


CLIPS = {
    "global norm": nn.ClipGradByGlobalNorm(0.5),
    "norm": nn.ClipGradByNorm(0.5),
    "value": nn.ClipGradByValue(0.01),
    "skipped": nn.ClipGradByGlobalNorm(1e9, auto_skip_clip=True),
}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("kept", [False, True], ids=["ours", "the caller's"])
def test_a_clipped_step_adds_up_once(clip, kept, loops):
    """A table's rows are stepped with what the clip makes of the dense gradient, which is left as it is."""
    table, (ids, rows) = weight(), batch(1)
    start, dense = table.numpy().copy(), torch.from_numpy(summed((ids, rows)))
    out = F.embedding(sampan.to_tensor(ids), table)
    (out if kept else out * 1.0).backward(sampan.to_tensor(rows))
    optimizer.SGD(1.0, parameters=[table], grad_clip=CLIPS[clip]).step()
    assert loops.count("row_sums") == 1
    (clipped,) = CLIPS[clip].clip([dense])
    np.testing.assert_allclose(table.numpy(), start - clipped.numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(table.grad.numpy(), dense.numpy())


def test_what_is_made_of_it_has_memory_of_its_own():
    table, (ids, rows) = weight(), batch(2)
    backward(table, ids, rows)
    expected = summed((ids, rows))
    again, (places, values) = copy.deepcopy(table.grad), table.grad.coalesced()
    half = table.grad * 0.5
    assert half.rows().merged and half.count == NAMED and half.to(torch.float64).rows().merged
    values.zero_()
    places.zero_()
    table.grad.own_values().mul_(3.0)  # as a scaler does
    np.testing.assert_array_equal(half.numpy(), 0.5 * expected)
    np.testing.assert_array_equal(again.numpy(), expected)
    np.testing.assert_array_equal(table.grad.numpy(), np.float32(3.0) * expected)


def test_values_that_were_read_and_changed_are_stepped():
    table, (ids, rows) = weight(), batch(3)
    backward(table, ids, rows)
    start = table.numpy().copy()
    table.grad.data[:] = 2.0
    optimizer.SGD(1.0, parameters=[table]).step()
    np.testing.assert_array_equal(table.numpy(), start - 2.0)


def test_sums_are_kept_where_that_is_asked_and_forgotten_with_the_rows():
    ids, rows = torch.tensor([2, 0, 2, -1]), torch.arange(8.0).view(4, 2)
    gradient = RowGradient([(ids, rows, None, None)], (3, 2))
    assert gradient.sums()[1] is not gradient.sums()[1]
    kept = gradient.sums(keep=True)
    assert gradient.sums() is kept and gradient.coalesced()[1] is not kept[1]
    assert kept[0].tolist() == [2, 0] and kept[1].tolist() == [[4, 6], [2, 3]]
    gradient.own_values().mul_(2.0)
    assert gradient.coalesced()[1].tolist() == [[8, 12], [4, 6]]


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("count", [NAMED, 50])
def test_a_monitor_changes_no_bit(passes, count, loops):
    """Its sums are the step's too, but for a pass that comes after another."""
    tables = [nn.Embedding(COUNT, WIDTH) for _ in range(2)]
    tables[1].weight.set_value(tables[0].weight)
    rules = [optimizer.Adagrad(0.1, parameters=table.parameters()) for table in tables]
    for turn in range(3):
        for watched, table, rule in zip((True, False), tables, rules, strict=True):
            monitor = embedding.monitor(table)
            if watched:
                monitor.__enter__()
            loops.clear()
            for each in range(passes):
                ids, rows = batch(10 * turn + each)
                table(sampan.to_tensor(ids[:count])).backward(sampan.to_tensor(rows[:count]))
            rule.step()
            rule.clear_grad(False)
            if passes == 1:
                assert loops.count("row_sums") == 1
            if watched:
                monitor.__exit__()
    np.testing.assert_array_equal(tables[0].weight.numpy(), tables[1].weight.numpy())
