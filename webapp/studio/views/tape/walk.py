"""A program's walk over the tape, forward and backward, as plain data for the page.

One step is one call of an operator, or of its derivatives. Independent of widgets; texts are looked up by `t`.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studio.i18n import t

from ..common.figures import duration_short
from .numbers import Table, Watch, of

COLUMN, LAYER = 158, 98  # pixels between neighbours
Row = tuple[str, str]


class Walk:
    """`run` is called once, under a trace, and returns (result, names of parameters). Then one backward from the
    result.

    boxes: [{id, x, y, kind, title, name, shape, forward, backward, value, gradient}]: `forward` and `backward` are the
    steps after which the value and the gradient are known, `value` and `gradient` samples of their numbers (numbers.py)
    or None; `name` is that of a parameter in `leaves`. leaves: parameter -> its Tensor. lines: [[from box, to box, [x, y, x, y, ...]]]. steps: [{phase, box, title,
    rows, source}].
    sources: operator -> {file, parts: [[text, kind]]}. totals: {forward, backward} -> {bytes, flops, seconds, steps}.
    """

    def __init__(self, run: Callable[[], tuple[Any, Mapping[str, Any]]], lang: str) -> None:
        import sampan
        from sampan.engine.apply import observed_by
        from sampan.visual.tape import layout

        self.lang = lang
        with sampan.trace() as seen, observed_by(watch := Watch(seen)):
            result, parameters = run()
        self.leaves = dict(parameters)
        self._names = {id(tensor): name for name, tensor in parameters.items()}
        self._layout = layout(result, seen)
        with sampan.trace() as back, observed_by(back_watch := Watch(back)):
            result.backward(sampan.ones_like(result), retain_graph=True)
        at = {id(record): place for place, record in enumerate(seen)}
        self._values = {
            node: watch.values.get(at[id(record)], []) for node, record in self._layout.spent.items()
        }
        self._gradients = back_watch.gradients
        self._back = {record.sequence: record for record in back if record.backward}
        self._ids = {key: number for number, key in enumerate([*self._layout.nodes, *self._layout.leaves])}
        made = sorted(
            (node for node in self._layout.nodes if node.index is None), key=lambda node: node.sequence
        )
        self._forward_at = {node: number for number, node in enumerate(made)}
        passed = [node for node in reversed(made) if node.sequence in self._back]
        self._backward_at = {node: len(made) + number for number, node in enumerate(passed)}
        self.steps = [self._forward(node) for node in made] + [self._backward(node) for node in passed]
        self.sources = {node.operator.name: source(node.operator) for node in made}
        self.boxes = [self._box(key, result) for key in self._ids]
        self.lines = self._lines()
        self.totals = {
            "forward": _total(self._layout.spent.values()),
            "backward": _total(self._back.values()),
        }
        for leaf in self._layout.leaves:
            leaf.clear_grad()

    # ---- steps

    def _forward(self, node: Any) -> dict[str, Any]:
        record, shape = self._layout.spent.get(node), self._layout.shapes[node]
        given = [(self._t("row.given"), " ".join(map(_shape, record.inputs)))] if record is not None else []
        rows = [*given, *self._inputs(node), *self._output(node, shape)]
        return self._step("forward", node, [*rows, *self._costs(record)])

    def _backward(self, node: Any) -> dict[str, Any]:
        record, shapes = self._back[node.sequence], self._layout.shapes
        arrives = " ".join(map(_shape, record.inputs[:1])) or "–"
        rows = [(self._t("row.arrives"), arrives)]
        for name, edge in self._edges(node):
            if edge is not None:
                sent = shapes.get(edge)
                rows.append(
                    (
                        self._t("row.sends", name=name),
                        f"{_shape(sent[0]) if sent else ''} → {self._title(edge)}",
                    )
                )
        return self._step(
            "backward", node, [*rows, (self._t("row.dtype"), record.dtype), *self._costs(record)]
        )

    def _step(self, phase: str, node: Any, rows: list[Row]) -> dict[str, Any]:
        return {
            "phase": phase,
            "box": self._ids[node],
            "title": node.operator.name,
            "rows": [list(row) for row in rows],
            "source": node.operator.name,
        }

    def _inputs(self, node: Any) -> list[Row]:
        rows = []
        for name, edge in self._edges(node):
            known = self._layout.shapes.get(edge) if edge is not None else None
            what = self._t("row.data") if edge is None else self._title(edge)
            rows.append((self._t("row.input", name=name), f"{what} {_shape(known[0])}" if known else what))
        return rows

    def _output(self, node: Any, shape: Any) -> list[Row]:
        outputs = node.outputs
        if outputs is not None:
            text = ", ".join(_shape(tuple(one[0])) for one in outputs)
            return [(self._t("row.output"), text), (self._t("row.dtype"), _dtype(outputs[0][1]))]
        if shape is None:
            return []
        return [(self._t("row.output"), _shape(shape[0])), (self._t("row.dtype"), _dtype(shape[1]))]

    def _costs(self, record: Any) -> list[Row]:
        if record is None:
            return []
        return [
            (self._t("row.bytes"), f"{record.bytes:,}" if record.bytes else self._t("row.none_moved")),
            (self._t("row.flops"), f"{record.flops:,}"),
            (self._t("row.time"), duration_short(record.seconds)),
            (self._t("row.kernel"), record.kernel),
        ]

    def _edges(self, node: Any) -> list[tuple[str, Any]]:
        """(parameter, what made it) of each input that is a Tensor, if the tape has it."""
        names = node.operator.parameters
        pairs = [(names[i] if i < len(names) else f"#{i}", edge) for i, edge in enumerate(node.edges)]
        return [(name, edge) for name, edge in pairs if edge is not None] or pairs[:1]

    def _title(self, key: Any) -> str:
        if not hasattr(key, "edges"):
            return self._names.get(id(key), self._t("parameter"))
        return str(key.name)

    # ---- picture

    def _box(self, key: Any, result: Any) -> dict[str, Any]:
        leaf = not hasattr(key, "edges")
        shape = self._layout.shapes[key]
        x, y = self._point(key)
        return {
            "id": self._ids[key],
            "x": x,
            "y": y,
            "kind": "parameter" if leaf else "result" if key is result.node else "operator",
            "title": self._title(key),
            "name": self._names.get(id(key), "") if leaf else "",
            "shape": _shape(shape[0]) if shape else "",
            "value": of(key) if leaf else self._sampled(self._values, key),
            "gradient": of(key.grad) if leaf else self._sampled(self._gradients, key),
            "forward": -1 if leaf else self._forward_at[key.edges[0] if key.index is not None else key],
            "backward": self._gradient_at(key),
        }

    def _sampled(self, tables: Mapping[Any, list[Table | None]], key: Any) -> Table | None:
        """Of an operator, or of one of its outputs."""
        found = tables.get(key if key.index is None else key.edges[0], [])
        place = key.index or 0
        return found[place] if place < len(found) else None

    def _gradient_at(self, key: Any) -> int:
        """The step after which the gradient of this value is complete: the last of the steps that add to it."""
        users = [node for node in self._backward_at if any(edge is key for edge in node.edges)]
        users += [
            node.edges[0]
            for node in self._layout.nodes
            if node.index is not None and node.edges[0] is key and node.edges[0] in self._backward_at
        ]
        if not users:
            return self._backward_at.get(key, len(self.steps))
        return max(self._backward_at[user] for user in users)

    def _point(self, key: Any) -> tuple[int, int]:
        places = self._layout.places
        x, layer = places[key]
        left = min(x for x, _ in places.values())
        top = max(y for _, y in places.values())
        return round((x - left + 0.5) * COLUMN), round((top - layer + 0.5) * LAYER)

    def _lines(self) -> list[list[Any]]:
        """One polyline for each connection of two boxes."""
        under: dict[Any, list[Any]] = {}
        for above, below in self._layout.lines:
            under.setdefault(above, []).append(below)

        def down(path: list[Any]) -> list[list[Any]]:
            if path[-1] in self._ids:
                return [path]
            return [way for below in under.get(path[-1], ()) for way in down([*path, below])]

        ways = [way for start in self._ids for below in under.get(start, ()) for way in down([start, below])]
        return [
            [self._ids[way[0]], self._ids[way[-1]], [n for key in way for n in self._point(key)]]
            for way in ways
        ]

    def _t(self, key: str, **values: object) -> str:
        return t(f"tape.{key}", self.lang, **values)


def source(operator: Any) -> dict[str, Any]:
    """The source file of an operator, and its source in parts: [text, "value" | "derivative" | ""]."""
    body = inspect.unwrap(operator.body)
    path = body.__code__.co_filename
    lines, first = inspect.getsourcelines(body)
    file = f"{_inside(path)}:{first}"
    # A learner's function is wrapped to count its calls. It returns value and closures, so it has no separate
    # derivatives.
    if body is not operator.body:
        return {"file": file, "parts": [[_text(lines, ""), ""]]}
    head = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))
    derivatives, joint = operator.functions()
    written = [inspect.unwrap(each) for each in [*derivatives, joint] if each is not None]
    parts: dict[tuple[str, int], list[str]] = {}
    for function in [*written, *(used for each in written for used in _used_by(each))]:
        its_lines, line = inspect.getsourcelines(function)
        place = (function.__code__.co_filename, line)
        if place[0] != path or not first <= line < first + head:
            parts[place] = [_text(its_lines), "derivative"]
    if head:  # the decorator: lambdas, and names of derivatives that are defined above
        parts[path, first] = [_text(lines[:head], "\n"), "derivative"]
    parts[path, first + head] = [_text(lines[head:]), "value"]
    shown = [parts[place] for place in sorted(parts)]
    if path.startswith("<"):  # generated from a row of a table: its docstring says what it computes
        file = _inside(inspect.getfile(inspect.getmodule(body) or body))
        said = textwrap.indent(inspect.getdoc(body) or "", "# ", lambda _: True)
        shown = [[f"{said}\n\n", ""], *shown]
    shown[-1][0] = shown[-1][0].rstrip()
    return {"file": file, "parts": shown}


def _used_by(derivative: Any) -> list[Any]:
    """The derivative functions that a generated one calls, whose source must be shown too."""
    if not derivative.__code__.co_filename.startswith("<"):
        return []
    used = filter(inspect.isfunction, map(derivative.__globals__.get, derivative.__code__.co_names))
    return [one for one in used if one.__code__.co_varnames[:1] == ("g",)]


def _text(lines: list[str], end: str = "\n\n") -> str:
    return textwrap.dedent("".join(lines)).rstrip() + end


def _inside(path: str) -> str:
    """A path relative to the library's folder; for a file from elsewhere, its name."""
    import sampan

    root, file = Path(sampan.__file__).resolve().parent, Path(path).resolve()
    return file.relative_to(root.parent).as_posix() if file.is_relative_to(root) else file.name


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _dtype(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _total(records: Any) -> dict[str, float]:
    found = list(records)
    return {
        "steps": len(found),
        "bytes": sum(record.bytes for record in found),
        "flops": sum(record.flops for record in found),
        "seconds": math.fsum(record.seconds for record in found),
    }
