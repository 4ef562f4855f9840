"""Nearest rows by FAISS, beside scikit-learn's brute force and float64 products."""

import sys

import numpy as np
import pytest

import sampan
from sampan import embedding, nn

pytest.importorskip("faiss", reason="no FAISS (pip install sampan[search])")
neighbors = pytest.importorskip("sklearn.neighbors", reason="no scikit-learn (pip install sampan[data])")

from sampan.embedding import VectorIndex  # noqa: E402

OPTIONS = {"flat": {}, "ivf": {"lists": 12, "effort": 12}, "hnsw": {"effort": 400}}
rng = np.random.default_rng(0)
VECTORS = (rng.normal(size=(8, 16))[rng.integers(0, 8, 700)] + 0.5 * rng.normal(size=(700, 16))).astype(
    np.float32
)
QUERIES = VECTORS[:40] + 0.1 * rng.normal(size=(40, 16)).astype(np.float32)


def oracle(metric, most):
    """(scores, ids) of the truly nearest, in float64."""
    x, q = VECTORS.astype(np.float64), QUERIES.astype(np.float64)
    if metric == "dot":
        scores = q @ x.T
        ids = np.argsort(-scores, 1)[:, :most]
        return np.take_along_axis(scores, ids, 1), ids
    found = neighbors.NearestNeighbors(
        n_neighbors=most, algorithm="brute", metric={"l2": "euclidean"}.get(metric, metric)
    )
    distances, ids = found.fit(x).kneighbors(q)
    return (distances if metric == "l2" else 1 - distances), ids


@pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
@pytest.mark.parametrize("kind", OPTIONS)
def test_with_all_effort_the_nearest_are_found(kind, metric, tmp_path):
    scores, ids = oracle(metric, 10)
    index = VectorIndex(VECTORS, kind, metric, **OPTIONS[kind])
    for asked in (index, VectorIndex.load(index.save(tmp_path / "index"))):
        found, places = asked.search(QUERIES)
        same = 1.0 if kind != "hnsw" else 0.98  # a graph promises nothing
        assert (places == ids).mean() >= same
        np.testing.assert_allclose(found[places == ids], scores[places == ids], rtol=1e-4, atol=1e-5)
        assert asked.recall(QUERIES) >= same
        np.testing.assert_array_equal(asked.exact(QUERIES)[1], ids)
        assert (len(asked), asked.kind, asked.metric, asked.effort) == (700, kind, metric, index.effort)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_more_effort_finds_more(kind):
    noise = np.random.default_rng(1).normal(size=(1500, 48)).astype(np.float32)
    index = VectorIndex(noise[:1400], kind, "l2", effort=1)
    true = (
        neighbors.NearestNeighbors(n_neighbors=10, algorithm="brute")
        .fit(noise[:1400])
        .kneighbors(noise[1400:])[1]
    )
    recalls = []
    for effort in (1, 20, 300):
        index.effort = effort
        found = index.search(noise[1400:])[1]
        by_hand = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, true, strict=True)])
        recalls.append(index.recall(noise[1400:]))
        assert recalls[-1] == pytest.approx(by_hand, abs=0.002)
    assert recalls[0] + 0.1 < recalls[1] < recalls[2] and recalls[2] > 0.99


def test_many_blocks_are_one(monkeypatch):
    monkeypatch.setattr(embedding.reading, "BLOCK_BYTES", 1000)
    many = VectorIndex(VECTORS, "ivf", lists=10, effort=10)
    monkeypatch.undo()
    np.testing.assert_array_equal(many.search(QUERIES)[1], VectorIndex(VECTORS).search(QUERIES)[1])


def test_layers_bring_their_ids(tmp_path):
    layer = embedding.DynamicEmbedding(None, 16)
    ids = np.arange(700) * 10**12 - 5
    layer(sampan.to_tensor(ids))
    layer.weight.set_value(VECTORS)
    index = VectorIndex(layer)
    np.testing.assert_array_equal(index.search(sampan.to_tensor(QUERIES))[1], ids[oracle("cosine", 10)[1]])
    again = VectorIndex.load(index.save(tmp_path / "index"))
    np.testing.assert_array_equal(again.search(QUERIES)[1], index.search(QUERIES)[1])
    plain = nn.Embedding(700, 16)
    plain.weight.set_value(VECTORS)
    named = VectorIndex(plain, ids=np.arange(700)[::-1])
    np.testing.assert_array_equal(named.search(QUERIES)[1], 699 - oracle("cosine", 10)[1])


def test_fewer_than_were_asked_for():
    index = VectorIndex(VECTORS[:3], "flat", "l2", ids=[7, 8, 9])
    scores, ids = index.search(QUERIES, 5)
    assert (ids[:, 3:] == -1).all() and np.isinf(scores[:, 3:]).all() and set(ids[:, :3].ravel()) == {7, 8, 9}
    assert index.recall(QUERIES, 5) == 1.0
    scores, ids = VectorIndex(VECTORS[:3], "ivf", "dot", lists=3, effort=1).search(QUERIES, 3)
    assert (ids[:, 1:] == -1).any() and (scores[ids == -1] == -np.inf).all()


def test_a_zero_vector_is_like_nothing():
    scores, _ = VectorIndex(np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)).search([[1.0, 0.0]], 2)
    assert scores.tolist() == [[1.0, 0.0]]


def test_latency_is_reported():
    found = VectorIndex(VECTORS).latency(QUERIES[:5], rounds=2)
    assert 0 < found.median <= found.p95 <= found.p99 and found.queries_per_second > 0


def test_a_file_that_was_cut_or_changed_is_refused(tmp_path):
    index = VectorIndex(VECTORS[:60], "hnsw", ids=np.arange(60) + 3)
    whole = index.save(tmp_path / "index").read_bytes()
    for content in (
        whole[:40], whole[: len(whole) // 2], whole[:-1], whole + b"x",
        whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
    ):  # fmt: skip
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match="cut off or changed"):
            VectorIndex.load(tmp_path / "bad")
    for content in (b"", b"something else entirely"):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match="got another kind"):
            VectorIndex.load(tmp_path / "bad")
    with pytest.raises(FileNotFoundError):
        VectorIndex.load(tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "index"]


def test_wrong_input(monkeypatch):
    bad = VECTORS.copy()
    bad[5, 2] = np.inf
    index = VectorIndex(VECTORS)
    for call, error, said in (
        (lambda: VectorIndex(VECTORS, "tree"), ValueError, "kind: expected one of flat, ivf, hnsw, got 'tree'"),
        (lambda: VectorIndex(VECTORS, metric="l1"), ValueError, "metric: expected one of"),
        (lambda: VectorIndex(VECTORS[:0]), ValueError, "vectors: expected at least one"),
        (lambda: VectorIndex(VECTORS[0]), TypeError, "vectors: expected Embedding"),
        (lambda: VectorIndex(bad), ValueError, r"vectors\[5\]: expected finite numbers"),
        (lambda: VectorIndex(bad, "ivf"), ValueError, "vectors.*expected finite numbers"),
        (lambda: VectorIndex(VECTORS, ids=[1, 2]), ValueError, "ids: expected 700 integers"),
        (lambda: VectorIndex(VECTORS, lists=4), ValueError, "lists: expected None"),
        (lambda: VectorIndex(VECTORS, "ivf", lists=701), ValueError, "lists: expected None, or 1 to 700"),
        (lambda: VectorIndex(VECTORS, effort=3), ValueError, "effort: expected 0 for a flat index"),
        (lambda: VectorIndex(VECTORS, "ivf", effort=0), ValueError, "effort: expected 1 or more"),
        (lambda: index.search(QUERIES[:, :3]), ValueError, r"queries: expected numbers \[n, 16\], got shape \[40, 3\]"),
        (lambda: index.search(QUERIES[0]), ValueError, "queries: expected numbers"),
        (lambda: index.search(bad), ValueError, r"queries\[5\]"),
        (lambda: index.search(QUERIES, 0), ValueError, "most: expected 1 or more"),
        (lambda: index.exact(QUERIES, 0), ValueError, "most: expected 1 or more"),
        (lambda: index.recall(QUERIES[:0]), ValueError, "queries: expected at least one"),
        (lambda: index.latency(QUERIES[:0]), ValueError, "queries, rounds: expected at least one"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            call()
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install sampan\[search\]"):
        VectorIndex(VECTORS)
