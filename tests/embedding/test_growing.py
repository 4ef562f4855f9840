"""What may happen around a table that grows: rows given away while their gradient is on its way, copies, conversions, other
threads, processes that die while saving, disks that are full."""

import copy
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, nn, optimizer
from sampan.embedding import storage
from tests.embedding.growing_tables import RULES, assert_same, batches, by_id, contents, made, trained, values

# --- rows whose gradient is on its way --------------------------------------------------------------------------------


def test_a_row_is_not_given_away_while_its_gradient_is_to_come():
    layer = made(capacity=4, eviction="lru")
    rule = optimizer.SGD(1.0, parameters=layer.parameters())
    first = layer(sampan.to_tensor([1, 2]))
    second = layer(sampan.to_tensor([3, 4]))
    with pytest.raises(MemoryError, match=r"2 rows of others.*4 of 4 .*still to come"):
        layer(sampan.to_tensor([5, 6]))
    (first.sum() + 2 * second.sum()).backward()
    with pytest.raises(MemoryError, match="still to come"):  # now it is in the gradient
        layer(sampan.to_tensor([5]))
    assert layer.evict(4) == 0
    rule.step()
    rule.clear_grad()
    np.testing.assert_allclose(
        by_id(layer, [1, 2, 3, 4]), values([1, 2, 3, 4]) - [[1.0], [1.0], [2.0], [2.0]]
    )
    layer(sampan.to_tensor([5, 6]))
    assert len(layer) == 4 and (layer.rows_of(np.array([5, 6])) >= 0).all()


def test_what_is_looked_up_and_thrown_away_holds_nothing_back():
    layer = made(capacity=4, eviction="lru")
    for start in range(0, 40, 4):
        layer(sampan.to_tensor(np.arange(start, start + 4)))
        with sampan.no_grad():
            kept = layer(sampan.to_tensor([start]))
    assert layer.evicted == 36 and kept.shape == [1, 4]


@settings(max_examples=25)
@given(data=st.data())
def test_accumulated_gradients_reach_the_ids_they_are_of(data):
    """A bounded table beside a dictionary: whatever is evicted in between, a step moves the ids that were asked for."""
    layer, known = made(capacity=14, eviction=data.draw(st.sampled_from(["lru", "lfu"]))), {}
    rule = optimizer.SGD(0.1, parameters=layer.parameters())
    for _ in range(20):
        counts: dict[int, float] = {}
        for _ in range(data.draw(st.integers(1, 3))):
            ids = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=4))
            before = {int(i) for i, n in zip(layer.ids.numpy(), layer.seen.numpy(), strict=True) if n}
            (layer(sampan.to_tensor(ids)).sum() * 3.0).backward()
            for i in ids:
                counts[i] = counts.get(i, 0.0) + 3.0
                if i not in before:
                    known[i] = values([i])[0]
        rule.step()
        rule.clear_grad(data.draw(st.booleans()))
        for i, count in counts.items():
            known[i] = known[i] - 0.1 * count
        np.testing.assert_allclose(
            by_id(layer, list(counts)), np.stack([known[i] for i in counts]), rtol=1e-9
        )


def test_the_table_may_grow_between_two_backwards_that_somebody_looks_at():
    layer = made(sparse=False)
    for ids in ([1, 2], [2, 3, 4], [900]):
        layer(sampan.to_tensor(ids)).sum().backward()
        layer.weight.grad.numpy()
    rule = optimizer.SGD(1.0, parameters=layer.parameters())
    layer(sampan.to_tensor([7]))  # and before the step
    rule.step()
    expected = values([1, 2, 3, 4, 7, 900]) - np.array([1, 2, 1, 1, 0, 1])[:, None]
    np.testing.assert_allclose(by_id(layer, [1, 2, 3, 4, 7, 900]), expected)


# --- padding, bounds -----------------------------------------------------------------------------------------------------


def test_a_negative_padding_counts_from_the_end_where_there_is_one():
    layer = made(padding_idx=-1)
    assert (layer(sampan.to_tensor([999, 5])).numpy()[0] == 0).all() and len(layer) == 1
    for wrong in (1000, -1001):
        with pytest.raises(ValueError, match=f"padding_idx: expected -1000 to 999, got {wrong}"):
            made(padding_idx=wrong)
    unbounded = embedding.DynamicEmbedding(None, 4, padding_idx=-1)
    assert (unbounded(sampan.to_tensor([-1, 5])).numpy()[0] == 0).all() and len(unbounded) == 1


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="admission: expected at most 65535"):
        made(admission=70_000)
    with pytest.raises(ValueError, match="0 or more, got -3"):
        made().evict(-3)
    with pytest.raises(ValueError, match=r"ids\[1, 0\]: expected an id from 0 to 999, got 1000"):
        made()(sampan.to_tensor([[1, 2], [1000, 3]]))
    with pytest.raises(TypeError, match="ids: expected a Tensor of int32 or int64, got list"):
        made()([1, 2])


def test_ids_at_the_ends_of_int64_train_save_and_load(tmp_path):
    ids = np.array([-(2**63), 2**63 - 1, 0, -1, 1, -(2**63)])
    layer = embedding.DynamicEmbedding(None, 4, dtype="float64", initializer=("normal", 0.5), seed=3)
    rule = optimizer.SGD(1.0, parameters=layer.parameters())
    trained(layer, rule, [ids])
    start = values(ids[:5])
    np.testing.assert_allclose(
        by_id(layer, ids[:5]), start - 3 * start**2 * np.array([2, 1, 1, 1, 1])[:, None]
    )
    layer.save(tmp_path)
    again = embedding.DynamicEmbedding(None, 4, dtype="float64")
    again.load(tmp_path)
    np.testing.assert_array_equal(by_id(again, ids), by_id(layer, ids))


# --- copies and conversions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_takes_the_rows_that_there_are_and_lives_on_its_own(copied):
    layer = made(capacity=50_000_000, admission=2)
    rule = RULES["adagrad"](layer.parameters())
    trained(layer, rule, batches(4))
    layer.eval()
    other = copied(layer)
    assert_same(layer, other)
    assert not other.training and other.refused == layer.refused and other.capacity == layer.capacity
    before = contents(layer)
    other.train()
    trained(other, RULES["adagrad"](other.parameters()), batches(6))
    for a, b in zip(contents(layer), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(other) > len(layer)


def test_a_network_that_is_converted_leaves_the_table_alone():
    for layer in (made(), embedding.HybridEmbedding(60, 4, 20)):
        network = nn.Sequential(layer, nn.Linear(4, 2))
        kept = layer.weight.dtype
        network.to(dtype="bfloat16")
        assert layer.weight.dtype is kept
        rule = optimizer.SGD(0.1, parameters=layer.parameters())
        for ids in ([1, 2], [3, 4, 5]):  # it grows after the conversion
            layer(sampan.to_tensor(ids)).sum().backward()
            rule.step()
            rule.clear_grad()
        assert (network[1].weight.astype("float32").numpy() != 0).any()
        now = layer(sampan.to_tensor([1, 2, 3])).numpy()
        fresh = type(layer)(1000, 4, **({"dtype": "float64", "initializer": ("normal", 0.5), "seed": 3} if layer.weight.dtype.itemsize == 8 else {"cache_rows": 20}))  # fmt: skip
        np.testing.assert_allclose(now, fresh(sampan.to_tensor([1, 2, 3])).numpy() - 0.1, rtol=1e-5)


def test_a_smaller_table_takes_the_place_of_a_larger_one():
    small, large = made(), made()
    small(sampan.to_tensor([1, 2]))
    large(sampan.to_tensor([3, 4, 5, 6]))
    large.set_state_dict(small.state_dict())
    assert len(large) == 2
    np.testing.assert_array_equal(by_id(large, [1, 2]), by_id(small, [1, 2]))
    assert large.rows_of(np.array([3, 6])).tolist() == [-1, -1]
    large(sampan.to_tensor([3, 7, 8]))
    np.testing.assert_array_equal(by_id(large, [3, 7, 8]), values([3, 7, 8]))


def test_others_may_look_rows_up_while_one_trains():
    layer = embedding.DynamicEmbedding(None, 4, dtype="float64", initializer=("normal", 0.5), seed=3)
    known = np.arange(2_000)
    layer(sampan.to_tensor(known))
    wrong, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            rows = layer.rows_of(known)
            if (rows != np.arange(2_000)).any():
                wrong.append(rows)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(60):  # segments split meanwhile
        layer(sampan.to_tensor(np.arange(5_000 * turn, 5_000 * (turn + 1))))
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong and len(layer) == 300_000


# --- on disk ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adagrad", "adam", "lazy adam"])
def test_loaded_rows_bring_their_optimizers_state(tmp_path, name):
    rules = {**RULES, "lazy adam": lambda p: optimizer.Adam(0.01, parameters=p, lazy_mode=True)}
    asked = batches(24, high=60)
    unbroken = made()
    trained(unbroken, rules[name](unbroken.parameters()), asked)
    layer = made()
    rule = rules[name](layer.parameters())
    for turn in range(0, 24, 4):
        trained(layer, rule, asked[turn : turn + 4])
        layer.save(tmp_path)
        layer = made()
        layer.load(tmp_path)
        rule = rules[name](layer.parameters())
    ids = np.unique(asked)
    np.testing.assert_allclose(by_id(layer, ids), by_id(unbroken, ids), rtol=1e-12)


def test_an_optimizers_own_state_fits_after_evictions(tmp_path):
    layer = made(capacity=30, eviction="lru")
    rule = optimizer.Adam(0.01, parameters=layer.parameters())
    trained(layer, rule, batches(12, high=200))
    layer.evict(11)
    layer.save(tmp_path)
    state = copy.deepcopy(rule.state_dict())
    again = made(capacity=30, eviction="lru")
    again.load(tmp_path)
    resumed = optimizer.Adam(0.01, parameters=again.parameters())
    resumed.set_state_dict(state)
    more = batches(3, low=50, high=60)
    trained(layer, rule, more)
    trained(again, resumed, more)
    ids = np.unique(more)
    np.testing.assert_array_equal(by_id(layer, ids), by_id(again, ids))


def test_another_optimizers_state_is_not_taken_for_its_own(tmp_path):
    layer = made()
    trained(layer, optimizer.Momentum(0.1, parameters=layer.parameters()), batches(4, high=20))
    layer.save(tmp_path)
    loaded, plain = made(), made()
    loaded.load(tmp_path)
    plain.set_state_dict(layer.state_dict())
    for other in (loaded, plain):
        trained(other, RULES["adagrad"](other.parameters()), batches(2, high=20))
    np.testing.assert_array_equal(by_id(loaded, range(20)), by_id(plain, range(20)))


@pytest.mark.parametrize("moment", ["between look-up and step", "after an exact step", "after two look-ups"])
def test_nothing_that_a_step_moved_is_left_out_of_the_next_file(tmp_path, moment):
    layer = made()
    rule = RULES["adam" if moment == "after an exact step" else "sgd"](layer.parameters())
    trained(layer, rule, batches(3))
    layer.save(tmp_path)
    if moment == "after an exact step":
        trained(layer, rule, [np.array([5])])  # moves all the others
    else:
        for ids in batches(2 if moment == "after two look-ups" else 1, high=50):
            (layer(sampan.to_tensor(ids)) ** 2).sum().backward()
        layer.save(tmp_path)
        rule.step()
    layer.save(tmp_path)
    again = made()
    again.load(tmp_path)
    assert_same(layer, again)


def counted(count=3):
    return made(admission=count)


def seen_so_far(folder, *asked):
    """A table that sees these batches, each after what was saved before was loaded into a new one."""
    layer = counted()
    for ids in asked:
        layer(sampan.to_tensor(ids))
        layer.save(folder)
        layer = counted()
        layer.load(folder)
    return layer


def test_an_id_that_waits_for_its_row_goes_on_waiting_where_it_was(tmp_path):
    layer = seen_so_far(tmp_path, [7, 7, 8], [8, 9])
    files = sorted(tmp_path.glob("rows-*"))
    assert len(files) == 2 and max(f.stat().st_size for f in files) < 4000  # what has changed alone
    layer(sampan.to_tensor([7, 8, 9]))
    assert (layer.rows_of(np.array([7, 8, 9])) >= 0).tolist() == [True, True, False]
    layer.save(tmp_path, whole=True)
    assert len(list(tmp_path.glob("rows-*"))) == 1
    again = counted()
    again.load(tmp_path)
    np.testing.assert_array_equal(again.sketch, layer.sketch)
    again(sampan.to_tensor([9]))
    assert len(again) == 3


def test_counts_of_a_state_dict_and_counts_that_fell_are_saved_too(tmp_path):
    layer, fresh = seen_so_far(tmp_path, [5, 5, 6]), counted()
    other = counted()
    other.set_state_dict(layer.state_dict())
    other(sampan.to_tensor([5]))
    assert len(other) == 1
    layer.set_state_dict(fresh.state_dict())
    layer.save(tmp_path)
    again = counted()
    again.load(tmp_path)
    assert not again.sketch.any()


@settings(max_examples=10)
@given(data=st.data())
def test_counts_after_any_saves_are_those_of_a_table_that_was_never_saved(tmp_path_factory, data):
    folder, unbroken = tmp_path_factory.mktemp("table"), counted()
    asked = data.draw(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=5), min_size=1, max_size=6))
    layer = seen_so_far(folder, *asked)
    for ids in asked:
        unbroken(sampan.to_tensor(ids))
    np.testing.assert_array_equal(layer.sketch, unbroken.sketch)
    assert_same(layer, unbroken)


def test_a_folder_without_counts_is_read_and_they_begin_again(tmp_path):
    layer = seen_so_far(tmp_path, [1, 1, 1, 2, 2])
    file = next(tmp_path.glob("rows-*"))
    sampan.save({k: v for k, v in sampan.load(file).items() if not k.startswith("count")}, file)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 3', '"format": 2'))
    old = counted()
    old.load(tmp_path)
    assert_same(layer, old)
    old(sampan.to_tensor([2]))
    assert len(old) == 1
    old.save(tmp_path)
    assert '"format": 3' in manifest.read_text()
    manifest.write_text(manifest.read_text().replace('"format": 3', '"format": 4'))
    with pytest.raises(ValueError, match="expected format 2 or 3"):
        counted().load(tmp_path)


def test_a_table_that_admits_at_once_reads_what_others_counted(tmp_path):
    seen_so_far(tmp_path, [1, 1, 1, 2])
    layer = made()
    layer.load(tmp_path)
    layer(sampan.to_tensor([3]))
    layer.save(tmp_path)
    again = counted()
    again.load(tmp_path)
    assert again.sketch.any() and len(again) == 2


@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_a_save_that_fails_leaves_the_counts_for_the_next_one(tmp_path, monkeypatch, moment):
    """moment: which of the two files' writes fails, at its end or before its name."""
    layer = counted()
    layer(sampan.to_tensor([1]))
    layer.save(tmp_path)
    layer(sampan.to_tensor([1, 2]))
    left = [moment]

    def failing(*given, **names):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("nothing was changed")
        return kept(*given, **names)

    kept = os.fsync
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="nothing was changed"):
        layer.save(tmp_path)
    monkeypatch.setattr(os, "fsync", kept)
    again = counted()
    again.load(tmp_path)
    assert again.lookups in (1, 2)
    layer.save(tmp_path)
    again = counted()
    again.load(tmp_path)
    np.testing.assert_array_equal(again.sketch, layer.sketch)


def test_values_that_somebody_sets_are_in_the_next_file(tmp_path):
    layer, other = made(), made()
    layer(sampan.to_tensor([1, 2, 3]))
    layer.save(tmp_path)
    other(sampan.to_tensor([7]))
    layer.set_state_dict(other.state_dict())
    layer.save(tmp_path)
    again = made()
    again.load(tmp_path)
    assert_same(again, other)


def test_a_table_that_is_never_saved_does_not_remember_what_it_evicted():
    layer = made(capacity=10, eviction="lru")
    for turn in range(50):
        layer(sampan.to_tensor(np.arange(turn * 5, turn * 5 + 5)))
    assert layer.evicted > 200 and not layer.removed


WRITER = """
import os, sys, threading, numpy as np, sampan
from sampan import embedding, optimizer
folder, seconds = sys.argv[1], float(sys.argv[2])
layer = embedding.DynamicEmbedding(None, 4, dtype="float64", initializer=("constant", 0.0), capacity=20_000, eviction="lru")
rule = optimizer.SGD(1.0, parameters=layer.parameters())
if os.path.exists(folder + "/manifest.json"):
    layer.load(folder)
rng = np.random.default_rng(os.getpid())
for turn in range(10_000 if seconds else 12):
    # every value of a row becomes the number of its look-up, so that a row of another moment or half a row would show
    ids = np.unique(rng.integers(0, 60_000, 3_000))
    rows, before = layer.rows_of(ids), np.zeros((len(ids), 4))
    before[rows >= 0] = layer.weight.numpy()[rows[rows >= 0]]
    wanted = layer.lookups + 1
    (layer(sampan.to_tensor(ids)) * sampan.to_tensor(before - wanted)).sum().backward()
    rule.step()
    rule.clear_grad()
    layer.save(folder)
    if turn == 0 and seconds:  # its first save stands
        threading.Timer(seconds, os.kill, (os.getpid(), 9)).start()
"""


def writer(folder, seconds=0.0):
    """A process that saves again and again, and is killed some seconds after its first save, if any."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WRITER, str(folder), f"{seconds:.4f}"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=alone)


def whole_and_of_one_moment(folder):
    layer = embedding.DynamicEmbedding(None, 4, dtype="float64", capacity=20_000)
    layer.load(folder)
    there = layer.seen.numpy() > 0
    np.testing.assert_array_equal(
        layer.weight.numpy()[there], np.repeat(layer.last.numpy()[there, None], 4, 1).astype(float)
    )
    assert layer.last.numpy().max() == layer.lookups and len(layer) == there.sum() <= 20_000
    return layer.lookups


KILLS = int(os.environ.get("SAMPAN_KILLS", "2"))


def test_killed_at_any_moment_the_folder_holds_a_whole_save(tmp_path):
    """SAMPAN_KILLS: how often; fifty and more by hand."""
    folder, rng, moment = tmp_path / "table", np.random.default_rng(KILLS), 0
    for _ in range(KILLS):
        killed = writer(folder, rng.uniform(0.0001, 0.15))
        told = killed.communicate()[1]
        assert killed.returncode == -signal.SIGKILL, told
        now = whole_and_of_one_moment(folder)
        assert now > moment
        moment = now
    layer = embedding.DynamicEmbedding(None, 4, dtype="float64", capacity=20_000)
    layer(sampan.to_tensor([1]))
    layer.save(folder)
    left = [".lock", "manifest.json", *sorted(p.name for p in folder.glob("rows-*"))]
    assert sorted(p.name for p in folder.iterdir()) == left and len(left) == 3  # what the dead left is gone


def test_readers_beside_a_writer_always_find_a_whole_save(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MOST_FILES", 2)  # so that files are removed during reads
    folder, layer, seen = tmp_path / "table", made(), []
    layer(sampan.to_tensor([0]))
    layer.save(folder)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            other = made()
            other.load(folder)
            seen.append((len(other), other.lookups))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(1, 40):
        layer(sampan.to_tensor([turn]))
        layer.save(folder)
    time.sleep(0.05)
    stop.set()
    reader.join()
    assert seen and all(count == lookups for count, lookups in seen) and seen == sorted(seen)


def test_two_writers_take_turns(tmp_path):
    both = [writer(tmp_path / "table") for _ in range(2)]
    told = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    assert whole_and_of_one_moment(tmp_path / "table") >= 12


def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path):
    layer = made()
    rule = RULES["sgd"](layer.parameters())
    trained(layer, rule, batches(2))
    layer.save(tmp_path)
    expected = contents(layer)
    trained(layer, rule, batches(30))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="nothing was changed"):
            layer.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    again = made()
    again.load(tmp_path)
    for a, b in zip(contents(again), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    layer.save(tmp_path)  # space is free again: all changes are written
    third = made()
    third.load(tmp_path)
    assert_same(layer, third)
    assert not list(tmp_path.glob(".*.tmp"))


def test_files_that_are_not_rows_are_refused_and_nothing_is_taken(tmp_path):
    layer = made()
    layer(sampan.to_tensor([1, 2, 3]))
    file = layer.save(tmp_path)
    good = sampan.load(file)
    empty = made()
    for wrong, words in (
        ({k: v for k, v in good.items() if k != "last"}, "'last'"),
        ([1, 2], "something else"),
        ({**good, "rows": good["rows"][:2]}, "expected 3 rows of 4"),
        ({**good, "rows": good["rows"].tile([1, 2])}, "expected 3 rows of 4"),
        ({**good, "places": -good["places"] - 1}, "expected 3 rows of 4"),
        ({**good, "state.moment": good["rows"][:, :1]}, "expected 3 rows of 4"),
        ({**good, "counters": good["places"]}, "'counts'"),
        ({**good, "counters": good["places"], "counts": good["places"]}, "expected 3 rows of 4"),
        (
            {**good, "counters": good["places"] - 1, "counts": good["places"].astype("int16")},
            "expected 3 rows of 4",
        ),
        (
            {**good, "counters": good["places"] + 2**22, "counts": good["places"].astype("int16")},
            "expected 3 rows",
        ),
    ):
        sampan.save(wrong, file)
        with pytest.raises(ValueError, match=words):
            empty.load(tmp_path)
        assert len(empty) == 0
    sampan.save(good, file)
    with pytest.raises(MemoryError, match="at most the capacity, 2, got 3"):
        made(capacity=2).load(tmp_path)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        empty.load(tmp_path)


def test_a_table_of_many_segments_goes_on_after_it_was_restored():
    layer, other = (embedding.DynamicEmbedding(None, 2, capacity=30_000) for _ in range(2))
    layer(sampan.to_tensor(np.arange(10_000)))
    layer.evict(1_000)
    other.set_state_dict(layer.state_dict())
    for one in (layer, other):
        one(sampan.to_tensor(np.arange(5_000, 20_000)))
        assert len(one) == len(np.unique(one.rows_of(np.arange(5_000, 20_000)))) + (one.rows_of(np.arange(5_000)) >= 0).sum()  # fmt: skip
    assert len(layer) == len(other) and len(layer.weight) == len(other.weight)
