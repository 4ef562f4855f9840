"""The gradient of a table: rows alone, added up right, and every optimizer's step as with the dense gradient."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import nn, optimizer
from sampan.nn import functional as F
from sampan.row_sparse import RowSparse
from tests.row_tables import ids, table


def test_an_embedding_needs_no_flag():
    weight = table()
    F.embedding(ids(), weight).sum().backward()
    assert type(weight.grad) is RowSparse and weight.grad.is_row_sparse
    assert weight.grad.shape == [50, 8] and weight.grad.dtype == torch.float64
    assert (
        "24 rows named" in repr(weight.grad) and weight.grad.is_row_sparse
    )  # looking does not make it dense
    forced = table()
    F.embedding(ids(), forced, sparse=False).sum().backward()
    assert type(forced.grad) is not RowSparse
    np.testing.assert_array_equal(weight.grad.numpy(), forced.grad.numpy())
    assert not weight.grad.is_row_sparse  # it was read


@settings(max_examples=60)
@given(st.data())
def test_its_values_are_those_of_torch(data):
    count, width = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 5))
    padding = data.draw(st.one_of(st.none(), st.integers(-count, count - 1)))
    by_frequency = data.draw(st.booleans())
    passes = data.draw(st.integers(1, 4))
    weight, reference = (
        table(count, width),
        torch.from_numpy(table(count, width).numpy().copy()).requires_grad_(),
    )
    for turn in range(passes):
        asked = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=40)), np.int64)
        upstream = np.random.default_rng(turn).standard_normal((len(asked), width))
        F.embedding(sampan.to_tensor(asked), weight, padding, scale_grad_by_freq=by_frequency).backward(
            sampan.to_tensor(upstream)
        )
        torch.nn.functional.embedding(
            torch.from_numpy(asked), reference, padding, scale_grad_by_freq=by_frequency
        ).backward(torch.from_numpy(upstream))
    assert weight.grad.is_row_sparse
    distinct, rows = weight.grad.coalesced()
    assert len(set(distinct.tolist())) == len(distinct) == len(rows)
    np.testing.assert_allclose(weight.grad.numpy(), reference.grad.numpy(), rtol=1e-12, atol=1e-12)


def test_a_table_tied_to_the_output_layer_gets_both_gradients():
    weight, asked = table(), ids()
    reference = torch.from_numpy(weight.numpy().copy()).requires_grad_()
    hidden = F.embedding(asked, weight).tanh()
    (hidden @ weight.t()).exp().mean().backward()
    found = torch.nn.functional.embedding(torch.from_numpy(asked.numpy()), reference).tanh()
    (found @ reference.t()).exp().mean().backward()
    np.testing.assert_allclose(weight.grad.numpy(), reference.grad.numpy(), rtol=1e-12)


def test_a_dense_gradient_may_come_before_or_after():
    for order in ((0, 1), (1, 0), (0, 1, 0), (1, 0, 1)):
        weight, expected = table(), np.zeros((50, 8))
        for kind in order:
            if kind:
                F.embedding(ids(), weight).sum().backward()
                np.add.at(expected, ids().numpy().ravel(), 1.0)
            else:
                (weight * 2.0).sum().backward()
                expected += 2.0
        np.testing.assert_allclose(weight.grad.numpy(), expected)


def test_a_hook_sees_it_and_may_replace_it():
    weight, seen = table(), []
    weight.register_hook(lambda g: seen.append(type(g)) or g * 3.0)
    F.embedding(ids(), weight).sum().backward()
    expected = np.zeros((50, 8))
    np.add.at(expected, ids().numpy().ravel(), 3.0)
    assert seen == [RowSparse]
    np.testing.assert_allclose(weight.grad.numpy(), expected)


def test_grad_and_its_second_derivative():
    weight, asked = table(), ids()
    (first,) = sampan.grad((F.embedding(asked, weight) ** 3).sum(), weight, create_graph=True)
    first.sum().backward()
    expected = np.zeros((50, 8))
    np.add.at(expected, asked.numpy().ravel(), 6.0 * weight.numpy()[asked.numpy().ravel()])
    np.testing.assert_allclose(weight.grad.numpy(), expected)
    (plain,) = sampan.grad((F.embedding(asked, weight) ** 3).sum(), weight)
    np.testing.assert_allclose(plain.numpy(), first.numpy())


def test_a_table_that_is_computed_gets_an_ordinary_gradient():
    weight = table()
    F.embedding(ids(), weight * 2.0).sum().backward()
    assert type(weight.grad) is not RowSparse


def test_memory_that_the_tape_still_uses_is_not_shared():
    weight, x = table(), table(24, 8, seed=3)
    (F.embedding(ids((24,)), weight) + x).backward(sampan.to_tensor(np.ones((24, 8))))
    kept = weight.grad.coalesced()[1].clone()
    with sampan.no_grad():
        x.grad.zero_()
    torch.testing.assert_close(weight.grad.coalesced()[1], kept)


def test_many_backwards_never_hold_more_than_twice_the_table():
    weight = table(10, 4)
    for turn in range(20):
        F.embedding(ids((7,), 10, turn), weight).sum().backward()
    assert sum(len(part[0]) for part in weight.grad.rows().parts) <= 20
    expected = np.zeros((10, 4))
    for turn in range(20):
        np.add.at(expected, ids((7,), 10, turn).numpy(), 1.0)
    np.testing.assert_allclose(weight.grad.numpy(), expected)


OPTIMIZERS = {
    "sgd": lambda p, **o: optimizer.SGD(0.1, parameters=p, **o),
    "momentum": lambda p, **o: optimizer.Momentum(0.1, parameters=p, **o),
    "nesterov": lambda p, **o: optimizer.Momentum(
        0.1, parameters=p, use_nesterov=True, rescale_grad=0.5, **o
    ),
    "adagrad": lambda p, **o: optimizer.Adagrad(0.1, parameters=p, **o),
    "ftrl": lambda p, **o: optimizer.Ftrl(0.1, 0.01, 0.1, parameters=p, **o),
    "adam": lambda p, **o: optimizer.Adam(0.01, parameters=p, **o),
    "amsgrad": lambda p, **o: optimizer.Adam(0.01, parameters=p, amsgrad=True, **o),
    "adamw": lambda p, **o: optimizer.AdamW(0.01, parameters=p, weight_decay=0.1, **o),
    "adamax": lambda p, **o: optimizer.Adamax(0.01, parameters=p, **o),
    "nadam": lambda p, **o: optimizer.NAdam(0.01, parameters=p, **o),
    "rmsprop": lambda p, **o: optimizer.RMSProp(0.01, parameters=p, momentum=0.5, **o),
    "rmsprop centered": lambda p, **o: optimizer.RMSProp(0.01, parameters=p, centered=True, **o),
    "adadelta": lambda p, **o: optimizer.Adadelta(1.0, parameters=p, **o),
    "lamb": lambda p, **o: optimizer.Lamb(0.01, parameters=p, **o),
    "asgd": lambda p, **o: optimizer.ASGD(0.01, batch_num=3, parameters=p, **o),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_hundred_steps_are_those_of_the_dense_gradient(name):
    tables = [table(), table()]
    stepping = [OPTIMIZERS[name]([t]) for t in tables]
    for turn in range(100):
        for t, rule, sparse in zip(tables, stepping, (True, False), strict=True):
            asked = ids((3, 5), 50, turn // 3)  # most rows rest for a while
            (F.embedding(asked, t, sparse=sparse) ** 2).mean().backward()
            assert (type(t.grad) is RowSparse) is sparse
            rule.step()
            rule.clear_grad(False)
    np.testing.assert_allclose(tables[0].numpy(), tables[1].numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"grad_clip": nn.ClipGradByGlobalNorm(0.05)},
        {"grad_clip": nn.ClipGradByNorm(0.05)},
        {"grad_clip": nn.ClipGradByValue(0.01)},
        {"grad_clip": nn.ClipGradByValue(0.5, 0.001)},
        {"weight_decay": 0.1},
    ],
    ids=["global norm", "norm", "value", "value above 0", "decay"],
)
def test_clipping_and_decay_are_those_of_the_dense_gradient(settings):
    tables = [table(), table()]
    others = [table(3, 3, seed=9), table(3, 3, seed=9)]
    stepping = [OPTIMIZERS["adam"]([t, o], **settings) for t, o in zip(tables, others, strict=True)]
    for turn in range(20):
        for t, o, rule, sparse in zip(tables, others, stepping, (True, False), strict=True):
            ((F.embedding(ids((9,), 50, turn), t, sparse=sparse) ** 2).sum() + (o**2).sum()).backward()
            rule.step()
            rule.clear_grad()
    np.testing.assert_allclose(tables[0].numpy(), tables[1].numpy(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(others[0].numpy(), others[1].numpy(), rtol=1e-9, atol=1e-9)


def test_ftrl_is_the_published_rule():
    weight = sampan.to_tensor([0.5, -0.2, 0.3], stop_gradient=False)
    rule = optimizer.Ftrl(0.1, l1=0.3, l2=0.05, parameters=[weight])
    w, n, z = weight.numpy().astype("float64"), np.zeros(3), np.zeros(3)
    for turn in range(20):
        g = np.random.default_rng(turn).standard_normal(3) * [1.0, 0.01, 0.0]
        (weight * sampan.to_tensor(g.astype("float32"))).sum().backward()
        rule.step()
        rule.clear_grad()
        sigma = (np.sqrt(n + g * g) - np.sqrt(n)) / 0.1
        z, n = z + g - sigma * w, n + g * g
        new = np.where(
            abs(z) <= 0.3, 0.0, -(z - np.sign(z) * 0.3) / (np.sqrt(np.maximum(n, 1e-300)) / 0.1 + 0.1)
        )
        w = np.where(n > 0, new, w)
    np.testing.assert_allclose(weight.numpy(), w, rtol=1e-4, atol=1e-6)
    assert w[1] == 0.0 and weight.numpy()[2] == np.float32(0.3)  # driven to 0; never touched


def test_the_lazy_step_is_that_of_torchs_sparse_adam():
    weight = table()
    reference = torch.nn.Embedding.from_pretrained(
        torch.from_numpy(weight.numpy().copy()), freeze=False, sparse=True
    )
    ours = optimizer.Adam(0.01, parameters=[weight], lazy_mode=True)
    theirs = torch.optim.SparseAdam(reference.parameters(), lr=0.01)
    for turn in range(30):
        asked = ids((9,), 50, turn // 3)
        (F.embedding(asked, weight) ** 2).sum().backward()
        (reference(torch.from_numpy(asked.numpy())) ** 2).sum().backward()
        ours.step()
        theirs.step()
        ours.clear_grad(False)
        theirs.zero_grad()
    # torch corrects the moments and adds epsilon in another order
    np.testing.assert_allclose(weight.numpy(), reference.weight.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_the_lazy_step_of_adamw_lets_other_rows_rest():
    weight = table()
    before = weight.numpy().copy()
    rule = optimizer.AdamW(0.01, parameters=[weight], weight_decay=0.1, lazy_mode=True)
    F.embedding(sampan.to_tensor([3, 4, 3]), weight).sum().backward()
    rule.step()
    assert np.flatnonzero((weight.numpy() != before).any(1)).tolist() == [3, 4]
    # one step by hand: decay, then Adam with a gradient of 2 and of 1, which the first step makes 1
    expected = before[[3, 4]] * (1 - 0.01 * 0.1) - 0.01
    np.testing.assert_allclose(weight.numpy()[[3, 4]], expected, atol=1e-8)


def test_float32_in_parallel_is_bitwise_that_in_one_thread():
    import numba

    def trained(threads):
        numba.set_num_threads(threads)
        weight = table(5000, 32, "float32")
        rule = optimizer.Adagrad(0.1, parameters=[weight])
        for turn in range(3):
            (F.embedding(ids((4000,), 5000, turn), weight) ** 2).sum().backward()
            rule.step()
            rule.clear_grad(False)
        return weight.numpy()

    most = numba.get_num_threads()
    try:
        np.testing.assert_array_equal(trained(1), trained(most))
    finally:
        numba.set_num_threads(most)


def test_half_precision_tables_train_through_their_float32_copies():
    weight = sampan.to_tensor(table().numpy().astype("float32")).astype("bfloat16")
    weight.stop_gradient = False
    reference = torch.nn.Parameter(weight.data.clone())
    rule = optimizer.Adam(0.01, parameters=[weight], multi_precision=True)
    master = reference.detach().float().requires_grad_()
    theirs = torch.optim.Adam([master], lr=0.01)
    for turn in range(5):
        asked = ids((9,), 50, turn)
        F.embedding(asked, weight).sum().backward()
        master.grad = torch.zeros_like(master).index_add_(0, asked.data.flatten(), torch.ones(9, 8))
        rule.step()
        theirs.step()
        rule.clear_grad(False)
    torch.testing.assert_close(weight.data.float(), master.detach(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("wrong", [-1, 50])
def test_an_id_outside_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected.*49"):
        F.embedding(sampan.to_tensor([1, wrong]), table())
    with pytest.raises(ValueError, match="padding_idx"):
        F.embedding(ids(), table(), padding_idx=50)


@pytest.mark.parametrize("wrong", [[1, 2], np.array([1, 2]), None, 3])
def test_what_is_no_tensor_is_refused(wrong):
    with pytest.raises(
        TypeError, match=f"x: expected a Tensor of int32 or int64, got {type(wrong).__name__}"
    ):
        F.embedding(wrong, table())
