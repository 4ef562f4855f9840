"""Tables in files, read back by other programs' rules: NumPy, safetensors, and word2vec's own reader."""

import os
import struct
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import sampan
from sampan import embedding, nn
from sampan.embedding import export_table, import_table, open_table, reading

SUFFIXES = [".npy", ".bin", ".safetensors"]


def dynamic(ids, dim=5):
    layer = embedding.DynamicEmbedding(None, dim, initializer=("normal", 1.0))
    layer(sampan.to_tensor(np.asarray(ids, np.int64)))
    return layer


def hybrid(rows=40, dim=5):
    """A table with cached rows, rows in the store and rows not created yet; and its values by row."""
    layer = embedding.HybridEmbedding(rows, dim, cache_rows=7, initializer=("normal", 1.0))
    rule = sampan.optimizer.SGD(1.0, parameters=layer.parameters())
    for ids in ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [2, 20]):
        layer(sampan.to_tensor(ids)).sum().backward()
        rule.step()
        rule.clear_grad(False)
    return layer, layer.rows(np.arange(rows))


def word2vec(path):
    """As distance.c of word2vec reads: numbers by fscanf, a word up to a space without line ends, then the floats."""
    data = path.read_bytes()
    count, dim, *_ = data.split(maxsplit=2)
    at = data.index(b"\n") + 1
    words, rows = [], []
    for _ in range(int(count)):
        word = b""
        while data[at : at + 1] != b" ":
            word += data[at : at + 1].replace(b"\n", b"")
            at += 1
        at += 1
        rows.append(struct.unpack_from(f"<{int(dim)}f", data, at))
        words.append(word.decode())
        at += 4 * int(dim)
    return words, np.array(rows, np.float32).reshape(-1, int(dim))


NAMES = ["array", "tensor", "torch", "plain", "bag", "tables", "dynamic", "hybrid"]


def sources():
    weight = torch.randn(13, 5, generator=torch.Generator().manual_seed(0)).numpy()
    plain, bag, tables = (
        nn.Embedding(13, 5),
        embedding.EmbeddingBag(13, 5),
        embedding.EmbeddingTables([6, 7], 5),
    )
    for layer in (plain, bag, tables):
        layer.weight.set_value(weight)
    grown, (kept, values) = dynamic([7, -3, 10**15, 0]), hybrid()
    made = {
        "array": (weight, np.arange(13), weight),
        "tensor": (sampan.to_tensor(weight), np.arange(13), weight),
        "torch": (torch.from_numpy(weight), np.arange(13), weight),
        "plain": (plain, np.arange(13), weight),
        "bag": (bag, np.arange(13), weight),
        "tables": (tables, np.arange(13), weight),
        "dynamic": (grown, np.array([7, -3, 10**15, 0]), grown.weight.numpy()),
        "hybrid": (kept, np.arange(40), values),
    }
    assert list(made) == NAMES
    return made


@pytest.mark.parametrize("name", NAMES)
def test_other_programs_read_it(tmp_path, name):
    source, ids, rows = sources()[name]
    numbered = np.array_equal(ids, np.arange(len(ids)))
    found = np.load(export_table(source, tmp_path / "t.npy"))
    np.testing.assert_array_equal(found if numbered else found["row"], rows)
    np.testing.assert_array_equal(np.arange(len(rows)) if numbered else found["id"], ids)
    found = load_file(export_table(source, tmp_path / "t.safetensors"))
    np.testing.assert_array_equal(found["rows"], rows)
    assert ("ids" in found) is not numbered
    np.testing.assert_array_equal(found.get("ids", np.arange(len(rows))), ids)
    words, found = word2vec(export_table(source, tmp_path / "t.bin"))
    np.testing.assert_array_equal(found, rows)
    assert words == [str(i) for i in ids]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.bin", "t.npy", "t.safetensors"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["plain", "dynamic", "hybrid"])
def test_read_back_without_a_copy_and_imported(tmp_path, suffix, name):
    source, ids, rows = sources()[name]
    found = open_table(export_table(source, tmp_path / f"t{suffix}"))
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(np.arange(len(rows)) if found.ids is None else found.ids, ids)
    base = found.rows
    while not isinstance(base, np.memmap):
        base = base.base
    assert not found.rows.flags.writeable and found.rows.ctypes.data % 4 == 0
    targets = [embedding.DynamicEmbedding(None, 5)]
    if name != "dynamic":
        targets += [nn.Embedding(len(rows), 5), embedding.HybridEmbedding(len(rows), 5, cache_rows=4)]
    for target in targets:
        assert import_table(target, tmp_path / f"t{suffix}") == len(rows)
        np.testing.assert_array_equal(reading.table_of(target).values(ids), rows)
        target.eval()
        np.testing.assert_array_equal(target(sampan.to_tensor(ids[:3])).numpy(), rows[:3])


@settings(max_examples=25)
@given(
    ids=st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=12),
    dim=st.integers(1, 9), suffix=st.sampled_from(SUFFIXES),
)  # fmt: skip
def test_any_ids_and_widths(tmp_path_factory, ids, dim, suffix):
    path = tmp_path_factory.mktemp("any") / f"t{suffix}"
    rows = np.random.default_rng(0).normal(size=(len(ids), dim)).astype(np.float32)
    export_table(reading.ArrayTable(rows, np.array(ids, np.int64)), path)
    found = open_table(path)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(np.arange(len(rows)) if found.ids is None else found.ids, ids)


def test_labels(tmp_path):
    rows, labels = np.eye(3, dtype=np.float32), ["的", "naïve", "x"]
    path = export_table(rows, tmp_path / "t.bin", labels=labels)
    words, found = word2vec(path)
    assert words == labels == open_table(path).labels and open_table(path).ids is None
    np.testing.assert_array_equal(found, rows)
    for wrong, said in (
        (["a", "b"], "labels: expected 3"),
        (["a", "b c", "d"], r"labels\[1\]: expected a word"),
        (["a", "", "d"], r"labels\[1\]: expected a word"),
        (["a", "b", "a"], "labels: expected different ones, 1 come again"),
    ):
        with pytest.raises(ValueError, match=said):
            export_table(rows, path, labels=wrong)
    with pytest.raises(ValueError, match=r"only a \.bin has words"):
        export_table(rows, tmp_path / "t.npy", labels=labels)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_dtypes(tmp_path, suffix):
    rows = np.random.default_rng(0).normal(size=(6, 3))
    for dtype in ("float16", "float32", "float64"):
        found = open_table(export_table(rows, tmp_path / f"t{suffix}", dtype=dtype)).rows
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, rows.astype(dtype))
    layer = nn.Embedding(6, 3)
    layer.weight.set_value(rows.astype(np.float32))
    import_table(layer, export_table(rows, tmp_path / f"h{suffix}", dtype="float16"))
    np.testing.assert_array_equal(layer.weight.numpy(), rows.astype(np.float16).astype(np.float32))
    brain = torch.from_numpy(rows).bfloat16()
    found = open_table(export_table(brain, tmp_path / f"b{suffix}")).rows
    np.testing.assert_array_equal(found, brain.float().numpy())


def test_files_of_other_programs(tmp_path):
    rows = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    save_file({"embedding.weight": rows}, tmp_path / "t.safetensors")
    np.testing.assert_array_equal(open_table(tmp_path / "t.safetensors").rows, rows)
    np.save(tmp_path / "t.npy", rows.astype(">f8"))
    np.testing.assert_array_equal(open_table(tmp_path / "t.npy").rows, rows.astype(float))
    (tmp_path / "t.bin").write_bytes(b"2 1\na \0\0\0\0long \0\0\0\0")
    with pytest.raises(ValueError, match="load_word2vec"):
        open_table(tmp_path / "t.bin")


def test_a_table_in_files_goes_through_a_small_part_of_memory(tmp_path, monkeypatch):
    """12 MB of rows, most of them in the store's file: neither way holds more than a few blocks of them."""
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1 << 18)
    count, dim = 50_000, 60
    layer = embedding.HybridEmbedding(count, dim, 1000, tmp_path / "rows")
    stored = layer._rows._stores[0].arrays[0]
    stored[:] = np.arange(count, dtype=np.float32)[:, None]
    layer._rows._stored[:] = 1
    other = embedding.HybridEmbedding(count, dim, 1000, tmp_path / "others")

    def peak(call):
        tracemalloc.start()
        call()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    for suffix in (".npy", ".safetensors", ".bin"):
        path = tmp_path / f"t{suffix}"
        assert peak(lambda path=path: export_table(layer, path)) < 2_000_000
        assert os.path.getsize(path) >= 12_000_000
    assert peak(lambda: import_table(other, tmp_path / "t.npy")) < 2_000_000
    some = np.array([0, 77, 49_999])
    np.testing.assert_array_equal(reading.table_of(other).values(some)[:, 5], some)


def test_reading_moves_no_row():
    layer, values = hybrid()
    before = layer.statistics(), layer._rows._row_at.copy()
    layer.prefetch(sampan.to_tensor([30, 31]))
    np.testing.assert_array_equal(reading.table_of(layer).values(np.arange(40)), values)
    layer(sampan.to_tensor([30, 31]))
    assert layer.statistics()["misses"] == before[0]["misses"] + 2
    grown = dynamic([1, 2])
    assert (reading.table_of(grown).values(np.array([2, 9]))[1] == 0).all() and len(grown) == 2


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["plain", "dynamic"])
def test_a_file_that_was_cut_anywhere_is_refused(tmp_path, suffix, name):
    source = sources()[name][0]
    whole = export_table(source, tmp_path / f"t{suffix}").read_bytes()
    target = embedding.DynamicEmbedding(None, 5)
    for length in {0, 1, 5, 9, 40, 64, len(whole) // 2, len(whole) - 1}:
        (tmp_path / f"cut{suffix}").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="expected a whole table"):
            import_table(target, tmp_path / f"cut{suffix}")
    (tmp_path / f"cut{suffix}").write_bytes(whole + b"more")
    with pytest.raises(ValueError, match="expected a whole table"):
        open_table(tmp_path / f"cut{suffix}")
    assert len(target) == 0


def test_a_header_that_lies(tmp_path):
    path = tmp_path / "t.safetensors"

    def write(text, size=8):
        path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + b"\0" * size)

    for text in (
        "[]", "{}", "nonsense", '{"rows": 3}',
        '{"rows": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 8]}}',
        '{"rows": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 80]}}',
        '{"rows": {"dtype": "F32", "shape": [-2, -1], "data_offsets": [0, 8]}}',
        '{"rows": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
        '{"rows": {"dtype": "I32", "shape": [2, 1], "data_offsets": [0, 8]}}',
        '{"rows": {"dtype": "F32", "shape": ["2", 1], "data_offsets": [0, 8]}}',
        '{"rows": {"dtype": "F32", "shape": [2, 1], "data_offsets": ["0", 8]}}',
        '{"rows": {"dtype": "F32", "shape": [1, 0], "data_offsets": [0, 0]}, "ids": {"dtype": "I64", "shape": [1, 1], "data_offsets": [0, 8]}}',
    ):  # fmt: skip
        write(text)
        with pytest.raises(ValueError, match="expected a whole table"):
            open_table(path)
    for name, content in (
        ("a.npy", {"x": 1}),
        ("b.npy", np.arange(6)),
        ("c.npy", np.zeros((2, 2), np.int32)),
    ):
        np.save(tmp_path / name, content)
        with pytest.raises(ValueError, match="expected a whole table"):
            open_table(tmp_path / name)


def test_wrong_input_changes_nothing(tmp_path):
    rows = np.ones((4, 3), np.float32)
    layer = nn.Embedding(4, 3)
    before = layer.weight.numpy().copy()
    bad = rows.copy()
    bad[2, 1] = np.nan
    made = {
        "wide": np.ones((4, 5), np.float32), "few": rows[:2], "nan": bad,
        "far": reading.ArrayTable(rows, np.array([0, 1, 2, 4])),
        "twice": reading.ArrayTable(rows, np.array([0, 1, 1, 2])),
    }  # fmt: skip
    for name, said in (
        ("wide", "expected rows of 3, got 5"),
        ("few", "expected 4 rows, got 2"),
        ("nan", "the row of id 2 has others"),
        ("far", "expected ids from 0 to 3, got 4"),
        ("twice", "expected each id once, got 1 again"),
    ):
        export_table(made[name], tmp_path / f"{name}.npy")
        with pytest.raises(ValueError, match=said):
            import_table(layer, tmp_path / f"{name}.npy")
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    small = embedding.DynamicEmbedding(None, 3, capacity=3)
    small(sampan.to_tensor([9]))
    export_table(rows, tmp_path / "t.npy")
    with pytest.raises(MemoryError, match="4 new ids beside 1, the capacity is 3"):
        import_table(small, tmp_path / "t.npy")
    assert len(small) == 1
    with pytest.raises(ValueError, match="expected a name that ends in"):
        export_table(rows, tmp_path / "t.txt")
    with pytest.raises(FileNotFoundError):
        open_table(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="dtype: expected one of"):
        export_table(rows, tmp_path / "t.npy", dtype="int8")
    with pytest.raises(TypeError, match="source: expected Embedding"):
        export_table(np.ones(3), tmp_path / "t.npy")
    with pytest.raises(TypeError, match="target: expected an embedding layer"):
        import_table(rows, tmp_path / "t.npy")


def test_what_fails_half_way_leaves_the_old_file(tmp_path):
    class Failing(reading.ArrayTable):
        def read(self, start, stop):
            if start:
                raise OSError("the disk is gone")
            return super().read(start, stop)

    for suffix in SUFFIXES:
        path = export_table(np.ones((2, 2), np.float32), tmp_path / f"t{suffix}")
        with pytest.raises(OSError, match="the disk is gone"):
            export_table(Failing(np.zeros((1_000_000, 2), np.float32)), path)
        np.testing.assert_array_equal(open_table(path).rows, np.ones((2, 2)))
    assert len(list(tmp_path.iterdir())) == 3


def test_an_import_is_in_the_next_save(tmp_path):
    export_table(reading.ArrayTable(np.full((1, 5), 7, np.float32), np.array([2])), tmp_path / "t.npy")
    layer = dynamic([1, 2])
    layer.save(tmp_path / "kept")
    import_table(layer, tmp_path / "t.npy")
    layer.save(tmp_path / "kept")
    other = embedding.DynamicEmbedding(None, 5)
    other.load(tmp_path / "kept")
    assert (reading.table_of(other).values(np.array([2])) == 7).all() and len(other) == 2
