"""How notebook 07's functions are called: on small graphs of their own, and through the library's graphs.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sampan
from sampan import graph, nn
from sampan.graph import messages
from sampan.graph.routes import Routes
from sampan.learn import slots
from sampan.learn.drivers import driver, gradient_of, parameter, value_and_gradients


@driver(answer=lambda *_: [parameter("starts"), parameter("neighbours"), parameter("edges")])
def edges_compressed(slot: slots.Slot, rows: Any, columns: Any, height: int) -> Any:
    """(starts, neighbours, edges) of the slot."""
    return tuple(np.asarray(part) for part in slot.placed(_ids(rows), _ids(columns), height))


def _ids(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values.numpy(), np.int32)


@driver(answer=lambda *_: [parameter("rows"), parameter("columns")])
def edges_unspoilt(slot: slots.Slot, rows: Any, columns: Any, height: int) -> Any:
    """The arrays that the slot was given, after it has run."""
    given = _ids(rows).copy(), _ids(columns).copy()
    slot.placed(*given, height)
    return given


@driver(answer=lambda *_: [("the sums", "各和"), ("the edges into each node", "进入各节点的边")])
def graph_made(slot: slots.Slot, sources: Any, targets: Any, count: int, x: Any) -> Any:
    """(what each node receives, the edge numbers by target) of the library's Graph, which is made by the slot."""
    made = graph.Graph((_ids(sources), _ids(targets)), count)
    return made.send_recv(sampan.to_tensor(x)).numpy(), made.by_target.edges


def gradient(leaf: Any, name: str) -> Any:
    """The gradient of a tensor. Raises ValueError where the output does not depend on it."""
    if leaf.grad is None:
        raise ValueError(f"expected a gradient of {name}, but the output does not depend on it")
    return leaf.grad.numpy()


def go_back(output: Any, g: Any) -> None:
    """Backward from an output with the gradient g. Raises ValueError where the output has another shape."""
    g = sampan.to_tensor(g)
    if list(output.shape) != list(g.shape):
        raise ValueError(f"expected an output of shape {list(g.shape)}, got {list(output.shape)}")
    output.backward(g)


def _routes(sources: Any, targets: Any, sizes: list[int]) -> Routes:
    return Routes(_ids(sources), _ids(targets), sizes[0], sizes[1])


@driver(answer=value_and_gradients)
def messages_summed(
    slot: slots.Slot, inputs: list[Any], sources: Any, targets: Any, sizes: list[int], mean: str, g: Any
) -> Any:
    """(what each target receives, [the gradient of x]) of the operator, which has the slot as its body."""
    x = sampan.to_tensor(inputs[0], stop_gradient=False)
    value: Any = messages.neighbour_sum(x, _routes(sources, targets, sizes), mean)
    go_back(value, g)
    return value.numpy(), [gradient(x, "x")]


@driver
def messages_twice(slot: slots.Slot, x: Any, sources: Any, targets: Any, mean: str) -> Any:
    """The gradient of the sum of the squares of a first gradient: second derivatives, through the library."""
    x = sampan.to_tensor(x, stop_gradient=False)
    routes = _routes(sources, targets, [len(x), len(x)])
    value: Any = messages.neighbour_sum(x, routes, mean)
    first: Any = sampan.grad((value**3).sum(), x, create_graph=True)[0]
    second: Any = sampan.grad((first**2).sum(), x)[0]
    return second.numpy()


@driver(answer=lambda *_: [parameter("places"), ("the counts", "各行的个数")])
def places_drawn(slot: slots.Slot, begins: Any, counts: Any, degrees: Any, neighbours: Any, seed: int) -> Any:
    """(the places of each row in ascending order, how many of each row) that the slot draws."""
    begins, degrees, counts = (np.asarray(part, np.int64) for part in (begins, degrees, counts))
    places, values, targets = slot.placed(
        (begins, degrees), counts, neighbours.numpy(), False, seed, 0, np.int64
    )
    if not (np.asarray(values) == neighbours.numpy()[places]).all():
        raise ValueError("values: expected neighbours[places]")
    order = np.lexsort((places, targets))
    return np.asarray(places)[order], np.bincount(targets, minlength=begins.size)


@driver
def places_repeated(slot: slots.Slot, degree: int, count: int, rounds: int, seed: int) -> Any:
    """Places [rounds, count] of one row, drawn `rounds` times; the row begins at place 3."""
    ones = np.ones(rounds, np.int64)
    rows = 3 * ones, degree * ones
    places, _, _ = slot.placed(rows, count * ones, np.arange(degree + 9), False, seed, 0, np.int64)
    return np.sort(np.asarray(places).reshape(rounds, count) - 3, axis=1)


def _sampled(sources: Any, targets: Any, count: int, seeds: Any, sizes: list[int], seed: int) -> Any:
    made = graph.Graph((_ids(sources), _ids(targets)), count)
    return graph.k_hop(made, seeds.numpy(), sizes, seed=seed)


@driver
def hops_sampled(
    slot: slots.Slot, sources: Any, targets: Any, count: int, seeds: Any, sizes: list[int], seed: int
) -> Any:
    """Numbers of the edges that the library's k_hop samples, in ascending order."""
    return np.sort(_sampled(sources, targets, count, seeds, sizes, seed).edges.numpy())


@driver
def hops_repeated(
    slot: slots.Slot, sources: Any, targets: Any, count: int, seeds: Any, sizes: list[int], seed: int
) -> Any:
    """Numbers of the edges of k_hop with one seed, twice, and with another seed."""
    given = sources, targets, count, seeds, sizes
    return [np.sort(_sampled(*given, number).edges.numpy()) for number in (seed, seed, seed + 1)]


PARTS = [("the output", "输出"), gradient_of("feature"), gradient_of("weight"), gradient_of("bias")]


@driver(answer=lambda *_: PARTS)
def convolved(
    slot: slots.Slot, edges: Any, count: int, arrays: list[Any], settings: dict[str, Any], norm: Any, g: Any
) -> Any:
    """(output, gradients of features, weight and bias) of a GCNConv with these arrays."""
    feature, weight, bias = arrays
    made = graph.Graph((_ids(edges[:, 0]), _ids(edges[:, 1])), count)
    layer: Any = graph.nn.GCNConv(*weight.shape, **settings)
    layer.linear.weight.set_value(weight.numpy())
    layer.bias.set_value(bias.numpy())
    x = sampan.to_tensor(feature, stop_gradient=False)
    output = layer(made, x) if norm is None else layer(made, x, sampan.to_tensor(norm))
    go_back(output, g)
    leaves = {"feature": x, "weight": layer.linear.weight, "bias": layer.bias}
    return (output.numpy(), *(gradient(leaf, name) for name, leaf in leaves.items()))


@driver
def network_trained(
    slot: slots.Slot, edges: Any, count: int, feature: Any, weights: list[Any], labels: Any
) -> Any:
    """Logits of two GCNConv layers after three steps of SGD on the cross entropy of all nodes."""
    made = graph.Graph((_ids(edges[:, 0]), _ids(edges[:, 1])), count)
    (inputs, hidden), (_, outputs) = (weight.shape for weight in weights)
    layers: Any = [graph.nn.GCNConv(inputs, hidden, "relu"), graph.nn.GCNConv(hidden, outputs)]
    for layer, weight in zip(layers, weights, strict=True):
        layer.linear.weight.set_value(weight.numpy())
    rule = sampan.optimizer.SGD(0.5, parameters=[p for layer in layers for p in layer.parameters()])
    x, wanted = sampan.to_tensor(feature), sampan.to_tensor(labels)
    for _ in range(3):
        nn.functional.cross_entropy(layers[1](made, layers[0](made, x)), wanted).backward()
        rule.step()
        rule.clear_grad()
    return layers[1](made, layers[0](made, x)).numpy()
