"""Errors for invalid tables name the argument, the actual and the expected value."""

import numpy as np
import pytest

import sampan
from sampan import embedding


def dynamic(num_embeddings=60, embedding_dim=4, **options):
    return embedding.DynamicEmbedding(num_embeddings, embedding_dim, **options)


def hybrid(num_embeddings=60, embedding_dim=4, cache_rows=20, path=None, **options):
    return embedding.HybridEmbedding(num_embeddings, embedding_dim, cache_rows, path, **options)


CALLS = {
    "dynamic": lambda: dynamic(), "dynamic that admits": lambda: dynamic(admission=2), "hybrid": lambda: hybrid(),
    "prefetch": lambda: hybrid().prefetch,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("ids", [[1, 2], (1, 2), 3, 1.5, None, "12", np.array([1, 2]), {1: 2}, object()])
def test_what_is_no_tensor_is_refused_by_its_type(name, ids):
    with pytest.raises(
        TypeError, match=f"ids: expected a Tensor of int32 or int64, got {type(ids).__name__}"
    ):
        CALLS[name]()(ids)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "kind", ["float16", "float32", "float64", "bool", "int8", "uint8", "int16", "complex64"]
)
def test_ids_of_another_dtype_are_refused(name, kind):
    for value in (1, np.nan if kind.startswith("float") else 0):
        with pytest.raises(TypeError, match=f"ids: expected int32 or int64, got {kind}"):
            CALLS[name]()(sampan.to_tensor(np.full((2, 3), value).astype(kind)))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [-1, 60, -(2**31), 2**31 - 1, -(2**63), 2**63 - 1])
def test_ids_outside_are_named_with_their_place_and_nothing_is_taken(name, wrong):
    call = CALLS[name]()
    layer = getattr(call, "__self__", call)
    for dtype in (np.int32, np.int64) if abs(wrong) < 2**31 else (np.int64,):
        with pytest.raises(ValueError, match=rf"ids\[1, 0\]: expected an id from 0 to 59, got {wrong}"):
            call(sampan.to_tensor(np.array([[3, 4], [wrong, 5]], dtype)))
    facts = layer.statistics()
    assert facts.get("lookups", 0) == facts.get("misses", 0) == 0


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1, 2)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ids_of_any_shape_are_taken(shape, dtype):
    ids = sampan.to_tensor(np.full(shape, 7, dtype))
    for layer in (dynamic(), hybrid(), dynamic(admission=2)):
        assert layer(ids).shape == [*shape, 4]


@pytest.mark.parametrize("ids", [[0.5], np.array([np.nan]), ["1"], [None], [True], np.array([1], np.uint64)])
def test_rows_by_arrays_are_refused_too(ids):
    for call in (hybrid().rows, dynamic().rows_of):
        with pytest.raises(TypeError, match="ids: expected int32 or int64, got"):
            call(ids)


MAKERS = {"dynamic": dynamic, "hybrid": hybrid}
BAD = [
    ({"num_embeddings": 0}, ValueError, "num_embeddings: expected 1 or more.*got 0"),
    ({"num_embeddings": -5}, ValueError, "num_embeddings: .*got -5"),
    ({"num_embeddings": 2.5}, TypeError, "num_embeddings: expected a whole number.*got 2.5"),
    ({"num_embeddings": "9"}, TypeError, "num_embeddings: .*got '9'"),
    ({"num_embeddings": True}, TypeError, "num_embeddings: .*got True"),
    ({"embedding_dim": 0}, ValueError, "embedding_dim: expected 1 or more, got 0"),
    ({"embedding_dim": None}, TypeError, "embedding_dim: expected a whole number, got None"),
    ({"embedding_dim": float("nan")}, TypeError, "embedding_dim: .*got nan"),
    ({"initializer": "normal"}, TypeError, "initializer: expected a kind and a number"),
    ({"initializer": None}, TypeError, "initializer: .*got None"),
    ({"initializer": ("xavier", 1)}, ValueError, "initializer: expected one of constant, uniform, normal"),
    ({"initializer": ("normal", float("nan"))}, ValueError, "initializer: expected a finite number.*got nan"),
    ({"initializer": ("normal", float("inf"))}, ValueError, "initializer: .*got inf"),
    ({"initializer": ("normal", "a")}, ValueError, "initializer: .*got 'a'"),
    ({"seed": -1}, ValueError, "seed: expected 0 or more, got -1"),
    ({"seed": 2**64}, ValueError, r"seed: expected less than 2\*\*64"),
    ({"seed": 0.5}, TypeError, "seed: .*got 0.5"),
]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("options", "error", "words"), BAD)
def test_a_bad_table_is_not_made(name, options, error, words):
    with pytest.raises(error, match=words):
        MAKERS[name](**options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dynamic(capacity=0), ValueError, "capacity: expected 1 or more, or None, got 0"),
        (lambda: dynamic(capacity=1.5), TypeError, "capacity: .*got 1.5"),
        (lambda: dynamic(admission=2.5), TypeError, "admission: .*got 2.5"),
        (lambda: dynamic(padding_idx=0.0), TypeError, "padding_idx: .*got 0.0"),
        (lambda: dynamic(dtype="float16"), ValueError, "dtype: .*got 'float16'"),
        (lambda: dynamic().evict(0.5), TypeError, "count: .*got 0.5"),
        (lambda: dynamic().evict(max_age=-1), ValueError, "max_age: expected 0 or more, got -1"),
        (lambda: hybrid(cache_rows=0), ValueError, "cache_rows: expected 1 or more, got 0"),
        (lambda: hybrid(cache_rows=None), TypeError, "cache_rows: .*got None"),
        (lambda: hybrid(store="int4"), ValueError, "store: expected one of float32"),
        (lambda: hybrid(store=None), ValueError, "store: .*got None"),
    ],
)
def test_what_one_of_them_alone_takes_is_checked_too(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_path_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        hybrid(path=tmp_path / "file")
    with pytest.raises(ValueError, match="store: expected one of"):
        hybrid(path=tmp_path / "table", store="int4")
    assert not (tmp_path / "table").exists()
