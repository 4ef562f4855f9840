"""Recurrent cells, what runs a cell over a sequence, and stacks of layers.

Sequences are [batch, time, features], or [time, batch, features] with time_major.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..creation import full
from ..engine.tensor import InvalidArgument, Tensor
from ..ops.indexing import where
from ..ops.joining import concat, stack
from ..ops.recurrent import CELLS, recurrent
from . import functional as F
from .container import LayerList
from .initializer import Constant, Uniform
from .layer import Layer

__all__ = ["GRU", "LSTM", "RNN", "BiRNN", "GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNN", "SimpleRNNCell"]


def map_structure(function: Callable[..., Any], *trees: Any) -> Any:
    """`function` of the leaves in the same place of nested lists, tuples and dictionaries, nested as they
    are."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: map_structure(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        made = [map_structure(function, *parts) for parts in zip(*trees, strict=True)]
        return type(first)(*made) if hasattr(first, "_fields") else type(first)(made)
    return function(*trees)


def flatten(tree: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dictionaries."""
    found: list[Any] = []
    map_structure(found.append, tree)
    return found


def _shapes(tree: Any, make: Callable[[list[int]], Any]) -> Any:
    """`make(shape)` for each shape, a list or tuple of whole numbers, in a structure."""
    if isinstance(tree, list | tuple) and not all(isinstance(n, int) for n in tree):
        return type(tree)(_shapes(part, make) for part in tree)
    if isinstance(tree, dict):
        return {key: _shapes(part, make) for key, part in tree.items()}
    return make(list(tree))


class RNNCellBase(Layer):
    """A cell is called with (inputs, states) and gives (outputs, new states). Subclasses say the
    `state_shape`."""

    mode = ""

    def get_initial_states(self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0):
        """States filled with init_value for the batch of `batch_ref`, nested as `shape`, which leaves the
        batch axis out."""
        reference = flatten(batch_ref)[0]
        batch = reference.shape[batch_dim_idx]
        kind = flatten(dtype)[0] if dtype is not None else self._dtype
        if dtype is None and reference.data.is_floating_point():
            kind = reference.dtype
        wanted = self.state_shape if shape is None else shape
        return _shapes(wanted, lambda s: full([batch, *(s[1:] if s[:1] == [-1] else s)], init_value, kind))

    @property
    def state_shape(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.state_shape: write it in the subclass")

    @property
    def state_dtype(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.state_dtype: write it in the subclass")


class _Cell(RNNCellBase):
    """What the three cells share: two weights and two biases. An attr of False means constant ones, or
    zeros."""

    gates = 1
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def _build(self, input_size: int, hidden_size: int, attrs: tuple[Any, ...], proj_size: int = 0) -> None:
        if hidden_size <= 0:
            raise InvalidArgument(f"hidden_size: expected a positive number, got {hidden_size}")
        if not 0 <= proj_size < hidden_size:
            raise InvalidArgument(
                f"proj_size: expected 0 to below hidden_size ({hidden_size}), got {proj_size}"
            )
        self.input_size, self.hidden_size, self.proj_size = input_size, hidden_size, proj_size
        rows = self.gates * hidden_size
        shapes = ([rows, input_size], [rows, proj_size or hidden_size], [rows], [rows])
        drawn = Uniform(-1 / math.sqrt(hidden_size), 1 / math.sqrt(hidden_size))
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for name, shape, attr in zip(names, shapes, attrs, strict=True):
            bias = name.startswith("bias")
            start = drawn if attr is not False else Constant(0.0 if bias else 1.0)
            made = self.create_parameter(shape, None if attr is False else attr, None, bias, start)
            assert made is not None
            made.stop_gradient = made.stop_gradient or attr is False
            setattr(self, name, made)
        if proj_size:
            self.weight_ho = self.create_parameter([hidden_size, proj_size], attrs[1], None, False, drawn)

    def forward(self, inputs: Any, states: Any = None) -> tuple[Tensor, Any]:
        states = self.get_initial_states(inputs) if states is None else states
        h, c = states if self.mode == "LSTM" else (states, None)
        x = F.linear(inputs, self.weight_ih.t(), self.bias_ih)
        h, c = CELLS[self.mode](x, F.linear(h, self.weight_hh.t(), self.bias_hh), h, c)
        if self.proj_size:
            h = F.linear(h, self.weight_ho)
        return h, (h, c) if self.mode == "LSTM" else h

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. Returns (h', h')."""

    def __init__(
        self,
        input_size,
        hidden_size,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        if activation not in ("tanh", "relu"):
            raise InvalidArgument(f"activation: expected 'tanh' or 'relu', got {activation!r}")
        self.activation, self.mode = activation, f"RNN_{activation.upper()}"
        self._build(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))

    def extra_repr(self) -> str:
        return super().extra_repr() + (", activation=relu" if self.activation == "relu" else "")


class LSTMCell(_Cell):
    """c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'), with gates in the order i, f, g, o.

    proj_size: h' becomes h' W_ho of that size (Sak et al. 2014). Returns (h', (h', c')).
    """

    mode, gates = "LSTM", 4

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__()
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._build(input_size, hidden_size, attrs, proj_size)

    @property
    def state_shape(self) -> Any:
        return (self.proj_size or self.hidden_size,), (self.hidden_size,)


class GRUCell(_Cell):
    """h' = z h + (1 - z) tanh(W x + b + r (U h + b')), with gates in the order r, z, n. Returns (h', h')."""

    mode, gates = "GRU", 3

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        self._build(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))


def _batch_and_time_swapped(x: Any) -> Any:
    return x.transpose([1, 0, *range(2, x.ndim)])


def _fits(cell: Any, inputs: Any, states: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the fused operator can take the place of calling `cell` step by step: sizes that do not fit are
    refused there."""
    if type(cell) not in (LSTMCell, GRUCell, SimpleRNNCell) or cell.proj_size or kwargs:
        return False
    x: Any = getattr(inputs, "data", None)
    if cell._forward_pre_hooks or cell._forward_post_hooks or not isinstance(x, torch.Tensor) or x.ndim != 3:
        return False
    known = x.dtype in (torch.float32, torch.float64) and x.dtype is cell.weight_ih.data.dtype
    state = [x.shape[1], cell.hidden_size]
    return (
        known
        and x.device.type == "cpu"
        and x.shape[2] == cell.input_size
        and x.numel() > 0
        and all(s.shape == state for s in flatten(states))
    )


def _run(cell, inputs, states, lengths, time_major, reverse, kwargs, zeros=False):
    """A cell over a sequence: (outputs, last states). zeros: outputs past a sequence's end are 0."""
    axis = 0 if time_major else 1
    if states is None:
        states = cell.get_initial_states(inputs, batch_dim_idx=1 - axis)
    if not time_major:
        inputs = map_structure(_batch_and_time_swapped, inputs)
    if lengths is not None:
        lengths = (lengths if isinstance(lengths, Tensor) else Tensor(lengths)).astype("int64")
        if lengths.shape != (batch := [flatten(inputs)[0].shape[1]]):
            raise InvalidArgument(
                f"sequence_length: expected shape {batch}, a length for each sequence, got {[*lengths.shape]}"
            )
    if (lengths is None or zeros) and _fits(cell, inputs, states, kwargs):
        h, c = states if cell.mode == "LSTM" else (states, None)
        weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        outputs, *last = recurrent(inputs, h, c, *weights, lengths, cell.mode, bool(reverse))
        return outputs if time_major else _batch_and_time_swapped(outputs), tuple(
            last
        ) if cell.mode == "LSTM" else last[0]
    steps = flatten(inputs)[0].shape[0]
    found: list[Any] = [None] * steps
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        found[t], new = cell(map_structure(lambda x, t=t: x[t], inputs), states, **kwargs)
        if lengths is not None:
            going = lengths > t
            new = map_structure(lambda n, o, g=going: _chosen(g, n, o), new, states)
            if zeros:
                found[t] = map_structure(lambda n, g=going: _chosen(g, n, n * 0), found[t])
        states = new
    return map_structure(lambda *parts: stack(list(parts), axis), *found), states


def _chosen(going: Any, new: Any, old: Any) -> Any:
    return where(going.reshape([-1] + [1] * (new.ndim - 1)), new, old)


class RNN(Layer):
    """Runs `cell` over a sequence; returns (outputs, last states).

    sequence_length: [batch]; past a sequence's end its states stay as they are. is_reverse: from the end to
    the beginning. Further keyword arguments go to the cell.
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell, self.is_reverse, self.time_major = cell, is_reverse, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs) -> tuple[Any, Any]:
        order = (self.time_major, self.is_reverse)
        return _run(self.cell, inputs, initial_states, sequence_length, *order, kwargs)


class BiRNN(Layer):
    """Two cells in both directions; outputs joined along the last axis, states as a pair."""

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        if cell_fw.input_size != cell_bw.input_size:
            raise InvalidArgument(
                f"cell_bw: expected input_size {cell_fw.input_size}, got {cell_bw.input_size}"
            )
        self.cell_fw, self.cell_bw, self.time_major = cell_fw, cell_bw, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs) -> tuple[Any, Any]:
        if initial_states is not None and len(initial_states) != 2:
            raise InvalidArgument(f"initial_states: expected a pair, got {len(initial_states)}")
        return self._both(inputs, initial_states or (None, None), sequence_length, kwargs)

    def _both(self, inputs, states, lengths, kwargs, zeros=False):
        ahead = _run(self.cell_fw, inputs, states[0], lengths, self.time_major, False, kwargs, zeros)
        back = _run(self.cell_bw, inputs, states[1], lengths, self.time_major, True, kwargs, zeros)
        return map_structure(lambda a, b: concat([a, b], -1), ahead[0], back[0]), (ahead[1], back[1])


class _Stack(LayerList):
    """Layers of one kind of cell, each over the outputs of the one below, in one direction or two.

    direction: "forward", or "bidirect" ("bidirectional"). dropout: on the inputs of every layer but the
    first. Parameters are `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, the other direction's
    with `_reverse`. Called with (inputs, initial_states, sequence_length); returns (outputs, states). States
    are [layers * directions, batch, size], for the LSTM a pair (h, c). Outputs past a sequence's end are 0.
    """

    def _build(
        self, kind, given, input_size, hidden_size, num_layers, direction, time_major, dropout, out_size
    ):
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise InvalidArgument(
                f"direction: expected forward, bidirect or bidirectional, got {direction!r}"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.time_major, self.dropout, self.out_size = time_major, dropout, out_size
        self.num_directions = 1 if direction == "forward" else 2
        self.proj_size = out_size % max(hidden_size, 1)  # 0 where states are not projected
        for level in range(num_layers):
            size = input_size if level == 0 else out_size * self.num_directions
            cells = [kind(size, hidden_size, *given) for _ in range(self.num_directions)]
            self.append(RNN(*cells, False, time_major) if len(cells) == 1 else BiRNN(*cells, time_major))
            for cell, suffix in zip(cells, ("", "_reverse"), strict=False):
                for name, parameter in cell._parameters.items():
                    if name != "weight_ho" and not (name.startswith("bias") and parameter.stop_gradient):
                        setattr(self, f"{name}_l{level}{suffix}", parameter)

    @property
    def mode(self) -> str:
        """LSTM, GRU, RNN_TANH or RNN_RELU."""
        return getattr(self._first, "mode", type(self).__name__)

    @property
    def state_components(self) -> int:
        """How many states each cell has: 2 of an LSTM, h and c."""
        return len(flatten(self._first.state_shape))

    @property
    def _first(self) -> Any:
        return self[0].cell if self.num_directions == 1 else self[0].cell_fw

    @property
    def _all_weights(self) -> list[Any]:
        """All matrices, then all biases."""
        return sorted(self.parameters(), key=lambda parameter: parameter.ndim == 1)

    def flatten_parameters(self) -> None:
        """There is nothing to do: the parameters stay where they are."""

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None
    ) -> tuple[Tensor, Any]:
        given: list[Any] = flatten(initial_states) if initial_states is not None else []
        if any(len(g) != self.num_layers * self.num_directions for g in given):
            raise InvalidArgument(
                f"initial_states: expected {self.num_layers * self.num_directions} on the first axis, got "
                f"{[g.shape for g in given]}"
            )
        last: list[Any] = []
        for level, layer in enumerate(self):
            if level:
                inputs = F.dropout(inputs, self.dropout, training=self.training, mode="upscale_in_train")
            states: list[Any] = [None] * self.num_directions
            if given:
                rows = range(level * self.num_directions, (level + 1) * self.num_directions)
                states = [tuple(g[k] for g in given) if len(given) > 1 else given[0][k] for k in rows]
            zeros = self.out_size == self.hidden_size
            if isinstance(layer, BiRNN):
                inputs, new = layer._both(inputs, states, sequence_length, {}, zeros)
            else:
                major = self.time_major
                inputs, new = _run(layer.cell, inputs, states[0], sequence_length, major, False, {}, zeros)
                new = (new,)
            last.extend(new)
        if isinstance(last[0], tuple):
            return inputs, tuple(stack(list(parts), 0) for parts in zip(*last, strict=True))
        return inputs, stack(last, 0)

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "time_major": False, "dropout": 0}
        extra = [f"{k}={getattr(self, k)}" for k, value in usual.items() if getattr(self, k) != value]
        return ", ".join([str(self.input_size), str(self.hidden_size), *extra])


class SimpleRNN(_Stack):
    __doc__ = _Stack.__doc__

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        given = (activation, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self.activation = activation
        self._build(
            SimpleRNNCell,
            given,
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            hidden_size,
        )


class LSTM(_Stack):
    __doc__ = _Stack.__doc__

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__()
        given = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr, proj_size)
        out = proj_size or hidden_size
        self._build(LSTMCell, given, input_size, hidden_size, num_layers, direction, time_major, dropout, out)


class GRU(_Stack):
    __doc__ = _Stack.__doc__

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        given = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._build(
            GRUCell, given, input_size, hidden_size, num_layers, direction, time_major, dropout, hidden_size
        )
