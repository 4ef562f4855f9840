"""Recurrent networks against torch's with the same weights, and the fused operator against its steps."""

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import sampan as paddle
from sampan import nn
from sampan.nn import rnn
from tests.nn.drawn import random

KINDS = ["LSTM", "GRU", "SimpleRNN"]


def pair(kind, layers=2, direction="bidirect", **settings):
    """Ours and torch's, in float64, with torch's weights."""
    other = getattr(torch.nn, {"SimpleRNN": "RNN"}.get(kind, kind))(
        3, 4, layers, batch_first=True, bidirectional=direction != "forward", **settings
    ).double()
    mine = getattr(nn, kind)(3, 4, layers, direction, **settings).to(dtype="float64")
    for name, parameter in other.named_parameters():
        source = parameter.detach().numpy()
        if "_hr_" in name:  # torch's projection is called so, and is transposed
            level = int(name.split("_l")[1][0])
            layer = mine[level]
            cells = [layer.cell] if isinstance(layer, nn.RNN) else [layer.cell_fw, layer.cell_bw]
            cells["reverse" in name].weight_ho.set_value(source.T.copy())
        else:
            getattr(mine, name).set_value(source)
    return mine, other


def tensors(*shapes, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for shape in shapes]


def compare(mine, other, x, states=None, lengths=None, weight_gradients=True):
    ours = paddle.to_tensor(x, stop_gradient=False)
    theirs = torch.tensor(x, requires_grad=True)
    given = None if states is None else [paddle.to_tensor(s, stop_gradient=False) for s in states]
    torch_given = None if states is None else [torch.tensor(s, requires_grad=True) for s in states]

    def unpacked(values):
        return None if values is None else values[0] if len(values) == 1 else tuple(values)

    out, last = mine(ours, unpacked(given), None if lengths is None else paddle.to_tensor(lengths))
    if lengths is None:
        expected, torch_last = other(theirs, unpacked(torch_given))
    else:
        packed = pack_padded_sequence(theirs, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        expected, torch_last = other(packed, unpacked(torch_given))
        expected, _ = pad_packed_sequence(expected, batch_first=True, total_length=x.shape[1])
    flat = [out, *(last if isinstance(last, tuple) else [last])]
    torch_flat = [expected, *(torch_last if isinstance(torch_last, tuple) else [torch_last])]
    total = torch_total = 0.0
    for index, (a, b) in enumerate(zip(flat, torch_flat, strict=True)):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)
        weights = np.random.default_rng(index).normal(size=a.shape)
        total = total + (a * paddle.to_tensor(weights)).sum()
        torch_total = torch_total + (b * torch.tensor(weights)).sum()
    total.backward()
    torch_total.backward()
    pairs = [
        (ours.grad, theirs.grad),
        *((a.grad, b.grad) for a, b in zip(given or [], torch_given or [], strict=True)),
    ]
    if weight_gradients:
        pairs += [(getattr(mine, n).grad, p.grad) for n, p in other.named_parameters() if "_hr_" not in n]
    for a, b in pairs:
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("lengths", [None, [5, 2, 4]])
def test_values_and_gradients_equal_torch(kind, direction, lengths):
    mine, other = pair(kind, direction=direction)
    rows = 2 * (1 if direction == "forward" else 2)
    states = tensors(*[(rows, 3, 4)] * (2 if kind == "LSTM" else 1), seed=1)
    compare(mine, other, *tensors((3, 5, 3)), states, lengths)


@pytest.mark.parametrize("kind", KINDS)
def test_step_by_step_is_the_same(kind, monkeypatch):
    mine, other = pair(kind)
    monkeypatch.setattr(rnn, "_fits", lambda *a: False)
    compare(mine, other, *tensors((3, 5, 3)), lengths=[5, 2, 4])


def test_relu_and_projection_equal_torch():
    mine = nn.SimpleRNN(3, 4, activation="relu").to(dtype="float64")
    other = torch.nn.RNN(3, 4, nonlinearity="relu", batch_first=True).double()
    for name, parameter in other.named_parameters():
        getattr(mine, name).set_value(parameter.detach().numpy())
    compare(mine, other, *tensors((2, 4, 3)))
    mine, other = pair("LSTM", proj_size=2)
    compare(mine, other, *tensors((2, 4, 3)), tensors((4, 2, 2), (4, 2, 4)))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_the_float32_kernel_is_as_exact_as_torch(kind):
    mine, other = pair(kind, 1)
    (x,) = tensors((4, 30, 3))
    exact = other(torch.tensor(x * 20))[0].detach().numpy()  # gates far out and near zero
    single = mine.to(dtype="float32")(paddle.to_tensor((x * 20).astype("float32")))[0].numpy()
    assert (
        abs(single - exact).max()
        < 4 * abs(other.float()(torch.tensor(x * 20).float())[0].detach().numpy() - exact).max()
    )
    x[0, 3, 0] = np.nan
    spoiled = mine(paddle.to_tensor(x.astype("float32")))[0].numpy()
    assert np.isnan(spoiled[0, 3:, 0]).all() and np.isfinite(spoiled[1:]).all()


def test_second_derivatives_go_through_a_layer():
    mine, other = pair("GRU", 1, "forward")
    (x,) = tensors((2, 3, 3))
    ours, theirs = paddle.to_tensor(x, stop_gradient=False), torch.tensor(x, requires_grad=True)
    (g,) = paddle.grad((mine(ours)[0] ** 2).sum(), ours, create_graph=True)
    (g**2).sum().backward()
    (h,) = torch.autograd.grad((other(theirs)[0] ** 2).sum(), theirs, create_graph=True)
    (h**2).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-8)
    np.testing.assert_allclose(mine.weight_hh_l0.grad.numpy(), other.weight_hh_l0.grad.numpy(), rtol=1e-8)


def test_backward_twice_through_a_kept_tape():
    layer = nn.LSTM(2, 3)
    out = layer(paddle.ones([1, 4, 2]))[0].sum()
    out.backward(retain_graph=True)
    first = layer.weight_hh_l0.grad.numpy().copy()
    out.backward()
    np.testing.assert_allclose(layer.weight_hh_l0.grad.numpy(), 2 * first, rtol=1e-6)


class Counting(nn.RNNCellBase):
    """A cell with nested states and a keyword of its own."""

    input_size = 2

    @property
    def state_shape(self):
        return {"sum": (2,), "count": ((1,), [1])}

    def forward(self, inputs, states, factor=1.0):
        total = states["sum"] + inputs * factor
        counts = tuple(c + 1 for c in states["count"][:1]), states["count"][1] + 2
        return total, {"sum": total, "count": (*counts[0], counts[1])}


def test_a_cell_of_ones_own():
    x = paddle.to_tensor(np.arange(12, dtype="float32").reshape(2, 3, 2))
    out, last = nn.RNN(Counting())(x, sequence_length=paddle.to_tensor([3, 1]), factor=2.0)
    np.testing.assert_allclose(out[0].numpy(), 2 * x[0].numpy().cumsum(0))
    np.testing.assert_allclose(last["sum"].numpy(), [[12, 18], [12, 14]])
    assert last["count"][0].numpy().tolist() == [[3], [1]] and last["count"][1].numpy().tolist() == [[6], [2]]
    out, _ = nn.BiRNN(Counting(), Counting())(x)
    np.testing.assert_allclose(out.numpy()[0, :, 2:], x[0].numpy()[::-1].cumsum(0)[::-1])
    backwards, _ = nn.RNN(Counting(), is_reverse=True, time_major=True)(x.transpose([1, 0, 2]))
    np.testing.assert_allclose(backwards.numpy()[:, 0], out.numpy()[0, :, 2:])


def test_names_and_frozen_attrs():
    layer = nn.LSTM(3, 4, 2, "bidirectional")
    names = [name for name, _ in layer.named_parameters()]
    assert names[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse"]
    assert {"weight_ih_l1_reverse", "1.cell_bw.weight_ih"} <= set(layer.state_dict()) and len(names) == 16
    cell = nn.GRUCell(3, 4, weight_hh_attr=False, bias_ih_attr=False)
    assert (
        cell.bias_ih.stop_gradient
        and (cell.weight_hh.numpy() == 1).all()
        and (cell.bias_ih.numpy() == 0).all()
    )
    assert repr(nn.SimpleRNN(3, 4, 2, activation="relu")).startswith(
        "SimpleRNN(3, 4, num_layers=2\n  (0): RNN("
    )
    assert layer[0].cell_fw.weight_ih.name.endswith(".w_0") and "lstm_cell" in layer[0].cell_fw.weight_ih.name


def test_dropout_lies_between_layers_and_half_precision_runs():
    layer = nn.GRU(2, 3, 2, dropout=1.0)
    silenced = layer(paddle.ones([1, 4, 2]))[0].numpy()
    layer.eval()
    assert abs(silenced - layer(paddle.ones([1, 4, 2]))[0].numpy()).max() > 1e-4
    half = layer.to(dtype="bfloat16")(paddle.ones([1, 4, 2], "bfloat16"))[0]
    assert half.dtype == paddle.bfloat16


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.LSTM(3, 0), "hidden_size"),
        (lambda: nn.LSTM(3, 4, direction="backward"), "direction"),
        (lambda: nn.SimpleRNN(3, 4, activation="gelu"), "activation"),
        (lambda: nn.LSTMCell(3, 4, proj_size=4), "proj_size"),
        (lambda: nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(2, 4)), "input_size"),
        (lambda: nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(3, 4))(paddle.ones([1, 2, 3]), [None]), "a pair"),
        (lambda: nn.GRU(3, 4)(paddle.ones([1, 2, 5])), "linear|recurrent"),
    ],
)
def test_bad_settings_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.SimpleRNN])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_sequences_and_states_of_another_size_are_refused(kind, direction):
    layer = kind(3, 4, direction=direction)
    state = random(layer.num_directions, 2, 5)
    for given in ((random(2, 3, 5),), (random(2, 3, 3), (state, state) if kind is nn.LSTM else state)):
        with pytest.raises(ValueError):
            layer(*given)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.SimpleRNN])
def test_lengths_and_states_are_one_a_sequence_and_one_a_layer(kind):
    layer, x = kind(3, 4, 2), random(2, 3, 3)
    for lengths in ([1], [1, 2, 3], [[1, 2]]):
        with pytest.raises(ValueError, match="sequence_length"):
            layer(x, sequence_length=paddle.to_tensor(lengths))
    for count in (1, 3):
        state = random(count, 2, 4)
        with pytest.raises(ValueError, match="initial_states"):
            layer(x, (state, state) if kind is nn.LSTM else state)
    with pytest.raises(ValueError, match="sequence_length"):
        nn.RNN(nn.GRUCell(3, 4))(x, sequence_length=paddle.to_tensor([1]))
