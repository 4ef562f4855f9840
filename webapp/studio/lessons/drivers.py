"""The course's own ways of calling a learner's function: through the tape, an optimizer, a whole training loop.

They run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numba
import torch

import sampan
from sampan import hapi, io, models, nn, optimizer
from sampan.learn import slots
from sampan.learn.cases import Text
from sampan.learn.drivers import THE_VALUE, driver, gradient_of, parameter, value_and_gradients
from sampan.learn.plain import plain


@driver(answer=lambda parameters, which, *_: [parameter(parameters[position]) for position in which])
def updates(slot: slots.Slot, which: list[int], *args: Any) -> Any:
    """What the arguments at the positions `which` hold after the call: for functions that work in place, and for
    those that must leave their inputs alone."""
    slot.placed(*args)
    return [args[position] for position in which]


@driver
def value(slot: slots.Slot, *args: Any) -> Any:
    """The value that a learner's body of an operator gives, without its pullback."""
    result = slot.placed(*args)
    if type(result) is not tuple or len(result) != 2:
        raise TypeError(f"a body gives back a pair (value, pullback), {type(result).__name__} came")
    return result[0]


@driver(answer=value_and_gradients)
def pullback(slot: slots.Slot, inputs: list[Any], gradient: Any) -> Any:
    """(value, gradients) of a learner's body of an operator; the gradients are one entry an input."""
    result = slot.placed(*inputs)
    if type(result) is not tuple or len(result) != 2:
        raise TypeError(f"a body gives back a pair (value, pullback), {type(result).__name__} came")
    value, pull = result
    if type(pull) is tuple:  # one function an input
        return value, [function(gradient) for function in pull]
    gradients = pull(gradient)
    if isinstance(gradients, list):
        raise TypeError("the pullback gives back a tuple, one gradient an input; a list came")
    return value, list(gradients) if type(gradients) is tuple else [gradients]


@driver(answer=value_and_gradients)
def gradient(slot: slots.Slot, inputs: list[Any], weights: Any) -> Any:
    """(value, gradients of `sum(weights * value)`) of an operator called on Tensors, through the library's tape."""
    tensors = _leaves(inputs)
    value = _operator(slot)(*tensors)
    value.backward(_tensor(weights))
    return value, [tensor.grad for tensor in tensors]


@driver
def on_tensors(slot: slots.Slot, *args: Any) -> Any:
    """What the function gives back when its arrays are Tensors, as in a second derivative."""
    return slot.placed(*(_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in args))


@driver(answer=lambda _, inputs, weights, formula: [THE_VALUE, _gradients(formula)])
def expression(slot: slots.Slot, inputs: list[Any], weights: Any, formula: str) -> Any:
    """(value, gradients) of a named expression through the library's tape: whatever the slot is, the tape uses it."""
    tensors = _leaves(inputs)
    value = FORMULAS[formula](*tensors)
    value.backward(_tensor(weights))
    return value, [tensor.grad for tensor in tensors]


@driver(answer=lambda _, inputs, weights, formula: _gradients(formula))
def second(slot: slots.Slot, inputs: list[Any], weights: Any, formula: str) -> Any:
    """Gradients, by all inputs, of the sum of the first gradients of a named expression: second derivatives."""
    tensors = _leaves(inputs)
    value = FORMULAS[formula](*tensors)
    first = sampan.grad(value, tensors, _tensor(weights), create_graph=True)
    return sampan.grad([gradient for gradient in first if gradient is not None], tensors)


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "affine": lambda x, w, b: x @ w + b,
    "diamond": lambda x, y: (x * y) * (x + y),
    "shared": lambda x, y: _shared(x, y),
    "product": lambda x, y: x * y,
    "linear": lambda x, w, b: nn.functional.linear(x, w, b),
    "matmul": lambda x, y: x @ y,
    "matmul_turned": lambda x, y: sampan.matmul(x, y, transpose_x=True, transpose_y=True),
}


def _gradients(formula: str) -> list[Text]:
    return [gradient_of(name) for name in inspect.signature(FORMULAS[formula]).parameters]


def _shared(x: Any, y: Any) -> Any:
    """A node that is reached over paths of very different length, so a walk in the wrong order shows."""
    base = x * y
    deep = base
    for _ in range(6):
        deep = deep * y + base
    return deep * base + base


def _operator(slot: slots.Slot) -> Any:
    """The operator of a slot as the library calls it."""
    return getattr(sampan, slot.name.rpartition(".")[2])


def _tensor(buffer: Any) -> Any:
    return sampan.to_tensor(buffer)


def _leaves(inputs: list[Any]) -> list[Any]:
    return [sampan.to_tensor(buffer, stop_gradient=False) for buffer in inputs]


class Node:
    """A node of a drawn tape: all that a walk needs is `parents`."""

    def __init__(self, label: int) -> None:
        self.label = label
        self.parents: tuple[Node | None, ...] = ()

    def __repr__(self) -> str:
        return f"node {self.label}"


@driver
def order(slot: slots.Slot, parents: list[list[int | None]], roots: list[int]) -> Any:
    """Labels of the nodes in the order that the function gives; `parents[i]` lists the labels of node i's parents
    (None for a leaf). What is no list, or no node, comes back as it is."""
    nodes = [Node(label) for label in range(len(parents))]
    for node, labels in zip(nodes, parents, strict=True):
        node.parents = tuple(None if label is None else nodes[label] for label in labels)
    walked = slot.placed([nodes[label] for label in roots])
    if not isinstance(walked, (list, tuple)):
        return walked
    return [node.label if isinstance(node, Node) else node for node in walked]


@driver(
    answer=lambda _parameters, _kind, tensors, *_: [
        (f"parameter {i + 1}", f"第 {i + 1} 个参数") for i in range(len(tensors))
    ]
)
def steps(
    slot: slots.Slot, kind: str, parameters: list[Any], gradients: list[list[Any]], settings: dict[str, Any]
) -> Any:
    """What the parameters hold after the library's optimizer `kind` has made one step for each list of gradients."""
    tensors = _leaves(parameters)
    moving = getattr(optimizer, kind)(parameters=tensors, **settings)
    for given in gradients:
        for tensor, gradient in zip(tensors, given, strict=True):
            tensor.grad = _tensor(gradient)
        moving.step()
    return tensors


def _squared_error(outputs: Any, labels: Any) -> Any:
    error = outputs - labels
    return (error * error).mean()


@driver
def epoch(slot: slots.Slot, weight: Any, bias: Any, batches: list[Any], lr: float, epochs: int = 1) -> Any:
    """A line is trained by the function on batches that can be walked over once: weight, bias, and what `after_batch` saw."""
    weight, bias = _leaves([weight, bias])
    moving = optimizer.SGD(learning_rate=lr, parameters=[weight, bias])
    losses: list[float] = []
    outputs_seen: list[Any] = []
    labels_seen: list[Any] = []

    def after_batch(loss: Any, outputs: Any, labels: Any) -> None:
        losses.append(float(loss.item()))
        outputs_seen.append(plain(outputs))
        labels_seen.extend(plain(label) for label in labels)

    for _ in range(epochs):
        walk = (([_tensor(x)], [_tensor(y)]) for x, y in batches)
        slot.placed(lambda x: x @ weight + bias, walk, _squared_error, moving, after_batch)
    return {"weight": weight, "bias": bias, "losses": losses, "outputs": outputs_seen, "labels": labels_seen}


@driver
def two_inputs(slot: slots.Slot, weight: Any, x: Any, z: Any, y: Any, lr: float) -> Any:
    """The weight after one batch of a network with two inputs."""
    (weight,) = _leaves([weight])
    moving = optimizer.SGD(learning_rate=lr, parameters=[weight])
    walk = iter([([_tensor(x), _tensor(z)], [_tensor(y)])])
    slot.placed(lambda a, b: (a * b) @ weight, walk, _squared_error, moving, lambda *seen: None)
    return weight


@driver(answer=lambda *_: [("the weight", "权重"), ("the bias", "偏置")])
def fit(
    slot: slots.Slot, weight: Any, bias: Any, x: Any, y: Any, lr: float, batch_size: int, epochs: int
) -> Any:
    """Weight and bias of a layer that the library's `Model.fit` has trained, without shuffling."""
    layer = nn.Linear(*weight.shape)
    assert layer.weight is not None and layer.bias is not None
    layer.weight.data.copy_(weight)
    layer.bias.data.copy_(bias)
    model = hapi.Model(layer)
    model.prepare(optimizer.SGD(learning_rate=lr, parameters=layer.parameters()), _squared_error)
    data = io.TensorDataset([_tensor(x), _tensor(y)])
    model.fit(data, batch_size=batch_size, epochs=epochs, shuffle=False, verbose=0)
    return layer.weight, layer.bias


@numba.njit(cache=True)
def triple_loop(x: Any, y: Any, out: Any) -> None:
    """The product by its definition: what the orders of notebook 03 are raced against, by the grader."""
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            total = 0.0
            for k in range(x.shape[1]):
                total += x[i, k] * y[k, j]
            out[i, j] = total


@driver
def chained(slot: slots.Slot, inputs: list[Any], times: int) -> Any:
    """The value of an operator's body that takes the place of its first input, so many times: long work, a short answer."""
    value, *others = inputs
    for _ in range(times):
        value, _pull = slot.placed(value, *others)
    return value


@driver(answer=value_and_gradients)
def function(slot: slots.Slot, inputs: list[Any], weights: Any, settings: dict[str, Any]) -> Any:
    """(value, gradients of `sum(weights * value)`) of a function that is written with operators, called on Tensors."""
    tensors = _leaves(inputs)
    value = slot.placed(*tensors, **settings)
    value.backward(_tensor(weights))
    return value, [tensor.grad for tensor in tensors]


@driver(answer=lambda *_: [THE_VALUE, [gradient_of("x"), gradient_of("weight"), gradient_of("bias")]])
def convolution_layer(
    slot: slots.Slot, x: Any, weight: Any, bias: Any, weights: Any, settings: dict[str, Any]
) -> Any:
    """(value, gradients of input, weight and bias) of the library's layer Conv2D."""
    layer = nn.Conv2D(weight.shape[1], weight.shape[0], list(weight.shape[2:]), **settings)
    parameters = _given(layer, weight=weight, bias=bias)
    (x,) = _leaves([x])
    value = layer(x)
    value.backward(_tensor(weights))
    return value, [x.grad, *(parameter.grad for parameter in parameters)]


class _StepByStep(nn.LSTMCell):
    """The library runs its own cells by one fused operator; a subclass is called step by step."""


@driver(
    answer=lambda _parameters, _x, weights, _g: [
        ("the outputs", "各步输出"),
        ("the last `h`", "最后的 `h`"),
        ("the last `c`", "最后的 `c`"),
        [gradient_of(name) for name in weights],
    ]
)
def sequence(slot: slots.Slot, x: Any, weights: dict[str, Any], g: Any) -> Any:
    """(outputs, last h, last c, gradients of the four weights) of a cell over a sequence by the library's RNN."""
    cell = _StepByStep(x.shape[-1], weights["weight_hh"].shape[1])
    parameters = _given(cell, **weights)
    outputs, (h, c) = nn.RNN(cell)(_tensor(x))
    outputs.backward(_tensor(g))
    return outputs, h, c, [parameter.grad for parameter in parameters]


@driver(answer=lambda *_: [parameter("h"), [parameter("h"), parameter("c")]])
def cell(slot: slots.Slot, x: Any, weights: dict[str, Any], states: list[Any] | None) -> Any:
    """(h, [h, c]) of one step of a cell with those weights."""
    made = nn.LSTMCell(x.shape[-1], weights["weight_hh"].shape[1])
    _given(made, **weights)
    h, (again, c) = made(_tensor(x), None if states is None else tuple(_tensor(state) for state in states))
    return h, [again, c]


@driver
def attention_layer(slot: slots.Slot, x: Any, heads: int, weights: dict[str, Any]) -> Any:
    """The value of the attention inside the library's GPT, which looks backwards only."""
    layer = models.gpt.Attention(x.shape[-1], heads, 0.0, 0.02)
    _given(layer, **weights)
    return layer(_tensor(x))


def _given(layer: Any, **values: Any) -> list[Any]:
    """The parameters of those names (dots as two underscores), after they have been given these values."""
    found = dict(layer.named_parameters())
    named = {name.replace("__", "."): value for name, value in values.items()}
    for name, value in named.items():
        found[name].data.copy_(value)
    return [found[name] for name in named]
