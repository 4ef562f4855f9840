"""A network within a budget, each step measured here: bytes, time, and the score on given data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from .. import nn
from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..quantization import PTQ, QuantConfig
from ..quantization.observers import AbsMaxChannelWiseWeightObserver, AbsmaxObserver
from .analysis import file_bytes, latencies
from .pruners import L1NormFilterPruner

__all__ = ["Compressed", "compress"]

Evaluate = Callable[[Any], float]


class Row(NamedTuple):
    """One network: bytes of its state, seconds of a call on the first batch, its score."""

    name: str
    bytes: int
    seconds: float
    score: float


@dataclass
class Compressed:
    """The small network (`model`), `rows` before and after, and `notes`: which layers stayed, and why."""

    model: Any
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        first = self.rows[0]
        lines = ["| network | bytes | of the first | time of the first | score |", "|---|---|---|---|---|"]
        for row in self.rows:
            shares = f"{row.bytes / first.bytes:.3f} | {row.seconds / first.seconds:.2f}"
            lines.append(f"| {row.name} | {row.bytes:,} | {shares} | {row.score:.4f} |")
        return "\n".join([*lines, *self.notes])


def compress(
    model: Layer,
    data: Sequence[Any],
    budget: str | int = "int8",
    evaluate: Evaluate | None = None,
    tune: Callable[[Any], object] | None = None,
    tolerance: float = 0.003,
    slower: float = 1.1,
) -> Compressed:
    """A smaller copy of a network, and what that cost.

    data: batches of inputs (Tensors) for calibration; times are of the first. budget: "int8", a share such as
    "50%", or bytes; for the last two the same share of all filters is removed until the parameters fit, and
    `tune(network)` trains it on. evaluate(network): its score, more is better. In int8 a layer stays in
    floats where it takes more than `slower` times as long, or where the score falls by more than `tolerance`.
    Raises InvalidArgument without data or evaluate, and for a budget that cannot be met.
    """
    if not data or not all(isinstance(batch, Tensor) for batch in data):
        raise InvalidArgument("data: expected a list of at least one Tensor, a batch of inputs each")
    if evaluate is None:
        raise InvalidArgument("evaluate: expected a function of the network that returns its score, got None")
    first = copy.deepcopy(model)
    first.eval()
    limit = 0 if budget == "int8" else _bytes_of(budget, file_bytes(first))
    baseline = float(evaluate(first))
    if budget == "int8":
        small, notes = _int8(first, data, evaluate, baseline, tolerance, slower)
    else:
        small, notes = _fewer_filters(first, data[0], limit, tune)
    seconds, scores = latencies([first, small], data[0]), (baseline, float(evaluate(small)))
    networks = zip(("before", str(budget)), (first, small), seconds, scores, strict=True)
    rows = [Row(name, file_bytes(one), time, score) for name, one, time, score in networks]
    return Compressed(small, rows, notes)


def _bytes_of(budget: Any, whole: int) -> int:
    text = budget.removesuffix("%") if isinstance(budget, str) and budget.endswith("%") else ""
    if text.replace(".", "", 1).isdigit() and 0 < float(text) < 100:
        return int(whole * float(text) / 100)
    if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0:
        return budget
    raise InvalidArgument(f"budget: expected 'int8', a share such as '50%', or bytes, got {budget!r}")


def _fewer_filters(first: Layer, batch: Tensor, limit: int, tune: Any) -> tuple[Layer, list[str]]:
    small = copy.deepcopy(first)
    pruner = L1NormFilterPruner(small, batch[:2])
    names, low, high = list(pruner.prunable), 0.0, 0.98
    for _ in range(8):  # the least share of the filters that is enough
        middle = (low + high) / 2
        pruner.prune_vars(dict.fromkeys(names, middle))
        low, high = (middle, high) if file_bytes(small) > limit else (low, middle)
        pruner.restore()
    pruner.prune_vars(dict.fromkeys(names, high))
    if file_bytes(small) > limit:
        raise InvalidArgument(f"budget: {limit} bytes cannot be met, the least is {file_bytes(small)}")
    if tune is not None:
        tune(small)
    small.eval()
    fixed = [
        name for name, layer in first.named_sublayers() if _weighs(layer) and f"{name}.weight" not in names
    ]
    return small, [
        f"{name} keeps its filters: they reach the result or a call without a rule" for name in fixed
    ]


def _weighs(layer: Layer) -> bool:
    return type(layer) in (nn.Linear, nn.Conv2D)


def _int8(
    first: Layer,
    data: Sequence[Any],
    evaluate: Evaluate,
    baseline: float,
    tolerance: float,
    slower: float,
) -> tuple[Layer, list[str]]:
    names = [name for name, layer in first.named_sublayers() if _weighs(layer)]
    if not names:
        raise InvalidArgument("model: expected a network with Linear or Conv2D layers, got none")
    notes = list[str]()
    whole, given = _converted(first, names, data)
    layers, quantised = dict(first.named_sublayers()), dict(whole.named_sublayers())
    costs: dict[str, float] = {}
    for name in names:
        before, after = latencies([layers[name], quantised[name]], given[name], 9)
        if after > slower * before:
            notes.append(f"{name} stays in float32: in int8 it takes {after / before:.2f} of the time")
            continue
        costs[name] = baseline - float(evaluate(_converted(first, [name], data)[0]))
        if costs[name] > tolerance:
            notes.append(
                f"{name} stays in float32: in int8 alone it costs {costs.pop(name):.4f} of the score"
            )
    while costs:
        small, _ = _converted(first, list(costs), data)
        if (lost := baseline - float(evaluate(small))) <= tolerance:
            return small, notes
        worst = max(costs, key=costs.__getitem__)
        del costs[worst]
        notes.append(f"{worst} stays in float32: together with the others it costs {lost:.4f} of the score")
    return copy.deepcopy(first), notes


def _converted(first: Layer, names: Sequence[str], data: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
    """The network with some layers in int8, and the first input of each of these layers."""
    layers, config = dict(first.named_sublayers()), QuantConfig(None, None)
    for name in names:
        config.add_layer_config(layers[name], AbsmaxObserver(), AbsMaxChannelWiseWeightObserver())
    ptq = PTQ(config)
    model, given = ptq.quantize(first), dict[str, Any]()
    handles = [
        layer.register_forward_pre_hook(partial(_note, given, name))
        for name, layer in model.named_sublayers()
        if name in names
    ]
    with no_grad():
        for batch in data:
            model(batch)
    for handle in handles:
        handle.remove()
    return ptq.convert(model), given


def _note(given: dict[str, Any], name: str, layer: Layer, inputs: Any) -> None:
    """A hook that keeps the first input of a layer."""
    given.setdefault(name, inputs[0])
