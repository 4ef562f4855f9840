"""Rows made when an id is first seen, beside a plain table that has them all from the start."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, nn, optimizer
from tests.embedding.growing_tables import RULES, assert_same, batches, by_id, contents, made, trained, values


@pytest.mark.parametrize("name", RULES)
def test_it_trains_as_a_table_that_has_all_rows(name):
    layer, plain = made(), nn.Embedding(1000, 4)
    plain.weight = nn.Parameter(sampan.to_tensor(values(range(1000))))
    asked = batches(30)
    trained(layer, RULES[name](layer.parameters()), asked)
    trained(plain, RULES[name](plain.parameters()), asked)
    seen = np.unique(asked)
    assert len(layer) == len(seen) == len(layer.weight)
    np.testing.assert_allclose(by_id(layer, seen), plain.weight.numpy()[seen], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["adagrad", "adam"])
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(tmp_path, name):
    asked = batches(20)
    unbroken = made()
    trained(unbroken, RULES[name](unbroken.parameters()), asked)
    first = made()
    rule = RULES[name](first.parameters())
    trained(first, rule, asked[:9])
    first.evict(7)
    sampan.save({"layer": first.state_dict(), "rule": rule.state_dict()}, tmp_path / "half")
    second = made()
    resumed = RULES[name](second.parameters())
    kept = sampan.load(tmp_path / "half")
    second.set_state_dict(kept["layer"])
    resumed.set_state_dict(kept["rule"])
    trained(second, resumed, asked[9:])
    trained(first, rule, asked[9:])
    ids = np.unique(np.concatenate([a.ravel() for a in asked[9:]]))
    np.testing.assert_array_equal(by_id(first, ids), by_id(second, ids))
    assert len(first) == len(second)


def test_a_hundred_million_ids_cost_what_was_seen():
    layer = embedding.DynamicEmbedding(10**8, 64)
    ids = np.random.default_rng(0).integers(0, 10**8, 2000)
    layer(sampan.to_tensor(ids))
    facts = layer.statistics()
    assert facts["ids"] == len(np.unique(ids)) and facts["saved"] > 0.999
    assert facts["bytes"] == len(np.unique(ids)) * (64 * 4 + 24)


def test_values_do_not_depend_on_the_order_of_arrival():
    one, other = made(), made()
    one(sampan.to_tensor([5, 900, 17]))
    other(sampan.to_tensor([17, 2, 5]))
    other(sampan.to_tensor([900]))
    np.testing.assert_array_equal(by_id(one, [5, 17, 900]), by_id(other, [5, 17, 900]))
    np.testing.assert_array_equal(by_id(one, [5]), values([5]))


def test_in_eval_no_row_is_made():
    layer = made()
    layer(sampan.to_tensor([5]))
    layer.eval()
    out = layer(sampan.to_tensor([[5, 6]]))
    assert len(layer) == 1 and (out.numpy()[0, 1] == 0).all() and (out.numpy()[0, 0] != 0).all()
    empty = made()
    empty.eval()
    assert empty(sampan.to_tensor([[1, 2]])).shape == [1, 2, 4]


def test_padding_never_has_a_row():
    layer = made(padding_idx=0)
    out = layer(sampan.to_tensor([0, 5, 0]))
    out.sum().backward()
    assert len(layer) == 1 and (out.numpy()[[0, 2]] == 0).all()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.ones((1, 4)))


def test_an_id_is_admitted_when_it_was_seen_often_enough():
    layer = made(admission=3)
    assert (layer(sampan.to_tensor([7, 7])).numpy() == 0).all() and len(layer) == 0
    assert (layer(sampan.to_tensor([7, 8])).numpy()[0] != 0).all() and len(layer) == 1
    assert layer.refused == 3


class Model:
    """What a bounded table should hold, as slowly and plainly as can be."""

    def __init__(self, capacity, eviction):
        self.capacity, self.eviction, self.moment, self.use = capacity, eviction, 0, {}

    def going(self, ids):
        """How many must go for `ids`, and which may."""
        needed = len(set(ids) - set(self.use)) - (self.capacity - len(self.use))
        count = max(needed, int(self.capacity * embedding.dynamic.EVICTED_SHARE)) if needed > 0 else 0
        return count, set(self.use) - set(ids)

    def see(self, ids):
        self.moment += 1
        for i in ids:
            self.use[i] = (self.moment, self.use.get(i, (0, 0))[1] + 1)


@pytest.mark.parametrize("eviction", embedding.dynamic.EVICTIONS)
@settings(max_examples=30)
@given(data=st.data())
def test_the_least_used_rows_make_room(eviction, data):
    layer, model = made(capacity=12, eviction=eviction), Model(12, eviction)
    for _ in range(25):
        ids = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=6))
        count, candidates = model.going(ids)
        layer(sampan.to_tensor(ids))
        held = {int(i): int(n) for i, n in zip(layer.ids.numpy(), layer.seen.numpy(), strict=True) if n}
        gone = set(model.use) - set(held)
        assert gone <= candidates and len(gone) == min(count, len(candidates))
        use = {i: model.use[i][eviction == "lfu"] for i in candidates}
        kept = candidates - gone  # with equal use either may go
        assert not gone or not kept or max(use[i] for i in gone) <= min(use[i] for i in kept)
        for i in gone:
            del model.use[i]
        model.see(ids)
        assert held == {i: times for i, (_, times) in model.use.items()} and len(layer) == len(held) <= 12


def test_a_row_that_changes_hands_begins_anew():
    layer = made(capacity=2, eviction="lru")
    rule = optimizer.Adagrad(0.1, parameters=layer.parameters())
    trained(layer, rule, [np.array([[1, 2]]), np.array([[2, 2]]), np.array([[3, 2]])])
    fresh = made()
    again = optimizer.Adagrad(0.1, parameters=fresh.parameters())
    trained(fresh, again, [np.array([[3]])])
    np.testing.assert_allclose(by_id(layer, [3]), by_id(fresh, [3]))


def test_rows_not_seen_for_long_are_taken_away():
    layer = made()
    for ids in ([1, 2], [2, 3], [3]):
        layer(sampan.to_tensor(ids))
    assert layer.evict(max_age=1) == 2
    assert layer.rows_of(np.array([1, 2, 3])).tolist() == [-1, -1, 1 + 1]
    assert layer.statistics()["evicted"] == 2 and layer.statistics()["most_seen"] == [(3, 2)]


def test_only_what_changed_is_written_and_all_of_it_is_read(tmp_path):
    layer = made()
    rule = optimizer.Adagrad(0.1, parameters=layer.parameters())
    sizes = []
    for turn, high in enumerate((1000, 40, 40, 40)):
        trained(layer, rule, [np.random.default_rng(turn).integers(0, high, (20, 10))])
        if turn == 2:
            layer.evict(5)
        sizes.append(layer.save(tmp_path / "table").stat().st_size)
        again = made()
        again.load(tmp_path / "table")
        assert_same(layer, again)
        assert again.lookups == layer.lookups
    assert max(sizes[1:]) < sizes[0] / 3
    trained(again, optimizer.Adagrad(0.1, parameters=again.parameters()), [np.array([[1, 2]])])
    again.save(tmp_path / "table")  # another table goes on in the same folder
    third = made()
    third.load(tmp_path / "table")
    assert_same(again, third)
    assert len(list((tmp_path / "table").glob("rows-*"))) == 5


def test_after_many_files_everything_is_written_once(tmp_path):
    layer = made()
    for turn in range(embedding.storage.MOST_FILES + 2):
        layer(sampan.to_tensor([turn]))
        layer.save(tmp_path)
    assert len(list(tmp_path.glob("rows-*"))) == 2
    again = made()
    again.load(tmp_path)
    assert_same(layer, again)


@pytest.mark.parametrize("moment", ["in the file", "before the manifest"])
def test_a_kill_while_saving_leaves_the_last_save(tmp_path, moment):
    layer = made(admission=2)
    layer(sampan.to_tensor([1, 2, 3, 1, 2, 3, 6]))
    layer.save(tmp_path)
    expected = contents(layer)
    program = f"""
import os, numpy as np, sampan
from sampan import embedding
from sampan.embedding import storage
layer = embedding.DynamicEmbedding(1000, 4, dtype="float64", initializer=("normal", 0.5), seed=3, admission=2)
layer.load({str(tmp_path)!r})
layer(sampan.to_tensor([4, 4, 5, 5, 1, 6]))
if {moment == "in the file"}:
    from sampan import serialization
    serialization.os.fsync = lambda handle: os.kill(os.getpid(), 9)
else:
    storage.replacing = lambda path: os.kill(os.getpid(), 9)
layer.save({str(tmp_path)!r})
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    again = made(admission=2)
    again.load(tmp_path)
    for a, b in zip(contents(again), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.sketch, layer.sketch)
    again(sampan.to_tensor([6]))
    assert len(again) == 4
    again.save(tmp_path)
    assert len(list(tmp_path.glob("rows-*.safetensors"))) == 2  # what the dead one left is gone


def test_a_damaged_folder_is_refused_and_nothing_is_taken(tmp_path):
    layer = made()
    layer(sampan.to_tensor([1, 2, 3]))
    file = layer.save(tmp_path)
    whole = file.read_bytes()
    again = made()
    for broken in (whole[: len(whole) // 2], whole[:-9] + b"123456789", b""):
        file.write_bytes(broken)
        with pytest.raises(ValueError, match=r"rows-000001"):
            again.load(tmp_path)
        assert len(again) == 0
    file.write_bytes(whole)
    with pytest.raises(ValueError, match="empty table"):
        layer.load(tmp_path)
    with pytest.raises(ValueError, match="rows of 5, got 4"):
        embedding.DynamicEmbedding(1000, 5).load(tmp_path)
    (tmp_path / "manifest.json").write_text(
        '{"format": 1, "files": ["../../etc/passwd"], "embedding_dim": 4}'
    )
    with pytest.raises(ValueError, match="names of files beside it"):
        again.load(tmp_path)
    (tmp_path / "manifest.json").write_text("not json")
    with pytest.raises(ValueError, match="manifest"):
        again.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing was saved here"):
        again.load(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: made()(sampan.to_tensor([1000])), ValueError, "0 to 999, got 1000"),
        (lambda: made()(sampan.to_tensor([-1])), ValueError, "got -1"),
        (lambda: made()(sampan.to_tensor([0.5])), TypeError, "int32 or int64, got float32"),
        (lambda: made(capacity=2)(sampan.to_tensor([1, 2, 3])), MemoryError, "capacity is 2"),
        (
            lambda: made(capacity=2, eviction="lru")(sampan.to_tensor([1, 2, 3])),
            MemoryError,
            "3 ids, more than 2",
        ),
        (lambda: made(eviction="fifo"), ValueError, "lru, lfu"),
        (lambda: made(admission=0), ValueError, "admission"),
        (lambda: embedding.DynamicEmbedding(0, 4), ValueError, "num_embeddings"),
        (
            lambda: embedding.DynamicEmbedding(5, 4, initializer=("xavier", 1)),
            ValueError,
            "constant, uniform, normal",
        ),
        (lambda: embedding.DynamicEmbedding(5, 4, dtype="int8"), ValueError, "dtype"),
        (lambda: made().evict(), ValueError, "either count or max_age"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_batch_that_does_not_fit_changes_nothing():
    layer = made(capacity=3)
    layer(sampan.to_tensor([1, 2]))
    with pytest.raises(MemoryError):
        layer(sampan.to_tensor([3, 4, 5]))
    assert len(layer) == 2
    assert layer(sampan.to_tensor([4])).shape == [1, 4] and len(layer) == 3


def test_any_int64_is_an_id_where_no_bound_is_given():
    layer = embedding.DynamicEmbedding(None, 3, capacity=10)
    layer(sampan.to_tensor(np.array([-(2**63), 2**63 - 1, 0])))
    assert len(layer) == 3 and layer.statistics()["saved"] is None


def test_it_is_found_in_the_room_of_sparse_things():
    layer = sampan.sparse.Embedding(num_embeddings=10**8, embedding_dim=64, sparse=True)
    assert isinstance(layer, embedding.DynamicEmbedding) and layer.num_embeddings == 10**8
