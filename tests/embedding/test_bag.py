"""Bags of ids beside torch's embedding_bag, and many tables in one call."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, optimizer
from sampan.row_sparse import RowSparse


def table(count=12, width=5, seed=0):
    return np.random.default_rng(seed).standard_normal((count, width))


def drawn(data, count=12):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    ids = data.draw(st.lists(st.integers(0, count - 1), min_size=sum(lengths), max_size=sum(lengths)))
    return np.array(ids, np.int64), np.array([0, *np.cumsum(lengths)], np.int64)


@settings(max_examples=80)
@given(st.data())
def test_every_mode_is_torchs(data):
    ids, starts = drawn(data)
    mode = data.draw(st.sampled_from(embedding.bag.MODES))
    padding = data.draw(st.one_of(st.none(), st.integers(-12, 11)))
    by_frequency = mode != "max" and data.draw(st.booleans())
    weighted = mode == "sum" and data.draw(st.booleans())
    weight = sampan.to_tensor(table(), stop_gradient=False)
    reference = torch.from_numpy(table()).requires_grad_()
    factors = np.random.default_rng(1).standard_normal(len(ids))
    scale = sampan.to_tensor(factors, stop_gradient=False) if weighted else None
    theirs_scale = torch.from_numpy(factors).requires_grad_() if weighted else None
    out = embedding.embedding_bag(
        sampan.to_tensor(ids), weight, sampan.to_tensor(starts), mode=mode, include_last_offset=True,
        padding_idx=padding, per_sample_weights=scale, scale_grad_by_freq=by_frequency,
    )  # fmt: skip
    expected = torch.nn.functional.embedding_bag(
        torch.from_numpy(ids), reference, torch.from_numpy(starts), mode=mode, include_last_offset=True,
        padding_idx=padding, per_sample_weights=theirs_scale,
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    upstream = np.random.default_rng(2).standard_normal(out.shape)
    out.backward(sampan.to_tensor(upstream))
    expected.backward(torch.from_numpy(upstream))
    assert type(weight.grad) is RowSparse
    wanted = reference.grad.numpy()
    if by_frequency:  # torch 2.13 divides by the count of another row
        wanted = wanted / np.maximum(np.bincount(ids, minlength=12), 1)[:, None]
    np.testing.assert_allclose(weight.grad.numpy(), wanted, rtol=1e-10, atol=1e-10)
    if weighted:
        np.testing.assert_allclose(scale.grad.numpy(), theirs_scale.grad.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", embedding.bag.MODES)
def test_ragged_rows_and_offsets_say_the_same(mode):
    weight = sampan.to_tensor(table())
    ragged = embedding.embedding_bag([[1, 2, 3], [], [4, 4]], weight, mode=mode)
    flat = embedding.embedding_bag(
        sampan.to_tensor([1, 2, 3, 4, 4]), weight, sampan.to_tensor([0, 3, 3]), mode=mode
    )
    np.testing.assert_array_equal(ragged.numpy(), flat.numpy())
    assert (ragged.numpy()[1] == 0).all()
    even = embedding.embedding_bag(sampan.to_tensor([[1, 2], [3, 4]]), weight, mode=mode)
    np.testing.assert_array_equal(
        even.numpy(), embedding.embedding_bag([[1, 2], [3, 4]], weight, mode=mode).numpy()
    )


@pytest.mark.parametrize("mode", embedding.bag.MODES)
def test_second_derivatives(mode):
    weight = sampan.to_tensor(table(), stop_gradient=False)
    scale = sampan.to_tensor(np.linspace(0.5, 2, 5), stop_gradient=False) if mode == "sum" else None
    inputs = [weight] if scale is None else [weight, scale]

    def value(w, s=None):
        return embedding.embedding_bag([[1, 2, 3], [4, 1]], w, mode=mode, per_sample_weights=s).tanh().sum()

    direction = [np.random.default_rng(i).standard_normal(v.shape) for i, v in enumerate(inputs)]
    first = sampan.grad(value(*inputs), inputs, create_graph=True)
    along = sum((g * sampan.to_tensor(d)).sum() for g, d in zip(first, direction, strict=True))
    second = sampan.grad(along, inputs)

    def first_at(step):
        moved = [
            sampan.to_tensor(v.numpy() + step * d, stop_gradient=False)
            for v, d in zip(inputs, direction, strict=True)
        ]
        return [g.numpy() for g in sampan.grad(value(*moved), moved)]

    for found, up, down in zip(second, first_at(1e-5), first_at(-1e-5), strict=True):
        np.testing.assert_allclose(found.numpy(), (up - down) / 2e-5, rtol=1e-5, atol=1e-8)


def test_a_step_over_bags_is_that_of_a_dense_gradient():
    layers = [embedding.EmbeddingBag(12, 5, mode="mean", sparse=s, padding_idx=0) for s in (True, False)]
    layers[1].set_state_dict(layers[0].state_dict())
    rules = [optimizer.Adagrad(0.1, parameters=layer.parameters()) for layer in layers]
    for turn in range(5):
        ids = np.random.default_rng(turn).integers(0, 12, (4, 3))
        for layer, rule in zip(layers, rules, strict=True):
            (layer(sampan.to_tensor(ids)) ** 2).sum().backward()
            rule.step()
            rule.clear_grad(False)
    np.testing.assert_allclose(layers[0].weight.numpy(), layers[1].weight.numpy(), rtol=1e-6)
    assert (layers[0].weight.numpy()[0] == 0).all()


def test_max_norm_shortens_what_was_asked_for():
    layer = embedding.EmbeddingBag(12, 5, max_norm=0.5)
    before = layer.weight.numpy().copy()
    layer([[1, 2]])
    lengths = np.linalg.norm(layer.weight.numpy(), axis=1)
    assert (lengths[[1, 2]] <= 0.5 + 1e-6).all()
    np.testing.assert_array_equal(layer.weight.numpy()[3:], before[3:])


def test_many_tables_in_one_call():
    tables = embedding.EmbeddingTables([3, 5, 2], 4)
    ids = sampan.to_tensor([[2, 4, 0], [0, 1, 1]])
    out = tables(ids)
    assert out.shape == [2, 3, 4]
    for field in range(3):
        np.testing.assert_array_equal(
            out.numpy()[:, field], tables.table(field).numpy()[ids.numpy()[:, field]]
        )
    out.sum().backward()
    assert type(tables.weight.grad) is RowSparse
    assert sorted(tables.weight.grad.coalesced()[0].tolist()) == [0, 2, 4, 7, 8, 9]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda w: embedding.embedding_bag([[1, 12]], w), ValueError, r"input\[1\]: .*0 to 11, got 12"),
        (lambda w: embedding.embedding_bag([[1, -1]], w), ValueError, "got -1"),
        (lambda w: embedding.embedding_bag([[1]], w, mode="min"), ValueError, "mode"),
        (lambda w: embedding.embedding_bag([[0.5]], w), TypeError, "input: expected int32 or int64, got float64"),
        (lambda w: embedding.embedding_bag(sampan.to_tensor([1, 2]), w), ValueError, "without offsets"),
        (lambda w: embedding.embedding_bag(sampan.to_tensor([[1, 2]]), w, sampan.to_tensor([0])), ValueError, "offsets"),
        (lambda w: embedding.embedding_bag(sampan.to_tensor([1, 2]), w, sampan.to_tensor([0, 3])), ValueError, "within 2"),
        (lambda w: embedding.embedding_bag(sampan.to_tensor([1, 2]), w, sampan.to_tensor([1])), ValueError, "start at 0"),
        (lambda w: embedding.embedding_bag([[1]], w, padding_idx=12), ValueError, "padding_idx"),
        (lambda w: embedding.embedding_bag([[1]], w, per_sample_weights=sampan.ones([1])), ValueError, "mode 'sum'"),
        (lambda w: embedding.embedding_bag([[1]], w, mode="sum", per_sample_weights=sampan.ones([2])), ValueError, "got 2"),
        (lambda w: embedding.EmbeddingBag(0, 4), ValueError, "num_embeddings"),
        (lambda w: embedding.EmbeddingTables([3, 0], 4), ValueError, "num_embeddings"),
        (lambda w: embedding.EmbeddingTables([3, 2], 4)(sampan.to_tensor([[1, 2]])), ValueError, r"ids\[0, 1\].*table 1"),
        (lambda w: embedding.EmbeddingTables([3, 2], 4)(sampan.to_tensor([1])), ValueError, "an id of each table"),
        (lambda w: embedding.EmbeddingTables([3, 2], 4)(sampan.to_tensor([[1.0, 0.0]])), TypeError, "float32"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(sampan.to_tensor(table()))
