"""The tape of a result, drawn: parameters above, the result below, one box for each recorded operator."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ..dtype import DataType, name_of
from ..engine import backward as walk
from ..engine.tape import Node
from ..engine.tensor import Tensor
from ..trace import Record, trace
from .style import COLORS, INK, MUTED, bare_axes, figure, plotly

MOST_NODES = 150
BOX_LEAF, BOX_NODE, BOX_RESULT = "#e8f1f8", "#ffffff", "#fdf0d5"
Shape = tuple[list[int], DataType | torch.dtype] | None
Places = dict[Any, tuple[float, int]]


@dataclass(frozen=True)
class Layout:
    """The layout of a tape: positions of its boxes and lines.

    nodes: consumers first. leaves: the parameters. shapes: (shape, dtype) of each value, None where it is not
    known.
    places: (x, layer) of every box and of the bends between them; lines: pairs of these, from a box down to
    its user.
    spent: the record of each node's call, where a trace was given.
    """

    nodes: list[Node]
    leaves: list[Tensor]
    shapes: dict[Any, Shape]
    places: Places
    lines: list[tuple[Any, Any]]
    spent: dict[Any, Record]


def layout(result: Tensor, costs: trace | None = None) -> Layout:
    """The tape of `result` in layers. Raises `TypeError` for anything but a Tensor, `ValueError` for one that
    nothing was recorded for, or for more than 150 boxes."""
    if not isinstance(result, Tensor):
        raise TypeError(f"tape: result must be a Tensor, got {type(result).__name__}")
    if result.node is None:
        why = "it is data, or was made from data alone (stop_gradient=True)"
        raise ValueError(f"tape: nothing was recorded for this Tensor; {why}")
    order = _nodes(result.node)
    leaves = list(dict.fromkeys(edge for node in order for edge in node.edges if isinstance(edge, Tensor)))
    if len(order) + len(leaves) > MOST_NODES:
        got = f"got {len(order) + len(leaves)}"
        raise ValueError(f"tape: at most {MOST_NODES} boxes can be read, {got}; draw a part of it")
    shapes = _shapes(result, order, leaves)
    spent = _matched(order, shapes, costs.records) if costs is not None else {}
    return Layout(order, leaves, shapes, *_places(order, leaves), spent)


def tape(result: Tensor, costs: trace | None = None, title: str = "") -> Any:
    """Figure of every operator that `result` was made from, in layers; a box says its name and the shape of
    its value.

    Hover over a box for the bytes of the value and the shapes of what went in; with `costs`, the trace under
    which the result was computed, also for the bytes moved, the operations, the kernel and the line of the
    program. Parameters are blue, the result is yellow; data without gradients is not on the tape and
    not drawn. Raises what `layout` does.
    """
    found = layout(result, costs)
    order, leaves, shapes, places = found.nodes, found.leaves, found.shapes, found.places
    layers = 1 + max(y for _, y in places.values())
    wide = 1 + max(abs(x) for x, _ in places.values())
    counts = f"{len(order)} operators, {len(leaves)} parameters"
    head = title or f"{counts}; their values take {_bytes(_total(order, shapes))}"
    made = figure(head, height=int(110 + 74 * layers), showlegend=False)
    made.add_trace(_edges(places, found.lines))
    for key in [*order, *leaves]:
        x, y = places[key]
        leaf = isinstance(key, Tensor)
        fill = BOX_LEAF if leaf else BOX_RESULT if key is result.node else BOX_NODE
        box = {"bgcolor": fill, "bordercolor": COLORS[0] if leaf else MUTED, "borderpad": 5}
        text, hover = _label(key, shapes[key]), _hover(key, shapes, found.spent.get(key))
        box |= {"showarrow": False, "font": {"size": 12, "color": INK}}
        made.add_annotation(x=x, y=y, text=text, hovertext=hover, **box)
    bare_axes(made, (-wide, wide), (-0.6, layers - 0.4))
    return made


def _nodes(root: Node) -> list[Node]:
    """Consumers before what they were made from; the figure keeps its own walk, not the function in the
    exercise slot."""
    found, seen = [root], {root}
    for node in found:
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                found.append(parent)
    return sorted(found, key=lambda node: node.sequence, reverse=True)


def _shapes(result: Tensor, order: list[Node], leaves: list[Tensor]) -> dict[Any, Shape]:
    """The shape and dtype of every value. The tape does not keep values, but a gradient has the shape of its
    value: one backward walk finds them all. Where that is not possible the boxes have names only, and a
    warning says why."""
    known: dict[Any, Shape] = dict.fromkeys(order)
    known.update({leaf: (list(leaf.shape), leaf.dtype) for leaf in leaves})
    gradients: dict[Any, Any] = {}
    hooks = [(node, node.hooks) for node in order]
    try:
        for node in order:
            node.hooks = None  # drawing is not a backward pass: the user's hooks must not run
        with walk.no_grad():
            start = [(result.node, torch.ones_like(result.data))]
            gradients = walk.run(start, retain_graph=True, targets=[*order, *leaves])
    except Exception as error:  # the tape was freed, or a learner's unfinished function is part of the walk
        warnings.warn(f"tape: shapes are not drawn, the backward walk failed: {error}", stacklevel=3)
    finally:
        for node, kept in hooks:
            node.hooks = kept
    for key, gradient in gradients.items():
        if isinstance(gradient, torch.Tensor):
            known[key] = (list(gradient.shape), gradient.dtype)
    known[result.node] = (list(result.shape), result.dtype)
    return known


def _matched(order: list[Node], shapes: dict[Any, Shape], records: list[Record]) -> dict[Any, Record]:
    """The record of each node's call. Both are in order of time, but the records may include
    other calls."""
    forward = [record for record in records if not record.backward]
    found, start = {}, 0
    for node in reversed(order):
        shape = shapes[node]
        for place in range(start, len(forward)):
            record = forward[place]
            if record.operator == node.operator.name and (shape is None or list(record.output) == shape[0]):
                found[node], start = record, place + 1
                break
    return found


@dataclass(frozen=True, eq=False)  # by identity: == of two Tensors is a Tensor
class Bend:
    """Where a line passes a layer on its way down, so that it runs beside the boxes and not behind them."""

    source: Any
    layer: int


def _places(order: list[Node], leaves: list[Tensor]) -> tuple[Places, list[tuple[Any, Any]]]:
    """(x, layer) of every box and bend, and the lines between them. A box is drawn above its users, near
    their mean (Sugiyama, Tagawa and Toda 1981, with one sweep); the lines of one box share their
    bends."""
    layer: dict[Any, int] = {order[0]: 0}
    for node in order:
        for edge in node.edges:
            if edge is not None:
                layer[edge] = max(layer.get(edge, 0), layer[node] + 1)
    under: dict[Any, dict[Any, None]] = {}  # what a box or bend has lines down to
    bends: dict[tuple[int, int], Bend] = {}
    for node in order:
        for edge in node.edges:
            if edge is None:
                continue
            below: Any = node
            for level in range(layer[node] + 1, layer[edge]):
                bend = bends.setdefault((id(edge), level), Bend(edge, level))
                under.setdefault(bend, {})[below] = None
                below = bend
            under.setdefault(edge, {})[below] = None
    layer.update({bend: bend.layer for bend in bends.values()})
    places: Places = {}
    for level in range(1 + max(layer.values())):
        row = [key for key in layer if layer[key] == level]
        middle = {key: _mean(places[below][0] for below in under.get(key, ())) for key in row}
        row.sort(key=lambda key: (middle[key], isinstance(key, Bend)))
        spread = _apart([middle[key] for key in row])
        places.update({key: (x, level) for key, x in zip(row, spread, strict=True)})
    return places, [(source, below) for source, found in under.items() for below in found]


def _apart(wanted: list[float]) -> list[float]:
    """Positions near the wanted ones (given in order), at least 1 apart, around the same mean."""
    placed: list[float] = []
    for x in wanted:
        placed.append(max(x, placed[-1] + 1) if placed else x)
    shift = _mean(wanted) - _mean(placed)
    return [x + shift for x in placed]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _edges(places: Places, lines: list[tuple[Any, Any]]) -> Any:
    x: list[float | None] = []
    y: list[float | None] = []
    for source, below in lines:
        x += [places[source][0], places[below][0], None]
        y += [places[source][1], places[below][1], None]
    return plotly().Scatter(x=x, y=y, mode="lines", line={"color": MUTED, "width": 1.5}, hoverinfo="skip")


def _label(key: Any, shape: Shape) -> str:
    name = "parameter" if isinstance(key, Tensor) else key.name
    return f"<b>{name}</b><br>{shape[0]}" if shape is not None else f"<b>{name}</b>"


def _hover(key: Any, shapes: dict[Any, Shape], spent: Record | None) -> str:
    shape = shapes[key]
    lines = [_label(key, shape)]
    if shape is not None:
        lines.append(f"{name_of(shape[1])}, {_bytes(_size(shape))}")
    if isinstance(key, Node):
        names = key.operator.parameters
        for position, edge in enumerate(key.edges):
            name = names[position] if position < len(names) else f"input {position}"
            from_ = shapes.get(edge) if edge is not None else None
            lines.append(f"  {name}: {'data' if edge is None else from_[0] if from_ else 'on the tape'}")
    if spent is not None:
        lines.append(f"{spent.bytes:,} bytes moved, {spent.flops:,} operations")
        lines.append(f"{spent.kernel}, {spent.line}")
    return "<br>".join(lines)


def _size(shape: Shape) -> int:
    return 0 if shape is None else math.prod(shape[0]) * shape[1].itemsize


def _total(order: list[Node], shapes: dict[Any, Shape]) -> int:
    return sum(_size(shapes[node]) for node in order)


def _bytes(count: int) -> str:
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1000:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.0f} MB"
