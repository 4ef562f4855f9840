"""Two channels for a word beside torch; what never trains; the classifier and its comparison."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, optimizer
from sampan.embedding.word_char import JOINTS, POOLINGS, CharEmbedding
from sampan.row_sparse import RowSparse

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS, CHARS, WIDTH = 11, 9, 6


def layer_of(combine="concat", pooling="mean", dtype="float64", seed=0):
    sampan.seed(seed)
    layer = embedding.WordCharEmbedding(WORDS, CHARS, WIDTH, combine, pooling)
    rng = np.random.default_rng(seed)
    for p in layer.parameters():  # larger than a layer begins with, so that a wrong value shows
        p.data = torch.from_numpy(rng.standard_normal(p.shape).astype(dtype))
    layer.words.weight.data[0] = 0
    layer.chars.table.weight.data[0] = 0
    return layer


def torch_layer(layer, words, chars):
    """The same by torch's own embedding, convolution and autograd: (output, parameters in the layer's order)."""
    own = {name: torch.from_numpy(p.numpy().copy()).requires_grad_() for name, p in layer.named_parameters()}
    f = torch.nn.functional
    w = f.embedding(words, own["words.weight"], padding_idx=0)
    rows = f.embedding(chars, own["chars.table.weight"], padding_idx=0)  # [B, T, C, d]
    there = (chars != 0).unsqueeze(-1)
    if layer.chars.pooling == "mean":
        c = rows.sum(2) / there.sum(2).clamp(min=1)
    else:
        if layer.chars.pooling == "conv":
            flat = rows.flatten(0, 1).transpose(1, 2)
            seen = f.conv1d(flat, own["chars.conv.weight"], own["chars.conv.bias"], padding=1)
            rows = seen.transpose(1, 2).reshape(rows.shape)
        top = rows.masked_fill(~there, -torch.inf).amax(2)
        c = torch.where(there.any(2), top, 0.0)
    if layer.combine == "concat":
        return torch.cat([w, c], -1), own
    if layer.combine == "sum":
        return w + c, own
    g = torch.sigmoid(torch.cat([w, c], -1) @ own["gate.weight"] + own["gate.bias"])
    return g * w + (1 - g) * c, own


def ids(data, kind=np.int64):
    shape = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 4)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    words, chars = rng.integers(0, WORDS, shape[:2]), rng.integers(0, CHARS, shape)
    chars[rng.random(shape) < 0.4] = 0  # also in front of and between characters
    return words.astype(kind), chars.astype(kind)


@pytest.mark.parametrize("combine", JOINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
@given(data=st.data())
@settings(max_examples=15)
def test_values_and_gradients_are_torchs(combine, pooling, data):
    words, chars = ids(data, data.draw(st.sampled_from([np.int64, np.int32])))
    layer = layer_of(combine, pooling)
    out = layer(sampan.to_tensor(words), sampan.to_tensor(chars))
    wanted, own = torch_layer(layer, torch.from_numpy(words).long(), torch.from_numpy(chars).long())
    assert out.shape == [*words.shape, WIDTH] and out.dtype == sampan.float64
    np.testing.assert_allclose(out.numpy(), wanted.detach().numpy(), rtol=1e-12, atol=1e-12)
    upstream = np.random.default_rng(1).standard_normal(out.shape)
    out.backward(sampan.to_tensor(upstream))
    wanted.backward(torch.from_numpy(upstream))
    for name, p in layer.named_parameters():
        theirs = own[name].grad
        theirs = np.zeros(p.shape) if theirs is None else theirs.numpy()
        np.testing.assert_allclose(p.grad.numpy(), theirs, rtol=1e-10, atol=1e-10, err_msg=name)


BATCH = (
    np.array([[1, 2, 0], [3, 3, 1]]),
    np.array([[[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[4, 5, 6], [4, 5, 6], [0, 7, 0]]]),
)


@pytest.mark.parametrize("combine", JOINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_are_those_of_finite_differences(combine, pooling):
    layer = layer_of(combine, pooling)
    asked = [sampan.to_tensor(x) for x in BATCH]
    weights = sampan.to_tensor(np.random.default_rng(2).standard_normal((2, 3, WIDTH)))
    value = lambda: (layer(*asked).tanh() * weights).sum()
    value().backward()
    for name, p in layer.named_parameters():
        direction = np.random.default_rng(3).standard_normal(p.shape)
        if "weight" in name and p.shape[0] in (WORDS, CHARS):
            direction[0] = 0  # padding is a constant
        start, ends = p.data.clone(), []
        for step in (1e-6, -1e-6):
            p.data = start + step * torch.from_numpy(direction)
            ends.append(float(value()))
        p.data = start
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(
            (p.grad.numpy() * direction).sum(), slope, rtol=1e-6, atol=1e-8, err_msg=name
        )


@pytest.mark.parametrize("combine", JOINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_stay_rows_and_a_step_touches_no_other(combine, pooling):
    layer = layer_of(combine, pooling, "float32")
    adam = optimizer.Adam(0.1, parameters=layer.parameters(), lazy_mode=True)
    tables = {layer.words.weight: {1, 2, 3}, layer.chars.table.weight: {1, 2, 3, 4, 5, 6, 7}}
    before = {table: table.numpy().copy() for table in tables}
    for _ in range(3):
        (layer(*map(sampan.to_tensor, BATCH)) ** 2).sum().backward()
        for table, named in tables.items():
            assert type(table.grad) is RowSparse and table.grad.is_row_sparse
            rows, values = table.grad.coalesced()
            moved = {int(r) for r, v in zip(rows, values, strict=True) if v.any()}
            assert moved <= named and (moved == named or pooling != "mean")
        adam.step()
        adam.clear_grad()
    for table, named in tables.items():
        changed = set(np.flatnonzero((table.numpy() != before[table]).any(1)))
        assert changed <= named and 0 not in changed
        assert not table.numpy()[0].any()


@pytest.mark.parametrize("combine", JOINTS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_reads_as_zeros_wherever_it_stands(combine, pooling):
    layer = layer_of(combine, pooling)
    words, chars = BATCH
    out = layer(sampan.to_tensor(words), sampan.to_tensor(chars)).numpy()
    assert not out[0, 2].any() and out[0, :2].all() and out[1].any(-1).all()
    wider = np.concatenate([chars, np.zeros((2, 3, 2), np.int64)], 2)  # more padding for characters
    longer = np.concatenate([wider, np.zeros((2, 1, 5), np.int64)], 1)  # and a longer text beside
    found = layer(sampan.to_tensor(np.pad(words, ((0, 0), (0, 1)))), sampan.to_tensor(longer)).numpy()
    np.testing.assert_allclose(found[:, :3], out, rtol=1e-12)
    assert not found[:, 3].any()


def test_an_unknown_word_is_told_apart_by_its_characters():
    layer = layer_of("concat")
    words = sampan.to_tensor(np.array([[1, 1, 1]]))
    out = layer(words, sampan.to_tensor(np.array([[[2, 3], [3, 4], [0, 0]]]))).numpy()[0]
    np.testing.assert_array_equal(out[0, :3], out[1, :3])  # one row for both
    assert (out[0, 3:] != out[1, 3:]).all()
    table = layer.chars.table.weight.numpy()
    np.testing.assert_allclose(out[:, 3:], [table[[2, 3]].mean(0), table[[3, 4]].mean(0), np.zeros(3)])


def test_widths_and_parameters():
    layer = embedding.WordCharEmbedding(20, 10, 7)  # an odd width: the word has the larger part
    assert layer.words.weight.shape == [20, 4] and layer.chars.table.weight.shape == [10, 3]
    assert layer.gate is None and layer.chars.conv is None and "combine='concat'" in repr(layer)
    gate = embedding.WordCharEmbedding(20, 10, 7, "gate", "conv")
    assert {n: list(p.shape) for n, p in gate.named_parameters()} == {
        "words.weight": [20, 7], "chars.table.weight": [10, 7], "chars.conv.weight": [7, 7, 3], "chars.conv.bias": [7],
        "gate.weight": [14, 7], "gate.bias": [7],
    }  # fmt: skip
    other = embedding.WordCharEmbedding(20, 10, 7, "gate", "conv")
    other.set_state_dict(gate.state_dict())
    asked = [sampan.to_tensor(x) for x in BATCH]
    np.testing.assert_array_equal(other(*asked).numpy(), gate(*asked).numpy())


def test_another_id_may_be_the_padding():
    layer = embedding.WordCharEmbedding(5, 5, 4, "sum", padding_idx=3)
    out = layer(sampan.to_tensor(np.array([[3, 0]])), sampan.to_tensor(np.array([[[3, 3], [0, 3]]]))).numpy()
    assert not out[0, 0].any()
    tables = layer.words.weight.numpy(), layer.chars.table.weight.numpy()
    np.testing.assert_allclose(out[0, 1], tables[0][0] + tables[1][0], rtol=1e-6)


def asked(words, chars):
    return [x if x is None else sampan.to_tensor(np.array(x)) for x in (words, chars)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: embedding.WordCharEmbedding(5, 5, 4, "product"), ValueError, "combine: .*concat, gate, sum, got 'product'"),
        (lambda m: embedding.WordCharEmbedding(5, 5, 4, pooling="min"), ValueError, "pooling: .* got 'min'"),
        (lambda m: embedding.WordCharEmbedding(0, 5, 4), ValueError, "num_words"),
        (lambda m: embedding.WordCharEmbedding(5, 5, 4, padding_idx=5), ValueError, "padding_idx: .*got 5 and 5"),
        (lambda m: embedding.WordCharEmbedding(5, 3, 4, padding_idx=3), ValueError, "num_chars, padding_idx"),
        (lambda m: embedding.WordCharEmbedding(5, 5, 4, padding_idx=-1), ValueError, "got 5 and -1"),
        (lambda m: embedding.CharEmbedding(5, 4, padding_idx=-1), ValueError, "num_chars, padding_idx: .*got 5 and -1"),
        (lambda m: embedding.WordCharEmbedding(5, 5, 1), ValueError, "embedding_dim: expected 2 or more for 'concat', got 1"),
        (lambda m: embedding.WordCharEmbedding(5, 5, 0, "sum"), ValueError, "embedding_dim: expected 1 or more"),
        (lambda m: m(*asked([[1, 11]], [[[1], [1]]])), ValueError, r"words\[0, 1\]: expected an id from 0 to 10, got 11"),
        (lambda m: m(*asked([[1, 2]], [[[1], [9]]])), ValueError, r"chars\[0, 1, 0\]: expected an id from 0 to 8, got 9"),
        (lambda m: m(*asked([[-1]], [[[1]]])), ValueError, r"words\[0, 0\].*got -1"),
        (lambda m: m(*asked([[1]], [[[-2]]])), ValueError, "got -2"),
        (lambda m: m(*asked([[1.0]], [[[1]]])), TypeError, "words: expected int32 or int64, got float64"),
        (lambda m: m(*asked([[1]], [[[1.0]]])), TypeError, "chars: .*got float64"),
        (lambda m: m(*asked([[True]], [[[1]]])), TypeError, "words: .*got bool"),
        (lambda m: m([[1]], *asked([[[1]]], None)[:1]), TypeError, "words: expected a Tensor of int32 or int64, got list"),
        (lambda m: m(*asked([[1, 2]], [[[1]]])), ValueError, r"chars: expected shape \[1, 2, 'C'\].*got \[1, 1, 1\]"),
        (lambda m: m(*asked([[1, 2]], [[1, 2]])), ValueError, "chars: expected"),
        (lambda m: m(*asked([[1]], np.zeros((1, 1, 0), np.int64))), ValueError, r"chars: .*got shape \[1, 1, 0\]"),
        (lambda m: CharEmbedding(5, 4, "sum"), ValueError, "pooling"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(layer_of())


# --- the classifier and the experiment --------------------------------------------------------------------------
