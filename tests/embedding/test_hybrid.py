"""A partially cached table, compared with a plain one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, optimizer
from sampan.embedding import hybrid, stores
from tests.embedding.cached_tables import COUNT, RULES, WIDTH, loss, made, plain


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=15)
@given(data=st.data())
def test_thousands_of_steps_end_where_a_plain_table_does(name, data):
    bounded, full = made(), plain()
    rules = [RULES[name](layer.parameters()) for layer in (bounded, full)]
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    ahead = data.draw(st.booleans())
    coming = None
    for _ in range(70):
        batches = coming or [rng.integers(0, COUNT, rng.integers(1, 6)) for _ in range(rng.integers(1, 3))]
        coming = None
        for layer, rule in zip((bounded, full), rules, strict=True):
            loss(layer, *batches).backward()
            if layer is bounded and ahead:
                coming = [rng.integers(0, COUNT, 8)]
                bounded.prefetch(sampan.to_tensor(coming[0]))
            rule.step()
            rule.clear_grad(False)
        if rng.random() < 0.1:
            bounded.flush()
        if rng.random() < 0.1:
            some = rng.integers(0, COUNT, 5)
            np.testing.assert_array_equal(bounded.rows(some), full.weight.numpy()[some])
    np.testing.assert_array_equal(bounded.rows(np.arange(COUNT)), full.weight.numpy())
    assert bounded.statistics()["evicted"] > 50


def test_it_goes_on_from_its_files(tmp_path):
    rng, full = np.random.default_rng(0), plain()
    rule = RULES["adagrad"](full.parameters())
    for _ in range(4):
        bounded = made(path=tmp_path)
        mine = RULES["adagrad"](bounded.parameters())
        for _ in range(10):
            ids = rng.integers(0, COUNT, 7)
            for layer, r in ((bounded, mine), (full, rule)):
                loss(layer, ids).backward()
                r.step()
                r.clear_grad(False)
        bounded.flush()
    np.testing.assert_array_equal(made(path=tmp_path).rows(np.arange(COUNT)), full.weight.numpy())
    with pytest.raises(ValueError, match="holds a table"):
        embedding.HybridEmbedding(COUNT, WIDTH + 1, 20, tmp_path)
    (tmp_path / "table.json").write_text("{")
    with pytest.raises(ValueError, match="description of a table"):
        made(path=tmp_path)


@pytest.mark.parametrize(
    ("kind", "bytes_a_row", "error"), [("float16", 16, 5e-4), ("bfloat16", 16, 4e-3), ("int8", 12, 4e-3)]
)
def test_rows_may_lie_in_fewer_bits(tmp_path, kind, bytes_a_row, error):
    layer = embedding.HybridEmbedding(60, 8, 10, tmp_path, store=kind, initializer=("normal", 0.5), seed=3)
    rule = RULES["adagrad"](layer.parameters())
    exact = embedding.HybridEmbedding(60, 8, 60, initializer=("normal", 0.5), seed=3)
    other = RULES["adagrad"](exact.parameters())
    for turn in range(30):
        ids = np.random.default_rng(turn).integers(0, 60, 6)
        for one, r in ((layer, rule), (exact, other)):
            loss(one, ids).backward()
            r.step()
            r.clear_grad(False)
    found, expected = layer.rows(np.arange(60)), exact.rows(np.arange(60))
    assert 0 < abs(found - expected).max() < 12 * error  # rounded at most ten times on the way
    assert sum(p.stat().st_size for p in tmp_path.glob("weight*.bin")) == 60 * bytes_a_row


def test_a_row_in_eight_bits_is_the_nearest_there_is(tmp_path):
    store = stores.Store(4, 3, "int8")
    rows = np.array([[1.0, -0.5, 0.25], [0, 0, 0], [1e-30, 0, 0], [300.0, 1.0, -300.0]], np.float32)
    store.write(np.arange(4), rows, np.arange(4))
    back = np.empty_like(rows)
    store.read(np.arange(4), back, np.arange(4))
    assert (abs(back - rows) <= abs(rows).max(1, keepdims=True) / 254 * 1.001).all()


def test_a_batch_that_does_not_fit_beside_the_present_one_is_brought_when_it_is_asked_for():
    layer, full = made(cache_rows=4), plain()
    rules = [RULES["adagrad"](one.parameters()) for one in (layer, full)]
    for ids in ([0, 1, 2], [3, 4, 5], [0, 5, 6, 7], [8, 1, 2]):
        coming = sampan.to_tensor(ids)
        layer.prefetch(coming)  # beside three or four others
        for one, rule in zip((layer, full), rules, strict=True):
            loss(one, np.array(ids)).backward()
            rule.step()
            rule.clear_grad(False)
    np.testing.assert_array_equal(layer.rows(np.arange(COUNT)), full.weight.numpy())
    with pytest.raises(ValueError, match="0 to 59, got -1"):
        layer.rows(np.array([3, -1]))


def test_the_least_recently_used_rows_give_way():
    layer = made(cache_rows=3)
    layer.eval()
    for ids in ([0, 1, 2], [0], [3], [1]):
        layer(sampan.to_tensor(ids))
    assert layer.statistics() == {"hits": 1, "misses": 5, "evicted": 2, "hit_rate": 1 / 6}
    layer(sampan.to_tensor([0, 3]))
    assert layer.statistics()["hits"] == 3


@settings(max_examples=80)
@given(
    batches=st.lists(
        st.tuples(st.lists(st.integers(0, 15), max_size=8), st.sampled_from(["keep", "step", "look"])),
        max_size=30,
    ),
    size=st.integers(1, 12),
)
def test_the_order_in_which_rows_leave_is_that_of_a_dictionary(batches, size):
    """Batch by batch, beside dictionaries whose last key is the newest; a batch that asks for too much changes nothing."""
    table = hybrid.Backed(16, size, 1, None, "float32", lambda rows, places, out: None)
    known, kept = {}, set()  # row: place, oldest first
    for ids, then in batches:
        array = np.array(ids, np.int64)
        if len(set(ids) | kept) > size:
            with pytest.raises(ValueError, match=f"at most {size} different .* got {len(set(ids) | kept)}"):
                table.ask(array, table.pinned)
            found = {row: int(table._place_of[row]) - 1 for row in range(16) if table._place_of[row]}
            assert found == known  # what is there; its order may be another
            return
        places, came, left, hits, gone = table.ask(array, table.pinned)
        asked, expected, new, old = {}, [], [], []
        for row in ids:
            place = known.pop(row, asked.pop(row, None))
            if place is None and len(known) + len(asked) < size:
                place = len(known) + len(asked)
                old.append(-1)
            elif place is None:
                while (oldest := next(iter(known))) in kept:
                    known[oldest] = known.pop(oldest)
                place = known.pop(oldest)
                old.append(oldest)
            if len(old) > len(new):
                new.append([row, place])
            asked[row] = place
            expected.append(place)
        known |= asked
        assert places.tolist() == expected and came.reshape(-1, 2).tolist() == new and left.tolist() == old
        assert (hits, gone) == (len(ids) - len(new), sum(row >= 0 for row in old))
        if then == "keep":
            table.pin(places)
            kept |= set(ids)
        elif then == "step":
            table._stepped, kept = True, set()


def test_skewed_ids_mostly_find_their_row_at_hand():
    rng = np.random.default_rng(1)
    layer = embedding.HybridEmbedding(10_000, 8, 2_000)
    layer.eval()
    for _ in range(30):
        layer(sampan.to_tensor(rng.zipf(1.3, 4000) % 10_000))
    assert layer.statistics()["hit_rate"] > 0.85


def test_memory_of_a_hundred_million_rows_is_not_taken():
    layer = embedding.HybridEmbedding(10**8, 64, 1000)
    assert layer(sampan.to_tensor([0, 99_999_999])).shape == [2, 64]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda p: optimizer.Adam(0.1, parameters=p), "Adam.*lazy_mode=True"),
        (lambda p: optimizer.Momentum(0.1, parameters=p), "Momentum"),
        (lambda p: optimizer.SGD(0.1, parameters=p, weight_decay=0.1), "weight decay"),
    ],
)
def test_a_rule_that_moves_every_row_is_refused_before_anything_moves(rule, words):
    layer = made()
    stepping = rule(layer.parameters())
    loss(layer, np.array([1, 2])).backward()
    before = layer.rows(np.arange(5))
    with pytest.raises(TypeError, match=words):
        stepping.step()
    np.testing.assert_array_equal(layer.rows(np.arange(5)), before)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: made()(sampan.to_tensor([60])), ValueError, "0 to 59, got 60"),
        (lambda: made()(sampan.to_tensor([0.5])), TypeError, "float32"),
        (lambda: made(2)(sampan.to_tensor([1, 2, 3])), ValueError, "at most 2 different ones .* got 3"),
        (
            lambda: [made_layer(sampan.to_tensor([i])) for made_layer in [made(2)] for i in range(3)],
            ValueError,
            "got 3",
        ),
        (lambda: made(0), ValueError, "cache_rows: expected 1 or more, got 0"),
        (lambda: embedding.HybridEmbedding(5, 4, 2, initializer=("x", 1)), ValueError, "initializer"),
        (
            lambda: embedding.HybridEmbedding(5, 4, 2, store="int4"),
            ValueError,
            "store: expected one of float32",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
