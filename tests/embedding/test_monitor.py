"""What a monitor counts, beside counts made by hand from the same batches."""

import numpy as np
import pytest
import torch

import sampan
from sampan import embedding, nn, optimizer


def batches(count=12, high=30):
    return [np.random.default_rng(turn).zipf(1.5, 8) % high for turn in range(count)]


def expected(found, rows, gradient):
    """(passes that named each row, mean and largest norm), with `gradient(row, times)` the gradient of a row."""
    norms = [[] for _ in range(rows)]
    for ids in found:
        for row, times in zip(*np.unique(ids, return_counts=True), strict=True):
            norms[row].append(np.linalg.norm(gradient(row, times)))
    counts = np.array([len(n) for n in norms])
    means = np.array([np.mean(n) if n else 0.0 for n in norms])
    return counts, means, np.array([max(n, default=0.0) for n in norms])


def trained(layer, rule, found, between=lambda: None):
    for ids in found:
        (layer(sampan.to_tensor(ids)) * 2.0).sum().backward()
        rule.step()
        rule.clear_grad(False)
        between()


LAYERS = {
    "plain": lambda: nn.Embedding(30, 4),
    "dense": lambda: nn.Embedding(30, 4, sparse=False),
    "hybrid": lambda: embedding.HybridEmbedding(30, 4, cache_rows=9),
    "hybrid16": lambda: embedding.HybridEmbedding(30, 4, cache_rows=9, store="float16"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_counts_and_norms(name):
    layer, found = LAYERS[name](), batches()
    rule = optimizer.SGD(0.1, parameters=layer.parameters())
    with embedding.monitor(layer, "items") as watched:
        trained(layer, rule, found)
    counts, means, largest = expected(found, 30, lambda row, times: np.full(4, 2.0 * times))
    np.testing.assert_array_equal(watched.gradients, counts)
    np.testing.assert_array_equal(watched.updates, counts)  # each step moved what had a gradient
    np.testing.assert_allclose(watched.norms, means)
    np.testing.assert_allclose(watched.largest, largest)
    np.testing.assert_array_equal(watched.cold(), np.flatnonzero(counts == 0))
    np.testing.assert_array_equal(watched.cold(3), np.flatnonzero(counts < 3))
    assert watched.passes == 12 and watched.name == "items"
    trained(layer, rule, found[:1])  # outside the block: not monitored
    assert watched.passes == 12


def test_it_changes_nothing():
    one, other = nn.Embedding(30, 4), nn.Embedding(30, 4)
    other.weight.set_value(one.weight)
    rules = [optimizer.Adagrad(0.1, parameters=layer.parameters()) for layer in (one, other)]
    with embedding.monitor(one):
        trained(one, rules[0], batches())
    trained(other, rules[1], batches())
    np.testing.assert_array_equal(one.weight.numpy(), other.weight.numpy())


def test_the_gradient_stays_rows():
    layer = nn.Embedding(30, 4)
    with embedding.monitor(layer):
        layer(sampan.to_tensor([1, 1, 2])).sum().backward()
        assert layer.weight.grad.is_row_sparse


def test_several_passes_before_one_step():
    layer = nn.Embedding(30, 4)
    rule = optimizer.SGD(0.1, parameters=layer.parameters())
    with embedding.monitor(layer) as watched:
        for ids in ([1, 2], [2, 3]):
            layer(sampan.to_tensor(ids)).sum().backward()
        assert watched.updates.sum() == 0
        rule.step()
        assert watched.updates[[1, 2, 3]].tolist() == [1, 1, 1] and watched.updates.sum() == 3
        rule.clear_grad(False)
        layer(sampan.to_tensor([3])).sum().backward()
        rule.step()
    assert watched.gradients[[1, 2, 3]].tolist() == [1, 2, 2] and watched.updates[[1, 2, 3]].tolist() == [
        1,
        1,
        2,
    ]


def test_a_step_that_was_left_out_is_no_update():
    layer = nn.Embedding(30, 4)
    with embedding.monitor(layer) as watched:
        layer(sampan.to_tensor([1])).sum().backward()
    assert watched.gradients.sum() == 1 and watched.updates.sum() == 0


def test_rows_of_a_growing_table_are_told_by_their_ids():
    layer = embedding.DynamicEmbedding(None, 4, capacity=6, eviction="lru")
    rule = optimizer.SGD(0.1, parameters=layer.parameters())
    with embedding.monitor(layer) as watched:
        trained(layer, rule, [np.array([10**12, -5, 10**12]), np.array([7, -5])])
        facts = dict(zip(watched.ids.tolist(), watched.gradients.tolist(), strict=True))
        assert facts == {10**12: 1, -5: 2, 7: 1}
        trained(layer, rule, [np.array([1, 2, 3]), np.array([4, 5])])  # capacity 6: the two oldest give way
        facts = {row["id"]: (row["gradients"], row["updates"]) for row in watched.table()}
        assert facts == {key: (1, 1) for key in (7, 1, 2, 3, 4, 5)}
        layer(sampan.to_tensor([99]))  # a row without a gradient, where there was another's
        assert watched.cold().tolist() == [99]
    assert sorted(watched.ids.tolist()) == [1, 2, 3, 4, 5, 99]


def test_exploding_rows():
    layer = nn.Embedding(30, 4)
    scales = np.ones(30, np.float32)
    scales[[3, 9]] = 50, 400
    with embedding.monitor(layer) as watched:
        ids = np.arange(20)
        (layer(sampan.to_tensor(ids)) * sampan.to_tensor(scales[ids, None])).sum().backward()
        assert watched.exploding().tolist() == [9, 3]
        assert watched.exploding(times=100).tolist() == [9]
        (layer(sampan.to_tensor([5])) * float("nan")).sum().backward()
    assert watched.exploding(times=100).tolist() == [5, 9]
    assert watched.table(2, by="largest")[0]["id"] == 5
    assert embedding.monitor(nn.Embedding(4, 2)).exploding().size == 0


def test_histograms_and_table():
    layer, found = nn.Embedding(30, 4), batches()
    with embedding.monitor(layer) as watched:
        trained(layer, optimizer.SGD(0.1, parameters=layer.parameters()), found)
    counts, means, _ = expected(found, 30, lambda row, times: np.full(4, 2.0 * times))
    for what, values in (("gradients", counts), ("norms", means[counts > 0])):
        for ours, theirs in zip(watched.histogram(what, 7), np.histogram(values, 7), strict=True):
            np.testing.assert_allclose(ours, theirs)
    top = watched.table(3)
    assert [row["gradients"] for row in top] == sorted(counts, reverse=True)[:3]
    assert all(row["norm"] == pytest.approx(means[row["id"]]) for row in top)
    assert "30 rows" in repr(watched)


def test_padding_is_not_cold():
    for layer in (nn.Embedding(5, 2, padding_idx=-1), embedding.EmbeddingBag(5, 2, padding_idx=4)):
        assert embedding.monitor(layer).cold().tolist() == [0, 1, 2, 3]


def test_a_bag_and_many_tables():
    bag = embedding.EmbeddingBag(10, 3, mode="sum")
    tables = embedding.EmbeddingTables([4, 5], 3)
    with embedding.monitor(bag) as in_bag, embedding.monitor(tables) as in_tables:
        bag([[1, 2, 2], [2]]).sum().backward()
        tables(sampan.to_tensor([[0, 0], [3, 0]])).sum().backward()
    assert np.flatnonzero(in_bag.gradients).tolist() == [1, 2]
    assert in_bag.norms[2] == pytest.approx(3 * np.sqrt(3))
    assert np.flatnonzero(in_tables.gradients).tolist() == [0, 3, 4]


def test_projector_files(tmp_path):
    """Read back as TensorBoard's plug-in reads them: values by tabs, a header where a line has a tab, paths in the config."""
    layer = nn.Embedding(6, 3)
    with embedding.monitor(layer, 'the "items"') as watched:
        trained(
            layer, optimizer.SGD(0.1, parameters=layer.parameters()), [np.array([0, 1]), np.array([1, 2])]
        )
    folder = watched.projector(tmp_path / "log", ["a", "b\tb", "书\n", "", "e", "f"])
    config = (folder / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "tensors.tsv"' in config and 'metadata_path: "metadata.tsv"' in config
    assert 'tensor_name: "the _items_"' in config and "tensor_shape: [6, 3]" in config
    vectors = np.loadtxt(folder / "tensors.tsv", delimiter="\t", dtype=np.float32)
    np.testing.assert_array_equal(vectors, layer.weight.numpy())
    header, *lines = [line.split("\t") for line in (folder / "metadata.tsv").read_text().splitlines()]
    assert len(lines) == 6 and {len(line) for line in lines} == {len(header)}
    assert [line[0] for line in lines] == ["a", "b b", "书", "?", "e", "f"]
    assert [line[header.index("state")] for line in lines] == ["warm"] * 3 + ["cold"] * 3
    assert [line[header.index("updates")] for line in lines] == ["1", "2", "1", "0", "0", "0"]
    few = watched.projector(tmp_path / "few", {1: "one", 0: "zero"}, most=2)
    assert len((few / "tensors.tsv").read_text().splitlines()) == 2
    assert not list(tmp_path.rglob("*.tmp"))


def test_wrong_input(tmp_path):
    layer = nn.Embedding(6, 3)
    with pytest.raises(TypeError, match="layer: expected Embedding"):
        embedding.monitor(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="layer: expected an embedding layer, got ndarray"):
        embedding.monitor(np.zeros((2, 2)))
    watched = embedding.monitor(layer)
    for call, said in (
        (lambda: watched.histogram("size"), "what: expected one of gradients"),
        (lambda: watched.histogram(bins=0), "bins: expected 1 or more"),
        (lambda: watched.table(by="id"), "by: expected one of"),
        (lambda: watched.table(0), "most: expected 1 or more"),
        (lambda: watched.exploding(0), "times: expected more than 0"),
        (lambda: watched.projector(tmp_path, ["a"]), "labels: expected one for each id, got 1"),
        (lambda: watched.projector(tmp_path, {0: "a"}), "labels: expected one for each id, got none for 1"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    assert not list(tmp_path.iterdir())
    with watched, pytest.raises(RuntimeError, match="already"), watched:
        pass


@pytest.mark.parametrize("rule", ["sgd", "adam"])
def test_one_table_under_two_heads_with_an_optimizer_each(rule):
    """A table that two tasks share: its gradients add up, and a step with each optimizer is torch's with dense gradients."""
    rng = np.random.default_rng(0)
    start, heads = rng.normal(size=(12, 4)), [rng.normal(size=(4, 1)), rng.normal(size=(4, 1))]
    ours = nn.Embedding(12, 4)
    ours.weight = nn.Parameter(sampan.to_tensor(start))
    our_heads = [nn.Parameter(sampan.to_tensor(h)) for h in heads]
    theirs = torch.nn.Parameter(torch.tensor(start))
    their_heads = [torch.nn.Parameter(torch.tensor(h)) for h in heads]
    if rule == "sgd":
        our_rules = [optimizer.SGD(0.1, parameters=[ours.weight, h]) for h in our_heads]
        their_rules = [torch.optim.SGD([theirs, h], 0.1) for h in their_heads]
    else:
        our_rules = [optimizer.Adam(0.1, epsilon=1e-8, parameters=[ours.weight, h]) for h in our_heads]
        their_rules = [torch.optim.Adam([theirs, h], 0.1, eps=1e-8) for h in their_heads]
    for turn in range(20):
        tasks = [rng.integers(0, 12, 6), rng.integers(0, 12, 5)]
        our_losses = [
            ((ours(sampan.to_tensor(i)) @ h) ** 2).mean() for i, h in zip(tasks, our_heads, strict=True)
        ]
        their_losses = [
            ((torch.nn.functional.embedding(torch.tensor(i), theirs) @ h) ** 2).mean()
            for i, h in zip(tasks, their_heads, strict=True)
        ]
        if turn % 2:  # both tasks in one pass
            (our_losses[0] + our_losses[1]).backward()
            (their_losses[0] + their_losses[1]).backward()
        else:
            for loss in (*our_losses, *their_losses):
                loss.backward()
        assert ours.weight.grad.is_row_sparse
        for rule_ in (our_rules[turn % 2], their_rules[turn % 2]):
            rule_.step()
        for r in our_rules:
            r.clear_grad(False)
        for r in their_rules:
            r.zero_grad()
    np.testing.assert_allclose(ours.weight.numpy(), theirs.detach().numpy(), rtol=1e-6, atol=1e-9)
    for h, t in zip(our_heads, their_heads, strict=True):
        np.testing.assert_allclose(h.numpy(), t.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_weights_of_other_kinds(dtype):
    layer = nn.Embedding(30, 4)
    layer.weight = nn.Parameter(layer.weight.astype(dtype))
    rule = optimizer.SGD(0.5, parameters=layer.parameters())
    with embedding.monitor(layer) as watched:
        trained(layer, rule, [np.array([1, 2, 2]), np.array([2, 3])])
    assert watched.gradients[:4].tolist() == watched.updates[:4].tolist() == [0, 1, 2, 1]
    np.testing.assert_allclose(watched.largest[:4], [0, 4, 8, 4])
