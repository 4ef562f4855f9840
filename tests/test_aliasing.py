"""What is handed out does not change behind one's back: snapshots, gradients, results of operators that do nothing.

What each function shares is compared with PaddlePaddle in tests/parity; here are the programs that go wrong silently.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle

F = paddle.nn.functional


def step(layer, optimizer) -> None:
    layer(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    optimizer.clear_grad()


def leaf(values) -> paddle.Tensor:
    return paddle.to_tensor(values, stop_gradient=False)


# --- arrays are snapshots ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "taken", [lambda w: w.numpy(), np.asarray, np.array], ids=["numpy", "asarray", "array"]
)
def test_weights_before_a_step_are_kept(taken) -> None:
    layer = paddle.nn.Linear(2, 2)
    sgd = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    before = taken(layer.weight)
    step(layer, sgd)
    np.testing.assert_allclose(before - layer.weight.numpy(), 0.1, rtol=1e-6)


def test_statistics_of_each_batch_are_kept() -> None:
    norm, history = paddle.nn.BatchNorm1D(1, momentum=0.5), []
    for value in (2.0, 4.0, 6.0):
        norm(paddle.full([2, 1], value))
        history.append(norm._mean.numpy())
    assert [h.item() for h in history] == [1.0, 2.5, 4.25]


def test_a_gradient_is_kept_over_the_next_backward() -> None:
    x = leaf([1.0, 1.0])
    (x * 2).sum().backward()
    first, same = x.grad.numpy(), x.gradient()
    (x * 3).sum().backward()
    assert first.tolist() == same.tolist() == [2.0, 2.0] and x.grad.tolist() == [5.0, 5.0]


def test_writing_into_an_array_leaves_the_tape_alone() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    array = y.numpy()
    array[0] = 100.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)
    weights = x.numpy()
    weights *= 0
    assert x.tolist() == [1.0, 2.0]


def test_the_best_weights_are_kept() -> None:
    layer = paddle.nn.Linear(2, 1)
    adam = paddle.optimizer.Adam(0.1, parameters=layer.parameters())
    step(layer, adam)
    best = {name: value.numpy() for name, value in layer.state_dict().items()}
    expected = layer.weight.tolist()
    step(layer, adam)
    assert layer.weight.tolist() != expected
    layer.set_state_dict(best)
    assert layer.weight.tolist() == expected
    step(layer, adam)  # what was loaded is not the array that is trained
    assert best["weight"].tolist() == expected


@pytest.mark.parametrize("rule", ["SGD", "Momentum", "Adam", "AdamW", "Adagrad", "RMSProp", "Lamb"])
def test_the_state_of_an_optimizer_in_arrays_is_kept(rule: str) -> None:
    layer = paddle.nn.Linear(2, 1)
    optimizer = getattr(paddle.optimizer, rule)(learning_rate=0.1, parameters=layer.parameters())
    step(layer, optimizer)
    state = optimizer.state_dict()

    def arrays(value):
        if isinstance(value, dict):
            return {k: arrays(v) for k, v in value.items()}
        return value.numpy() if isinstance(value, paddle.Tensor) else np.array(value, dtype=object)

    def text(value) -> str:
        return str({k: text(v) for k, v in value.items()} if isinstance(value, dict) else value.tolist())

    kept = arrays(state)
    before = text(kept)
    step(layer, optimizer)
    assert text(kept) == before


# --- results are memory of their own -------------------------------------------------------------------------


def test_one_entry_of_a_mask_is_one_entry() -> None:
    mask = paddle.full([1], 0.0).expand([3])
    mask[1] = -1e9
    assert mask.tolist() == [0.0, np.float32(-1e9), 0.0]
    table = paddle.zeros([2, 1]).expand([2, 3])
    table[:, 0] = paddle.to_tensor([1.0, 2.0])
    assert table.tolist() == [[1, 0, 0], [2, 0, 0]]
    wide = paddle.ones([1, 4]).expand([3, 4])
    wide.add_(paddle.ones([3, 4]))
    assert (wide.numpy() == 2).all()
    for grid in paddle.meshgrid(paddle.ones([2]), paddle.ones([3])):
        grid[0, 0] = 7.0
        assert (grid.numpy() == 7).sum() == 1
    for same in paddle.broadcast_tensors([paddle.ones([2, 1]), paddle.ones([3])]):
        same[0, 0] = 7.0
        assert (same.numpy() == 7).sum() == 1


def test_a_result_of_dropout_outside_training_may_be_overwritten() -> None:
    x = leaf([1.0, 1.0])
    h = x * 2
    y = F.dropout(h, 0.5, training=False)
    y[0] = 0.0
    (h.sum() + y.sum()).backward()
    assert h.tolist() == [2.0, 2.0] and x.grad.tolist() == [2.0, 4.0]


OWN = {
    "split": lambda h: paddle.split(h, 2)[0],
    "chunk": lambda h: paddle.chunk(h, 2)[0],
    "unstack": lambda h: paddle.unstack(h)[0],
    "tensor_split": lambda h: paddle.tensor_split(h, 2)[0],
    "hsplit": lambda h: paddle.hsplit(h, 2)[0],
    "vsplit": lambda h: paddle.vsplit(h, 2)[0],
    "crop": lambda h: paddle.crop(h, [2, 2]),
    "diag": paddle.diag,
    "cast": lambda h: paddle.cast(h, "float32"),
    "to": lambda h: h.to("float32"),
    "tile": lambda h: paddle.tile(h, [1, 1]),
    "repeat_interleave": lambda h: paddle.repeat_interleave(h, 1, 0),
    "dropout": lambda h: F.dropout(h, training=False),
    "einsum": lambda h: paddle.einsum("ij->ji", h),
    "expand": lambda h: h.expand([2, 2]),
    "expand_as": lambda h: h.expand_as(h),
    "broadcast_to": lambda h: paddle.broadcast_to(h, [2, 2]),
    "pad": lambda h: F.pad(h, [0, 0, 0, 0]),
    "matrix_power": lambda h: paddle.linalg.matrix_power(h, 1),
}


@pytest.mark.parametrize("name", OWN)
def test_in_place_on_the_result_leaves_the_input_and_its_gradient_alone(name: str) -> None:
    """The oracle is torch with a copy: what is overwritten is the result alone."""
    values = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    x = leaf(values)
    h = x * 2
    y = OWN[name](h)
    y.multiply_(paddle.full(y.shape, 3.0))
    ((h * h).sum() + y.sum()).backward()
    assert h.tolist() == (values * 2).tolist()

    t = torch.tensor(values, requires_grad=True)
    part = torch.ones_like(t) if name not in ("split", "chunk", "unstack", "tensor_split", "hsplit", "vsplit", "diag") else torch.zeros_like(t)  # fmt: skip
    if name in ("split", "chunk", "unstack", "tensor_split", "vsplit"):
        part[0] = 1.0
    elif name == "hsplit":
        part[:, 0] = 1.0
    elif name == "diag":
        part = torch.eye(2)
    (((t * 2) ** 2).sum() + (t * 2 * 3 * part).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy())


def test_the_result_of_rot90_by_nothing_is_a_view() -> None:
    x = paddle.ones([2, 2])
    y = paddle.rot90(x, 0)
    y[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    z = paddle.Tensor(x)
    z[1, 1] = 7.0
    assert x[1, 1].item() == 7.0


# --- gradients -----------------------------------------------------------------------------------------------


def test_a_gradient_that_was_given_is_not_the_one_that_comes_back() -> None:
    x, weights = leaf([1.0, 2.0]), paddle.ones([2])
    for create_graph in (False, True):
        (found,) = paddle.grad([x + 0], [x], [weights], create_graph=create_graph)
        with paddle.no_grad():
            found[0] = 5.0
        assert weights.tolist() == [1.0, 1.0]
    first, second = paddle.grad([x + leaf([1.0, 1.0])], [x, x])
    first[0] = 9.0
    assert second.tolist() == [1.0, 1.0]


def test_the_gradient_of_a_scalar_by_itself_is_not_the_librarys_own_one() -> None:
    """The ones that backward starts from are kept for the next time."""
    loss = leaf(3.0)
    (found,) = paddle.grad(loss + 0, loss)
    found.zero_()
    (again,) = paddle.grad(loss + 0, loss)
    assert again.item() == 1.0


def test_a_gradient_that_is_set_is_copied() -> None:
    x = leaf([1.0, 1.0])
    given = paddle.ones([2])
    x.grad = given
    (x * 2).sum().backward()  # adds to it in place
    assert x.grad.tolist() == [3.0, 3.0] and given.tolist() == [1.0, 1.0]


def test_a_pylayer_may_write_into_the_gradient_that_it_is_given() -> None:
    class Doubled(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g[0] = 5.0
            return g

    x, other = leaf([1.0, 1.0, 1.0]), leaf([1.0, 1.0, 1.0])
    (Doubled.apply(x) + other).sum().backward()
    assert x.grad.tolist() == [5.0, 1.0, 1.0] and other.grad.tolist() == [1.0, 1.0, 1.0]
