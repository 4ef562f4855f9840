"""Gradients of rows in whole programs: what reads them, clips them, scales them or keeps them gets what it would get of dense
ones. The oracle is the same program with `sparse=False`, torch, or PaddlePaddle's answer."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch

import sampan
from sampan import amp, embedding, nn, optimizer
from sampan.nn import functional as F
from sampan.row_sparse import RowSparse
from tests.row_tables import ids, table

LAZY = {
    "adam": lambda p, **o: optimizer.Adam(0.01, parameters=p, lazy_mode=True, **o),
    "adamw": lambda p, **o: optimizer.AdamW(0.01, parameters=p, weight_decay=0.1, lazy_mode=True, **o),
    "adagrad": lambda p, **o: optimizer.Adagrad(0.1, parameters=p, **o),
}


def after(change, rule, steps=8):
    """The table after some steps, each with `change(table, optimizer)` between backward and step."""
    weight = table()
    stepping = rule([weight])
    for turn in range(steps):
        (F.embedding(ids((3, 2), 50, turn), weight) ** 2).sum().backward()
        change(weight, stepping)
        stepping.step()
        stepping.clear_grad()
    return weight.numpy()


# --- reading a gradient does not change it -------------------------------------------------------------------------


def look(weight, rule):
    weight.grad.numpy()


def overwrite(weight, rule):
    weight.grad.numpy()[:] *= 1.0


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("change", [look, overwrite])
def test_reading_the_values_does_not_change_the_step(change, name):
    np.testing.assert_allclose(
        after(change, LAZY[name]), after(lambda w, r: None, LAZY[name]), rtol=1e-12, atol=1e-12
    )


def test_a_hook_that_only_looks_loses_nothing():
    weight, seen = table(), []
    weight.register_hook(lambda g: seen.append(float(g.sum())))
    plain = table()
    for turn in range(2):
        for w in (weight, plain):
            F.embedding(ids((5,), 50, turn), w).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), plain.grad.numpy())
    assert seen == [40.0, 40.0]


def test_a_hook_that_scales_keeps_the_rows():
    weight = table()
    weight.register_hook(lambda g: g * 0.5)
    F.embedding(ids((5,)), weight).sum().backward()
    assert weight.grad.is_row_sparse
    expected = np.zeros((50, 8))
    np.add.at(expected, ids((5,)).numpy(), 0.5)
    np.testing.assert_array_equal(weight.grad.numpy(), expected)


def test_a_trace_loses_nothing():
    weight = table()
    with sampan.trace():
        F.embedding(ids((5,)), weight).sum().backward()
    optimizer.SGD(1.0, parameters=[weight]).step()
    expected = table().numpy().copy()
    np.subtract.at(expected, ids((5,)).numpy(), 1.0)
    np.testing.assert_allclose(weight.numpy(), expected)


def test_rows_changed_by_hand_are_stepped_as_well():
    weight = table()
    rule = LAZY["adam"]([weight])
    F.embedding(sampan.to_tensor([3]), weight).sum().backward()
    weight.grad.data[7] = 1.0
    before = weight.numpy().copy()
    rule.step()
    assert np.flatnonzero((weight.numpy() != before).any(1)).tolist() == [3, 7]


def test_more_backwards_after_somebody_looked():
    weight, expected = table(), np.zeros((50, 8))
    for turn in range(4):
        F.embedding(ids((5,), 50, turn), weight).sum().backward()
        np.add.at(expected, ids((5,), 50, turn).numpy(), 1.0)
        np.testing.assert_array_equal(weight.grad.numpy(), expected)


def test_a_gradient_is_a_tensor_like_any():
    weight = table()
    F.embedding(ids(), weight).sum().backward()
    gradient, expected = weight.grad, np.zeros((50, 8))
    np.add.at(expected, ids().numpy().ravel(), 1.0)
    copied = copy.deepcopy(gradient)
    assert copied.is_row_sparse and gradient.is_row_sparse and copied is not gradient
    for made, factor in (
        (copied, 1), (pickle.loads(pickle.dumps(copied)), 1), (gradient + gradient, 2), (2 * gradient, 2), (gradient + 0.0, 1),
        (gradient.astype("float32"), 1), (gradient.to(torch.float32), 1), (gradient.clone(), 1), (gradient - gradient, 0),
        (sum([gradient, gradient]), 2), (gradient * sampan.ones([8], dtype="float64"), 1),
    ):  # fmt: skip
        np.testing.assert_array_equal(made.numpy(), factor * expected)
    again = gradient.coalesced()  # after all the reading
    assert again[0].tolist() == sorted(set(ids().numpy().ravel().tolist()))
    np.testing.assert_array_equal(again[1].numpy(), expected[again[0].numpy()])


def test_the_callers_buffers_may_be_used_again_before_the_step():
    weight, places = table(), ids((6,))
    weights = sampan.to_tensor(np.arange(1.0, 7.0))
    expected = np.zeros((50, 8))
    np.add.at(expected, places.numpy(), np.arange(1.0, 7.0)[:, None] + 1.0)
    F.embedding(places, weight).sum().backward()
    embedding.embedding_bag(
        places, weight, sampan.to_tensor([0, 2]), mode="sum", per_sample_weights=weights
    ).sum().backward()
    places.data[:], weights.data[:] = 0, 99.0  # the next batch is read into the same memory
    np.testing.assert_allclose(weight.grad.numpy(), expected)


# --- what stands between backward and step -----------------------------------------------------------------------


@pytest.mark.parametrize("clipping", [None, "norm", "value"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_grad_scaler_is_as_for_a_dense_gradient(dtype, clipping):
    results = []
    for sparse in (True, False):
        weight, other = table(dtype="float32"), table(3, 3, "float32", seed=9)
        if dtype == "float16":
            weight = sampan.to_tensor(weight.numpy().astype(dtype), stop_gradient=False)
        rule = optimizer.Adam(0.01, parameters=[weight, other], multi_precision=True)
        scaler = amp.GradScaler(init_loss_scaling=256.0, incr_every_n_steps=3)
        with amp.auto_cast(dtype="float16"):
            pass  # the scaler asks what the last one was
        for turn in range(7):
            rows = F.embedding(ids((9,), 50, turn), weight, sparse=sparse)
            loss = (rows.astype("float32") ** 2).sum() + (other**2).sum()
            scaler.scale(loss).backward()
            if turn == 2:
                weight.grad.set_value(np.full(weight.shape, np.inf, dtype))  # this step is left out
            if clipping:
                scaler.unscale_(rule)
                if clipping == "norm":
                    nn.utils.clip_grad_norm_([weight, other], 0.5)
                else:
                    nn.utils.clip_grad_value_([weight, other], 0.1)
            scaler.step(rule)
            scaler.update()
            rule.clear_grad(turn % 2 == 0)
        results.append((weight.astype("float32").numpy(), other.numpy(), scaler.state_dict()["scale"]))
    for one, another in zip(*results, strict=True):
        # in half precision the dense sum of a row is rounded before the step, that of rows is not
        np.testing.assert_allclose(one, another, rtol=1e-3 if dtype == "float16" else 1e-6, atol=1e-4 if dtype == "float16" else 1e-7)  # fmt: skip


def test_an_unscaled_gradient_stays_in_rows_and_its_makers_are_untouched():
    weight = table(dtype="float32")
    rule = optimizer.SGD(1.0, parameters=[weight])
    with amp.auto_cast(dtype="float16"):
        hidden = F.embedding(ids((5,)), weight)
        hidden.retain_grads()
        scaler = amp.GradScaler(init_loss_scaling=8.0)
        scaler.scale(hidden.sum()).backward()
    scaler.unscale_(rule)
    assert weight.grad.is_row_sparse
    assert (hidden.grad.numpy() == 8.0).all()
    assert sorted(set(weight.grad.numpy().ravel())) == [0.0, 1.0]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("promote", [False, True])
@pytest.mark.parametrize("kind", ["embedding", "bag", "max", "tables", "dynamic", "hybrid"])
def test_mixed_precision_trains_every_kind_of_table(kind, promote, decorated, level):
    layer = {
        "embedding": lambda: nn.Embedding(50, 8),
        "bag": lambda: embedding.EmbeddingBag(50, 8),
        "max": lambda: embedding.EmbeddingBag(50, 8, mode="max"),
        "tables": lambda: embedding.EmbeddingTables([50] * 6, 8),
        "dynamic": lambda: embedding.DynamicEmbedding(50, 8, initializer=("normal", 1.0)),
        "hybrid": lambda: embedding.HybridEmbedding(50, 8, 40, initializer=("normal", 1.0)),
    }[kind]()
    rule = optimizer.Adam(0.01, parameters=layer.parameters(), lazy_mode=True, multi_precision=decorated)
    if decorated:
        amp.decorate(layer, rule, level=level, dtype="bfloat16")
    losses = []
    for _ in range(4):
        with amp.auto_cast(level=level, dtype="bfloat16", use_promote=promote):
            loss = (layer(ids()).astype("float32") ** 2).mean()
        loss.backward()
        assert type(layer.weight.grad) is RowSparse and layer.weight.grad.is_row_sparse
        assert layer.weight.grad.dtype == layer.weight.dtype
        rule.step()
        rule.clear_grad()
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
    half = decorated and level == "O2" and kind not in ("dynamic", "hybrid")
    assert layer.weight.dtype == (torch.bfloat16 if half else torch.float32)


def test_the_lazy_step_of_a_half_precision_table_lets_other_rows_rest():
    weight = sampan.to_tensor(table().numpy().astype("float32")).astype("bfloat16")
    for masters in (True, False):
        w = sampan.to_tensor(weight.numpy(), stop_gradient=False)
        rule = optimizer.Adam(0.1, parameters=[w], lazy_mode=True, multi_precision=masters)
        before = w.data.clone()
        for turn in range(3):
            asked = sampan.to_tensor([3, 4, 3] if turn == 0 else [9])
            F.embedding(asked, w).sum().backward()
            rule.step()
            rule.clear_grad()
        moved = (w.data != before).any(1).nonzero().flatten().tolist()
        assert moved == [3, 4, 9]
        expected = before[[3, 4]].float() - 0.1  # the first step of Adam is the rate
        torch.testing.assert_close(w.data[[3, 4]].float(), expected, rtol=1e-2, atol=1e-2)


def test_cleared_it_counts_as_no_rows():
    """PaddlePaddle 3.3.1: a step after clear_grad() moves nothing where the gradient was one of rows and the step is lazy."""
    weight = table()
    rule = LAZY["adam"]([weight])
    for _ in range(2):
        F.embedding(sampan.to_tensor([1]), weight).sum().backward()
        rule.step()
        rule.clear_grad()
    before = weight.numpy().copy()
    rule.step()
    np.testing.assert_array_equal(weight.numpy(), before)
    # and the exact step goes on as it does with zeros
    tables = [table(), table()]
    rules = [optimizer.Adam(0.01, parameters=[t]) for t in tables]
    for t, r, sparse in zip(tables, rules, (True, False), strict=True):
        F.embedding(ids(), t, sparse=sparse).sum().backward()
        for _ in range(3):
            r.step()
            r.clear_grad()
    np.testing.assert_allclose(tables[0].numpy(), tables[1].numpy(), rtol=1e-12)


GROUPS = {
    "rates": lambda a, b: {"parameters": [{"params": [a], "learning_rate": 0.1}, {"params": [b]}]},
    "decays": lambda a, b: {"parameters": [{"params": [a], "weight_decay": 0.3}, {"params": [b], "weight_decay": 0.0}]},
    "L1": lambda a, b: {"parameters": [a, b], "weight_decay": sampan.regularizer.L1Decay(0.01)},
    "scheduler": lambda a, b: {"parameters": [a, b], "learning_rate": optimizer.lr.StepDecay(0.05, 10, 0.5)},
    "clip in one group": lambda a, b: {"parameters": [{"params": [a], "grad_clip": nn.ClipGradByNorm(0.1)}, {"params": [b]}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (kind, settings)
        for kind in (optimizer.SGD, optimizer.Momentum, optimizer.Adam, optimizer.AdamW)
        for settings in GROUPS
        if (kind, settings) != (optimizer.AdamW, "L1")  # its decay is a number
    ],
)
def test_groups_decays_and_schedulers_are_as_with_dense_gradients(kind, settings):
    results = []
    for sparse in (True, False):
        a, b = table(20, 3), table(20, 3, seed=4)
        given = {"learning_rate": 0.02, **GROUPS[settings](a, b)}
        rule = kind(**given)
        for turn in range(30):
            rows = F.embedding(ids((4,), 20, turn), a, sparse=sparse) * F.embedding(ids((4,), 20, turn + 99), b, sparse=sparse)  # fmt: skip
            (rows**2).sum().backward()
            rule.step()
            rule.clear_grad(turn % 3 == 0)
            if isinstance(rule._learning_rate, optimizer.lr.LRScheduler):
                rule._learning_rate.step()
        results.append((a.numpy(), b.numpy()))
    for one, another in zip(*results, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-9, atol=1e-12)


# --- beside torch --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0, float("inf")])
def test_max_norm_is_torchs(norm):
    weight = table()
    reference = torch.from_numpy(weight.numpy().copy()).requires_grad_()
    for turn in range(3):
        asked = ids((4, 3), 50, turn)
        (
            (F.embedding(asked, weight, 3, 0.7, norm) ** 3).sum()
            + F.embedding(asked, weight, None, 0.9).sum()
        ).backward()
        place = torch.from_numpy(asked.numpy())
        first = torch.nn.functional.embedding(place, reference, 3, 0.7, norm)
        first = first.masked_fill((place == 3)[..., None], 0.0)  # Paddle's padding reads as zeros
        ((first**3).sum() + torch.nn.functional.embedding(place, reference, None, 0.9).sum()).backward()
        np.testing.assert_allclose(weight.numpy(), reference.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(weight.grad.numpy(), reference.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("wrong", [-1, 50])
def test_an_id_outside_is_found_before_rows_are_shortened(wrong):
    weight = table()
    before = weight.numpy().copy()
    with pytest.raises(ValueError, match=rf"x\[1, 0\]: expected an id from 0 to 49, got {wrong}"):
        F.embedding(sampan.to_tensor([[3, 4], [wrong, 5]]), weight, max_norm=0.1)
    np.testing.assert_array_equal(weight.numpy(), before)


@pytest.mark.parametrize("kind", ["float32", "bool", "int8", "uint8", "int16", "complex64"])
def test_what_is_no_id_is_refused_by_name(kind):
    wrong = sampan.to_tensor(np.ones((2, 2)).astype(kind))
    for call, name in (
        (partial(F.embedding, weight=table()), "x"),
        (nn.Embedding(50, 4), "x"),
        (embedding.EmbeddingBag(50, 4), "input"),
        (embedding.EmbeddingTables([50, 50], 4), "ids"),
        (embedding.DynamicEmbedding(50, 4), "ids"),
        (embedding.HybridEmbedding(50, 4, 10), "ids"),
    ):
        with pytest.raises(TypeError, match=f"{name}: expected int32 or int64, got {kind}"):
            call(wrong)


def test_state_dicts_go_to_torch_and_back():
    ours, theirs = nn.Embedding(20, 3, padding_idx=-2), torch.nn.Embedding(20, 3, padding_idx=-2)
    theirs.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in ours.state_dict().items()})
    asked = ids((4, 5), 20)
    np.testing.assert_array_equal(ours(asked).numpy(), theirs(asked.data).detach().numpy())
    ours.set_state_dict({k: sampan.to_tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    ours(asked).sum().backward()
    theirs(asked.data).sum().backward()
    np.testing.assert_array_equal(ours.weight.grad.numpy(), theirs.weight.grad.numpy())
    assert (ours.weight.grad.numpy()[18] == 0).all()


def test_a_padding_row_never_trains():
    for padding in (0, 7, -1, -20):
        for rule in (*LAZY.values(), lambda p: optimizer.Momentum(0.1, parameters=p)):
            layer = nn.Embedding(20, 3, padding_idx=padding)
            stepping = rule(layer.parameters())
            for turn in range(3):
                (layer(ids((30,), 20, turn)) + 1.0).square().sum().backward()
                stepping.step()
                stepping.clear_grad(False)
            assert (layer.weight.numpy()[padding] == 0).all()
            assert (layer.weight.numpy()[(padding + 1) % 20] != 0).all()


def test_one_table_for_two_layers_and_an_output():
    shared = nn.Embedding(30, 4)
    other = nn.Embedding(30, 4, padding_idx=2)
    other.weight = shared.weight
    reference = torch.from_numpy(shared.weight.numpy().copy()).requires_grad_()
    a, b = ids((3, 2), 30), ids((3, 2), 30, 5)
    ((shared(a) * other(b)).sum([1]) @ shared.weight.t()).logsumexp(-1).sum().backward()
    x, y = (
        torch.nn.functional.embedding(torch.from_numpy(i.numpy()), reference, p)
        for i, p in ((a, None), (b, 2))
    )
    y = y.masked_fill(torch.from_numpy(b.numpy() == 2)[..., None], 0.0)
    ((x * y).sum(1) @ reference.t()).logsumexp(-1).sum().backward()
    np.testing.assert_allclose(shared.weight.grad.numpy(), reference.grad.numpy(), rtol=1e-5, atol=1e-7)


# --- recomputation, layers of one's own -----------------------------------------------------------------------------


class Again(sampan.autograd.PyLayer):
    """Runs its layer again in backward, and keeps nothing in between: activation checkpointing."""

    @staticmethod
    def forward(context, start, layer, asked):
        context.layer, context.asked = layer, asked
        with sampan.no_grad():
            return start + layer(asked).tanh()

    @staticmethod
    def backward(context, gradient):
        with sampan.enable_grad():
            context.layer(context.asked).tanh().backward(gradient)
        return gradient, None


def test_recomputed_lookups_give_the_same_gradient():
    one, other = nn.Embedding(30, 4), nn.Embedding(30, 4)
    other.set_state_dict(one.state_dict())
    start = sampan.zeros([3, 2, 4])
    start.stop_gradient = False
    asked = ids((3, 2), 30)
    (Again.apply(start, one, asked) ** 2).sum().backward()
    (other(asked).tanh() ** 2).sum().backward()
    assert one.weight.grad.is_row_sparse
    np.testing.assert_allclose(one.weight.grad.numpy(), other.weight.grad.numpy(), rtol=1e-6)


def test_without_a_tape_there_is_no_gradient():
    layer = nn.Embedding(30, 4)
    with sampan.no_grad():
        assert layer(ids((3,), 30)).stop_gradient
    frozen = nn.Embedding(30, 4, _freeze=True)
    assert frozen(ids((3,), 30)).stop_gradient
    (plain,) = sampan.grad(layer(ids((3,), 30)).sum(), layer.weight)
    assert type(plain) is RowSparse and layer.weight.grad is None


# --- bags and ragged ids from a loader -------------------------------------------------------------------------------


class Ragged(sampan.io.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, place):
        return np.arange(place % 4) + place


def together(samples):
    return samples


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_of_ragged_ids_feeds_bags(workers):
    layer = embedding.EmbeddingBag(40, 3, mode="sum")
    values, asked = layer.weight.numpy(), []
    for batch in sampan.io.DataLoader(Ragged(), batch_size=4, collate_fn=together, num_workers=workers):
        bags = [b.numpy() if isinstance(b, sampan.Tensor) else b for b in batch]
        expected = np.stack([values[b].sum(0) for b in bags])
        for given in (bags, [b.tolist() for b in bags], [sampan.to_tensor(b) for b in bags]):
            np.testing.assert_allclose(layer(given).numpy(), expected, rtol=1e-6, atol=1e-6)
        asked += [len(b) for b in bags]
    assert asked == [place % 4 for place in range(12)]
