"""How a learner's function is called by a check: a driver takes plain values, calls it, gives plain values back.

Drivers run where the learner's code runs and know no right answers. The visible checks and the grader use the same ones.
Arrays reach the function as buffers (`torch.Tensor`), a `Strided` one as a view with gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import slots
from .wire import Strided, plain

Driver = Callable[..., Any]
_drivers: dict[str, Driver] = {}


def driver(function: Driver) -> Driver:
    """Decorator: registers `function(slot, *args)` under its own name."""
    _drivers[function.__name__] = function
    return function


def run(slot_name: str, driver_name: str, args: tuple[Any, ...]) -> Any:
    """The answer of the learner's function in that slot, as plain values; every other slot holds the library's.

    Raises `LookupError` when the slot holds no learner's function, else whatever the learner's code raises.
    """
    if driver_name not in _drivers:
        raise ValueError(f"there is no driver {driver_name!r}; there are {sorted(_drivers)}")
    with slots.only(slot_name) as slot:
        if slot.function is None:
            raise LookupError(f"{slot_name}: no function of yours is in the slot; run its cell first")
        return plain(_drivers[driver_name](slot, *(buffers(arg) for arg in args)))


def buffers(value: Any) -> Any:
    """Arrays of a plain tree as buffers of their own."""
    import torch

    if isinstance(value, Strided):
        array = torch.from_numpy(np.ascontiguousarray(value.array))
        gaps = torch.zeros(*array.shape[:-1], 2 * array.shape[-1], dtype=array.dtype)
        view = gaps[..., ::2]
        view.copy_(array)
        return view
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))  # a copy: the function may write into it
    if isinstance(value, (list, tuple)):
        return type(value)(buffers(item) for item in value)
    if isinstance(value, dict):
        return {key: buffers(item) for key, item in value.items()}
    return value


@driver
def call(slot: slots.Slot, *args: Any) -> Any:
    """What the function gives back."""
    return _inside(slot)(*args)


@driver
def updates(slot: slots.Slot, which: list[int], *args: Any) -> Any:
    """What the arguments at the positions `which` hold after the call: for functions that work in place, and for
    those that must leave their inputs alone."""
    _inside(slot)(*args)
    return [args[position] for position in which]


@driver
def pullback(slot: slots.Slot, inputs: list[Any], gradient: Any) -> Any:
    """(value, gradients) of an operator's body; the gradients are one entry an input."""
    result = _inside(slot)(*inputs)
    if type(result) is not tuple or len(result) != 2:
        raise TypeError(f"a body gives back a pair (value, pullback), {type(result).__name__} came")
    value, pull = result
    if type(pull) is tuple:  # one function an input
        return value, [function(gradient) for function in pull]
    gradients = pull(gradient)
    if isinstance(gradients, list):
        raise TypeError("the pullback gives back a tuple, one gradient an input; a list came")
    return value, list(gradients) if type(gradients) is tuple else [gradients]


@driver
def gradient(slot: slots.Slot, inputs: list[Any], weights: Any) -> Any:
    """(value, gradients of `sum(weights * value)`) of an operator called on Tensors, through the library's tape."""
    tensors = _leaves(inputs)
    value = _operator(slot)(*tensors)
    value.backward(_tensor(weights))
    return value, [tensor.grad for tensor in tensors]


@driver
def on_tensors(slot: slots.Slot, *args: Any) -> Any:
    """What the function gives back when its arrays are Tensors, as in a second derivative."""
    import torch

    return _inside(slot)(*(_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in args))


@driver
def expression(slot: slots.Slot, inputs: list[Any], weights: Any, formula: str) -> Any:
    """(value, gradients) of a named expression through the library's tape: whatever the slot is, the tape uses it."""
    tensors = _leaves(inputs)
    value = FORMULAS[formula](*tensors)
    value.backward(_tensor(weights))
    return value, [tensor.grad for tensor in tensors]


@driver
def second(slot: slots.Slot, inputs: list[Any], weights: Any, formula: str) -> Any:
    """Gradients, by all inputs, of the sum of the first gradients of a named expression: second derivatives."""
    import sampan

    tensors = _leaves(inputs)
    value = FORMULAS[formula](*tensors)
    first = sampan.grad(value, tensors, _tensor(weights), create_graph=True)
    return sampan.grad(first, tensors)


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "affine": lambda x, w, b: x @ w + b,
    "diamond": lambda x, y: (x * y) * (x + y),
    "shared": lambda x, y: _shared(x, y),
    "product": lambda x, y: x * y,
}


def _shared(x: Any, y: Any) -> Any:
    """A node that is reached over paths of very different length, so a walk in the wrong order shows."""
    base = x * y
    deep = base
    for _ in range(6):
        deep = deep * y + base
    return deep * base + base


def _inside(slot: slots.Slot) -> Callable[..., Any]:
    # What sits in the slot now is the counted version of the learner's function.
    found: Callable[..., Any] = getattr(slot.holder, slot.attribute)
    return found


def _operator(slot: slots.Slot) -> Any:
    """The operator of a slot as the library calls it."""
    import sampan

    return getattr(sampan, slot.name.rpartition(".")[2])


def _tensor(buffer: Any) -> Any:
    import sampan

    return sampan.to_tensor(buffer)


def _leaves(inputs: list[Any]) -> list[Any]:
    import sampan

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
    walked = _inside(slot)([nodes[label] for label in roots])
    if not isinstance(walked, (list, tuple)):
        return walked
    return [node.label if isinstance(node, Node) else node for node in walked]
