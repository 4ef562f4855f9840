"""Rows in a real Redis server, beside a dictionary; read while they change, and while the server dies."""

import shutil
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, nn, optimizer
from sampan.embedding import RedisRows, RowsUnavailable
from tests.embedding import redis_server

if shutil.which("redis-server") is None:
    pytest.skip("no Redis on this machine (apt-get install redis-server)", allow_module_level=True)
redis = pytest.importorskip("redis", reason="no Redis client (pip install sampan[redis])")

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def shared():
    with redis_server.running() as server:
        yield server


@pytest.fixture
def server(shared):
    with redis.Redis.from_url(shared.url) as client:
        client.flushall()
    return shared


@pytest.fixture
def doomed():
    """A server that a test may kill."""
    with redis_server.running() as server:
        yield server


def rows_of(ids, dim=4):
    return np.random.default_rng(0).normal(size=(len(ids), dim)).astype(np.float32)


def test_rows_come_back(server):
    ids = np.array([3, -7, 2**62, 0])
    with RedisRows(server.url, 4, name="items", batch=2) as table:
        assert table.put(ids, rows_of(ids)) == 1
        found, there = table.find([2**62, 5, 3])
        np.testing.assert_array_equal(found, [rows_of(ids)[2], np.zeros(4), rows_of(ids)[0]])
        assert there.tolist() == [True, False, True] and len(table) == 4 and table.version == 1
        assert table.get([]).shape == (0, 4) and found.dtype == np.float32
        table.put([3], sampan.to_tensor([[1, 2, 3, 4]]))
        assert table.remove([0, 99]) == 3
        np.testing.assert_array_equal(table.get(sampan.to_tensor([3, 0])), [[1, 2, 3, 4], [0] * 4])
    with redis.Redis.from_url(server.url) as client:  # as any other program sees it
        assert client.get("items:0:3") == np.array([1, 2, 3, 4], "<f4").tobytes()


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "remove", "replace"]), st.sets(st.integers(-3, 12))), max_size=8
    )
)
def test_as_a_dictionary(shared, steps):
    with redis.Redis.from_url(shared.url) as client:
        client.flushall()
    known: dict[int, np.ndarray] = {}
    rng = np.random.default_rng(0)
    with RedisRows(shared.url, 3, batch=2) as table, RedisRows(shared.url, 3, batch=5) as other:
        for turn, (what, chosen) in enumerate(steps, 1):
            ids = np.array(sorted(chosen), np.int64)
            rows = rng.normal(size=(len(ids), 3)).astype(np.float32)
            if what == "remove":
                version = table.remove(ids)
                known = {key: row for key, row in known.items() if key not in chosen}
            else:
                version = table.put(ids, rows) if what == "put" else table.replace(iter([(ids, rows)]))
                known = (known if what == "put" else {}) | dict(zip(ids.tolist(), rows, strict=True))
            assert version == table.version == turn
            found, there = other.find(np.arange(-4, 14))
            assert there.tolist() == [key in known for key in range(-4, 14)]
            expected = [known.get(key, np.zeros(3, np.float32)) for key in range(-4, 14)]
            np.testing.assert_array_equal(found, expected)
            assert len(other) == len(known)


def test_float16(server):
    rows = rows_of(range(5))
    with RedisRows(server.url, 4, dtype="float16") as table:
        table.put(range(5), rows)
        np.testing.assert_array_equal(table.get(range(5)), rows.astype(np.float16).astype(np.float32))
        with pytest.raises(ValueError, match=r"rows\[1\]: expected finite numbers that float16 can hold"):
            table.put([1, 2], [[0, 0, 0, 0], [0, 0, 0, 1e6]])
        with redis.Redis.from_url(server.url) as client:
            assert client.strlen("table:0:1") == 8


def test_tables_do_not_see_each_other(server):
    with RedisRows(server.url, 2, name="a") as one, RedisRows(server.url, 2, name="ab") as other:
        one.put([1], [[1, 1]])
        other.put([1, 2], [[2, 2], [3, 3]])
        one.replace(np.zeros((1, 2), np.float32))
        assert other.get([1, 2]).tolist() == [[2, 2], [3, 3]] and len(one) == 1
        one.clear()
        assert len(other) == 2 and other.version == 1
        with pytest.raises(ValueError, match="'a' was cleared"):
            one.get([1])
    with redis.Redis.from_url(server.url) as client:
        assert not client.keys("a:*")


def test_no_change_is_seen_in_part(server):
    """Two programs change all rows, by put and by replace, while two others read: every answer has one number everywhere."""
    ids, stop, seen, problems = np.arange(40), threading.Event(), set(), []
    with RedisRows(server.url, 2, batch=7) as table:
        table.put(ids, np.zeros((40, 2), np.float32))

    def write(first, replace):
        with RedisRows(server.url, 2, batch=7) as mine:
            for turn in range(first, 60, 2):
                rows = np.full((40, 2), turn, np.float32)
                if replace:
                    mine.replace(iter([(ids[:13], rows[:13]), (ids[13:], rows[13:])]))
                else:
                    mine.put(ids, rows)

    def read():
        with RedisRows(server.url, 2, batch=11) as mine:
            while not stop.is_set():
                rows, there = mine.find(ids)
                if not there.all() or len(np.unique(rows)) != 1:
                    problems.append((there, rows))
                seen.add(float(rows[0, 0]))

    def guarded(call, *arguments):
        try:
            call(*arguments)
        except Exception as error:
            problems.append(error)

    readers = [threading.Thread(target=guarded, args=(read,)) for _ in range(2)]
    writers = [threading.Thread(target=guarded, args=(write, 2 + k, bool(k))) for k in range(2)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not problems and len(seen) > 2


def test_one_replaces_at_a_time_and_a_killed_one_leaves_the_old_table(server):
    with RedisRows(server.url, 2, batch=2) as table, RedisRows(server.url, 2) as other:
        table.put([1, 2], [[1, 1], [2, 2]])

        def blocks():
            yield np.arange(6), np.ones((6, 2), np.float32)
            with pytest.raises(ValueError, match="is being replaced by another program"):
                other.replace(np.zeros((1, 2), np.float32))
            assert other.get([1, 5]).tolist() == [[1, 1], [0, 0]]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            table.replace(blocks())
        assert other.get([1, 5]).tolist() == [[1, 1], [0, 0]] and len(other) == 2
        other.replace(np.full((3, 2), 9, np.float32))
        assert table.get([1, 2]).tolist() == [[9, 9], [9, 9]] and len(table) == 3
        with redis.Redis.from_url(server.url) as client:  # nothing is left of the one that was broken off
            assert len(client.keys("table:*:*")) == 3 and not client.exists("table:lock")

        def lost():
            yield np.arange(2), np.zeros((2, 2), np.float32)
            with redis.Redis.from_url(server.url) as client:
                client.delete("table:lock")  # it ran out

        with pytest.raises(ValueError, match="the old table stays"):
            table.replace(lost())
        assert table.get([1]).tolist() == [[9, 9]]


@pytest.mark.parametrize("kind", ["dynamic", "hybrid", "plain"])
def test_the_home_of_a_layers_rows(server, kind):
    ids = np.arange(60)
    if kind == "dynamic":
        layer, ids = embedding.DynamicEmbedding(None, 4, capacity=60, eviction="lru"), ids * 10**9
    elif kind == "hybrid":
        layer = embedding.HybridEmbedding(60, 4, cache_rows=8)
    else:
        layer = nn.Embedding(60, 4)
    rule = optimizer.SGD(0.5, parameters=layer.parameters())

    def train(chosen):
        for some in np.split(chosen, range(5, len(chosen), 5)):
            layer(sampan.to_tensor(some)).sum().backward()
            rule.step()
            rule.clear_grad(False)

    train(ids)
    served = {
        "dynamic": lambda: embedding.DynamicEmbedding(None, 4),
        "hybrid": lambda: embedding.HybridEmbedding(60, 4, 9),
    }
    with RedisRows(server.url, 4, batch=16) as home, RedisRows(server.url, 4) as reader:
        assert home.push(layer) == 60 and home.push(layer) == 0
        train(ids[7:12])
        assert home.push(layer) == 5 and home.version == 2
        reader.remove(ids[:30])
        assert home.push(layer) == 60 and home.version == 4  # another writer had changed it
        table = embedding.reading.table_of(layer)
        np.testing.assert_array_equal(reader.get(ids), table.values(ids))
        if kind == "dynamic":
            train(np.array([1, 2, 3]))  # ids of their own; at the capacity, the oldest give way
            gone = np.setdiff1d(ids, layer.ids.numpy()[layer.rows_seen_since(0)])
            assert len(gone) > 0 and home.push(layer) == 3
            assert not reader.find(gone)[1].any() and reader.find([1, 2, 3])[1].all()
            ids = np.setdiff1d(ids, gone)
        other = served.get(kind, lambda: nn.Embedding(60, 4))()
        assert reader.pull(other, np.concatenate([ids, ids[:3]])) == len(ids)
        other.eval()
        for some in np.split(ids, range(8, len(ids), 8)):
            np.testing.assert_array_equal(
                other(sampan.to_tensor(some)).numpy(), embedding.reading.table_of(layer).values(some)
            )


def test_many_changes_replace_the_table(server):
    layer = nn.Embedding(50, 4)
    with RedisRows(server.url, 4, batch=8, atomic=16) as home:
        home.push(layer)
        layer.weight.set_value(layer.weight.numpy() + 1)
        assert home.push(layer) == 50
        found = np.concatenate([home.get(range(s, min(s + 16, 50))) for s in range(0, 50, 16)])
        np.testing.assert_array_equal(found, layer.weight.numpy())
        assert home.pull(nn.Embedding(50, 4), range(50)) == 50
        with pytest.raises(ValueError, match="ids: expected at most 16 at once"):
            home.get(range(17))


def test_a_server_that_is_away_says_so():
    with pytest.raises(RowsUnavailable, match=r"unix:///tmp/nobody: no connection; is the server running"):
        RedisRows("unix:///tmp/nobody", 4)
    with pytest.raises(RowsUnavailable, match=r"redis://…@127\.0\.0\.1:1/0: no connection") as caught:
        RedisRows("redis://me:secret@127.0.0.1:1/0", 4, timeout=1)
    assert "secret" not in str(caught.value) + str(caught.value.__cause__)


def test_a_server_that_does_not_answer_in_time(doomed):
    with RedisRows(doomed.url, 2, timeout=2) as table:
        with redis.Redis.from_url(doomed.url) as client:
            client.execute_command("CLIENT", "PAUSE", 60_000, "ALL")
        with pytest.raises(RowsUnavailable, match=r"no answer within 2 s"):
            table.get([1])


def test_a_server_killed_in_the_middle(doomed):
    """A writer and a reader get an error that says so; after a restart the table is gone, and neither takes it for zeros."""
    ids, errors, begun = np.arange(300), [], threading.Event()

    def until_it_fails(call):
        try:
            while True:
                call()
                begun.set()
        except Exception as error:
            errors.append(error)

    with RedisRows(doomed.url, 8, batch=16) as writer, RedisRows(doomed.url, 8) as reader:
        layer = nn.Embedding(300, 8)
        writer.push(layer)
        threads = [
            threading.Thread(target=until_it_fails, args=(lambda: writer.put(ids, rows_of(ids, 8)),)),
            threading.Thread(target=until_it_fails, args=(lambda: reader.get(ids),)),
        ]
        for thread in threads:
            thread.start()
        assert begun.wait(20)
        doomed.kill()
        for thread in threads:
            thread.join(20)
        assert [type(error) for error in errors] == [RowsUnavailable] * 2
        with pytest.raises(RowsUnavailable):
            writer.push(layer)
        doomed.start()
        calls = (
            lambda: reader.get(ids),
            lambda: writer.put(ids, rows_of(ids, 8)),
            lambda: writer.push(layer),
        )
        for call in calls:
            with pytest.raises(ValueError, match="was cleared; open it anew"):
                call()
        with RedisRows(doomed.url, 8) as anew:
            assert anew.push(layer) == 300
            np.testing.assert_array_equal(reader.get(ids), layer.weight.numpy())


def test_a_server_that_is_full_keeps_what_it_had(doomed):
    with RedisRows(doomed.url, 256, batch=64) as table:
        table.put([1], np.ones((1, 256), np.float32))
        with redis.Redis.from_url(doomed.url) as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 300_000)
        with pytest.raises(MemoryError, match="memory is full"):
            table.put(np.arange(2000), np.zeros((2000, 256), np.float32))
        with pytest.raises(MemoryError, match="memory is full"):
            table.replace(np.zeros((2000, 256), np.float32))
        assert (table.get([1]) == 1).all() and len(table) == 1


def test_a_server_with_a_password(doomed):
    doomed.kill()
    doomed.start("--requirepass", "right")
    with pytest.raises(PermissionError, match="the server wants another user or password"):
        RedisRows(doomed.url, 2)
    with RedisRows(f"unix://:right@{doomed.folder}/socket", 2) as table:
        assert table.put([1], [[1, 2]]) == 1 and "right" not in repr(table)


def test_wrong_input(server):
    table = RedisRows(server.url, 2)
    table.put([1], [[1, 2]])
    for call, error, said in (
        (lambda: RedisRows(server.url, 3), ValueError, "has a table 'table' with rows of 2 float32, expected 3 float32"),
        (lambda: RedisRows(server.url, 2, dtype="float16"), ValueError, "expected 2 float16"),
        (lambda: RedisRows(server.url, 0), ValueError, "dim, batch, atomic, timeout"),
        (lambda: RedisRows(server.url, 2, timeout=0), ValueError, "dim, batch, atomic, timeout"),
        (lambda: RedisRows(server.url, 2, dtype="int8"), ValueError, "dtype: expected one of float32, float16"),
        (lambda: RedisRows(server.url, 2, name="a:b"), ValueError, "name: expected one without"),
        (lambda: RedisRows("http://here", 2), ValueError, "url: expected redis://"),
        (lambda: table.put([1, 2], [[1, 2]]), ValueError, r"rows: expected numbers \[2, 2\], got shape \[1, 2\]"),
        (lambda: table.put([1, 1], np.ones((2, 2))), ValueError, "ids: expected different ones, 1 come again"),
        (lambda: table.put([1], [[1, np.nan]]), ValueError, r"rows\[0\]: expected finite numbers"),
        (lambda: table.put([0.5], [[1, 2]]), TypeError, "ids: expected integers"),
        (lambda: table.get([[1]]), TypeError, "ids: expected integers"),
        (lambda: table.push(nn.Embedding(3, 5)), ValueError, "layer: expected rows of 2, got 5"),
        (lambda: table.pull(nn.Embedding(3, 2), [3]), ValueError, "ids: expected 0 to 2, got 3"),
        (lambda: table.replace(np.ones((2, 5))), ValueError, "source: expected rows of 2, got 5"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            call()
    with redis.Redis.from_url(server.url) as client:
        client.set("table:0:8", b"short")
        with pytest.raises(ValueError, match="expected 8 bytes a row, got 5 for the id 8"):
            table.get([1, 8])
        client.lpush("table:0:9", 1)
    assert table.find([9])[1].tolist() == [False]  # MGET returns nil for anything but strings
    assert table.version == 1
    table.close()
