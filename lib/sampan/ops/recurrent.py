"""Recurrent layers: the whole sequence as one operator, and a single step written with operators.

The operator makes one product for all inputs, and for each step a small one and one fused kernel; an LSTM in
float32 is left to oneDNN, which arranges its weights once for all steps. The second derivative goes through
the steps: a recorded backward runs them on the tape.
"""

from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels.cpu_recurrent import STEPS
from .activation import relu
from .elementwise import sigmoid, tanh
from .indexing import where
from .joining import equal_views, stack
from .linalg import batched_matmul, matmul
from .logic import less_than
from .recorded import recorded


def lstm_cell(x: Any, r: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """(h', c') of Hochreiter and Schmidhuber 1997 with forget gates: x, r [batch, 4 size], the shares of the
    gates."""
    i, f, g, o = equal_views(x + r, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def gru_cell(x: Any, r: Any, h: Any, c: Any = None) -> tuple[Any, Any]:
    """(h', None) of Cho et al. 2014, with the reset after the product: x, r [batch, 3 size]."""
    x_reset, x_keep, x_new = equal_views(x, 3, -1)
    r_reset, r_keep, r_new = equal_views(r, 3, -1)
    keep = sigmoid(x_keep + r_keep)
    new = tanh(x_new + sigmoid(x_reset + r_reset) * r_new)
    return (h - new) * keep + new, None


CELLS: dict[str, Any] = {
    "LSTM": lstm_cell,
    "GRU": gru_cell,
    "RNN_TANH": lambda x, r, h, c: (tanh(x + r), None),
    "RNN_RELU": lambda x, r, h, c: (relu(x + r), None),
}


def by_steps(x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse):
    """What `recurrent` computes, step by step on the tape."""
    outputs: list[Any] = [None] * x.shape[0]
    inputs = matmul(x, w_ih, transpose_y=True) + b_ih
    for t in range(x.shape[0] - 1, -1, -1) if reverse else range(x.shape[0]):
        new_h, new_c = CELLS[mode](inputs[t], batched_matmul(h, w_hh, False, True) + b_hh, h, c)
        going = None if length is None else less_than(Tensor(torch.tensor(t)), length).unsqueeze(-1)
        outputs[t] = new_h if going is None else new_h * going.astype(new_h.dtype)
        h = new_h if going is None else where(going, new_h, h)
        c = new_c if going is None or c is None else where(going, new_c, c)
    return (stack(outputs, 0), h) if c is None else (stack(outputs, 0), h, c)


def _by_onednn(x, h, c, weights, length, mode, reverse):
    """(outputs, h, c) of an LSTM, and what its gradients need."""
    given = [t.contiguous() for t in (x, *weights, h[None], c[None])]  # it reads them as if they were
    layer = (2, h.shape[1], 1, True)  # mode, size, layers, biases
    *value, kept = torch.ops.aten.mkldnn_rnn_layer(*given, reverse, [], *layer, False, False, True)
    return (value[0], value[1][0], value[2][0]), (given, value, layer, kept)


def _back_by_onednn(g, saved, reverse):
    given, value, layer, kept = saved
    gradients = [t.contiguous() for t in (g[0], g[1][None], g[2][None])]
    settings = (reverse, *layer, True, False, [], False)
    dx, *dw, dh, dc = torch.ops.aten.mkldnn_rnn_layer_backward(*given, *value, *gradients, *settings, kept)
    return dx, dh[0], dc[0], *dw, None


def _by_loops(x, h, c, weights, length, mode, reverse):
    """The outputs and last states of any kind of cell, and what the gradients need."""
    (w_ih, w_hh, b_ih, b_hh), steps, batch, size = weights, x.shape[0], x.shape[1], h.shape[1]
    gates, step, _ = STEPS[mode]
    given = torch.addmm(b_ih, x.reshape(steps * batch, -1), w_ih.t()).view(steps, batch, gates * size)
    kept = torch.empty((steps if mode == "GRU" else 1, batch, gates * size), dtype=x.dtype)
    states = [s.new_empty((steps + 1, batch, size)) if s is not None else None for s in (h, c)]
    hidden, cell = states
    first, after = (steps, 0) if reverse else (0, 1)
    hidden[first] = h
    if cell is not None:
        cell[first] = c
    ends = torch.full((batch,), steps) if length is None else length
    x_, r_, h_ = given.numpy(), kept.numpy(), hidden.numpy()
    c_, ends_ = h_ if cell is None else cell.numpy(), ends.numpy()
    w_hh_t = w_hh.t()
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        at, s = t + 1 - after, t if mode == "GRU" else 0
        torch.addmm(b_hh, hidden[at], w_hh_t, out=kept[s])
        step(x_[t], r_[s], h_[at], c_[at], h_[t + after], c_[t + after], ends_, t)
    value = hidden[after : after + steps]
    if length is not None:
        value = value * (torch.arange(steps)[:, None] < length).unsqueeze(-1)
    last = [s[steps - first].clone() for s in states if s is not None]
    return (value, *last), (given, kept, hidden, cell, ends)


def _recurrent_back(g, x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse, saved, needed):
    if not isinstance(g[0], torch.Tensor):
        return recorded(by_steps, (x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse), g)
    for part, shape in zip(g, ((*x.shape[:2], h.shape[1]), h.shape, h.shape), strict=False):
        if part is not None and part.shape != shape:  # a hook may have returned it
            raise ValueError(f"{mode}: expected a gradient of shape {list(shape)}, got {list(part.shape)}")
    onednn, kept = saved
    if onednn:
        return _back_by_onednn(g, kept, reverse)
    return _back_by_loops(g, needed, x, w_ih, w_hh, kept, mode, reverse)


@operator(joint=_recurrent_back, returns=tuple[Tensor, ...])
def recurrent(x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse):
    """One layer in one direction over a sequence x [time, batch, features]: (outputs, last h) or, LSTM,
    (outputs, h, c).

    mode: a name in CELLS. h, c: [batch, size], the states to begin with (c None but for LSTM). w_ih [gates
    size, features], w_hh [gates size, size], b_ih and b_hh [gates size]. length: int64 [batch] or None; past
    a sequence's end its outputs are 0 and its state stays. reverse: from the last step to the first. float32
    and float64, on the CPU.
    """
    gates, (_, batch, features), size = STEPS[mode][0], x.shape, h.shape[-1]
    expected = [
        (batch, size),
        (gates * size, features),
        (gates * size, size),
        (gates * size,),
        (gates * size,),
    ]
    given = [h, w_ih, w_hh, b_ih, b_hh, *([] if c is None else [c]), *([] if length is None else [length])]
    expected += [(batch, size)] * (c is not None) + [(batch,)] * (length is not None)
    if any(t.shape != shape for t, shape in zip(given, expected, strict=True)):  # loops and oneDNN trust them
        raise ValueError(
            f"{mode}: expected states, weights and lengths of shapes {expected}, got "
            f"{[tuple(t.shape) for t in given]}"
        )
    onednn = mode == "LSTM" and length is None and x.dtype == torch.float32 and x.numel() and h.numel()
    onednn = onednn and torch.backends.mkldnn.is_available()
    forward = _by_onednn if onednn else _by_loops
    value, kept = forward(x, h, c, (w_ih, w_hh, b_ih, b_hh), length, mode, reverse)
    return value, (onednn, kept)


def _back_by_loops(g, needed, x, w_ih, w_hh, saved, mode, reverse):
    """The gradients of the inputs of `recurrent`: the steps backwards, then one product for each weight."""
    given, kept, hidden, cell, ends = saved
    (steps, batch, features), size = x.shape, hidden.shape[2]
    back, after = STEPS[mode][2], 0 if reverse else 1
    dx = torch.empty_like(given)
    dr = torch.empty_like(given) if mode == "GRU" else dx
    dh = g[1].clone()
    dc = dh if cell is None else g[2].clone()
    g_ = g[0].contiguous().numpy()
    x_, r_, h_, dx_, dr_ = given.numpy(), kept.numpy(), hidden.numpy(), dx.numpy(), dr.numpy()
    c_, dh_, dc_, ends_ = h_ if cell is None else cell.numpy(), dh.numpy(), dc.numpy(), ends.numpy()
    for t in range(steps) if reverse else range(steps - 1, -1, -1):
        at, s, to = t + 1 - after, t if mode == "GRU" else 0, t + after
        back(x_[t], r_[s], h_[at], c_[at], c_[to], h_[to], g_[t], dh_, dc_, dx_[t], dr_[t], ends_, t)
        dh.addmm_(dr[t], w_hh)
    flat_x, flat_r = dx.view(steps * batch, -1), dr.view(steps * batch, -1)
    before = hidden[1 - after : 1 - after + steps].reshape(steps * batch, size)
    bias = flat_x.sum(0) if needed[5] or needed[6] else None
    return (
        flat_x.mm(w_ih).view(x.shape) if needed[0] else None,
        dh,
        dc if mode == "LSTM" else None,
        flat_x.t().mm(x.reshape(steps * batch, features)) if needed[3] else None,
        flat_r.t().mm(before) if needed[4] else None,
        bias,
        bias.clone() if bias is not None and mode != "GRU" else flat_r.sum(0),
        None,
    )
