"""The backward pass of a Program: its derivatives as the source of one Python function.

It is read off the tape that the recorded run left: which Node leads to which, and what each keeps. So
`detach`, `no_grad` and changes in place mean what they mean eagerly, and gradients are added in the same
order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import torch

from ..engine.backward import fit
from ..engine.tape import Node
from ..engine.tensor import Tensor
from .code import Source
from .program import Ref, mapped, refs
from .record import Recorder

_NAME = re.compile(r"\b[vs]\d+\b")


class NotDerived(Exception):
    """The tape of a recorded run holds something that a Program cannot repeat; the text says what."""


class Pullback(NamedTuple):
    """source: of `program(given, kept)`, the gradients of the edges from those of the outputs. edges: the
    values from outside that get a gradient; kept: what the forward pass must keep for it, a list that is
    emptied."""

    source: Source
    edges: tuple[Ref, ...]
    kept: tuple[Ref, ...]


def pullback_of(
    outputs: Sequence[Tensor], outside: Sequence[tuple[Ref, Any]], recorder: Recorder
) -> Pullback:
    """The derivatives of `outputs`, in the order of the arguments.

    outside: the Ref and the edge (a Node or a leaf) of each Tensor that gets a gradient.
    Raises NotDerived.
    """
    return _Writer(outside, recorder).write(outputs)


class _Writer:
    def __init__(self, outside: Sequence[tuple[Ref, Any]], recorder: Recorder) -> None:
        self.recorder = recorder
        self.ends = {id(edge): place for place, (_, edge) in enumerate(outside)}
        self.refs = [ref for ref, _ in outside]
        self.source = Source()
        self.names: dict[int, str] = {}  # id of a Node: the name of its gradient
        self.begun: set[str] = set()  # gradients to which something has been added
        self.used: dict[Ref, None] = {}

    def write(self, outputs: Sequence[Tensor]) -> Pullback:
        roots = [(t.node or t) for t in outputs]
        order = self._inside([root for root in roots if type(root) is Node and id(root) not in self.ends])
        for place, node in enumerate(order):
            self.names[id(node)] = f"g{place}"
        lines = self.source.lines
        for place, root in enumerate(roots):
            self._add(root, f"given[{place}]", "    ")
        for node in order:
            self._step(node)
        self._free()
        head = ["def program(given, kept):"]
        if self.used:
            head += [f"    {', '.join(map(repr, self.used))}, = kept", "    kept.clear()"]
        names = [*dict.fromkeys([*self.names.values(), *self._of_several(order)])]
        names += [f"e{place}" for place in range(len(self.refs))]
        head.append(f"    {' = '.join(names)} = None" if names else "    pass")
        lines[:0] = head
        lines.append(f"    return ({''.join(f'e{place}, ' for place in range(len(self.refs)))})")
        return Pullback(self.source, tuple(self.refs), tuple(self.used))

    def _inside(self, roots: list[Node]) -> list[Node]:
        """The Nodes that the function made, consumers first. The tape behind its inputs is not followed."""
        found, seen = list(roots), {id(node) for node in roots}
        for node in found:
            for edge in node.edges:
                if type(edge) is Node and id(edge) not in self.ends and id(edge) not in seen:
                    seen.add(id(edge))
                    found.append(edge)
        unique = {id(node): node for node in found}
        return sorted(unique.values(), key=lambda node: node.sequence, reverse=True)

    def _free(self) -> None:
        """Give up each kept value after the last line that reads it: gradients take its memory."""
        last: dict[str, int] = {}
        for number, line in enumerate(self.source.lines):
            for name in _NAME.findall(line):
                last[name] = number
        own = {repr(ref) for ref in self.used if ref.kind in ("v", "s")}
        for name, number in sorted(last.items(), key=itemgetter(1), reverse=True):
            if name in own:
                line = self.source.lines[number]
                indent = line[: len(line) - len(line.lstrip())]
                self.source.lines.insert(number + 1, f"{indent}del {name}")

    def _of_several(self, order: Sequence[Node]) -> list[str]:
        return [
            f"{self.names[id(node)]}_{i}"
            for node in order
            if node.outputs is not None
            for i in range(len(node.outputs))
        ]

    def _add(self, edge: Any, part: str, indent: str, name: str = "") -> None:
        """Add a part to the gradient of an edge."""
        if not name:
            name = f"e{self.ends[id(edge)]}" if id(edge) in self.ends else self.names.get(id(edge), "")
        if not name:
            return  # a leaf that the function made: its gradient is not visible outside
        if name not in self.begun:
            self.begun.add(name)
            self.source.lines.append(f"{indent}{name} = {part}")
            return
        add = self.source.name(added, "added")
        self.source.lines.append(f"{indent}{name} = {add}({name}, {part})")

    def _step(self, node: Node) -> None:
        """The lines that take the gradient of a Node to its inputs."""
        operator, name, lines = node.operator, self.names[id(node)], self.source.lines
        if node.index is not None:
            self._add(None, name, "    ", f"{self.names[id(node.edges[0])]}_{node.index}")
            return
        if node.outputs is not None:
            fill = self.source.name(filled, "filled")
            made = ", ".join(f"{name}_{i}" for i in range(len(node.outputs)))
            outputs = self.source.name(node.outputs, "outputs")
            lines.append(f"    {name} = {fill}(({made},), {outputs}, {operator.fills})")
        self._check(node)
        lines.append(f"    if {name} is not None:")
        if operator.joint is not None:
            given = self._arguments(node, operator.joint.names)
            function = self.source.name(operator.joint.function, f"{operator.name}_back")
            parts = self.source.name(_tuple, "parts")
            lines.append(f"        parts_of = {parts}({function}({name}{given}))")
            for place, edge in enumerate(node.edges):
                if edge is not None:
                    self._add(edge, self._fitted(node, place, f"parts_of[{place}]"), "        ")
            lines.append("        del parts_of")
        else:
            for place, edge in enumerate(node.edges):
                if edge is None:
                    continue
                derivative, asked = operator.derivatives[place]
                back = self.source.name(derivative, f"{operator.name}_back{place}")
                part = f"{back}({name}{self._arguments(node, asked)})"
                self._add(edge, self._fitted(node, place, part), "        ")
        lines.append(f"        {name} = None")

    def _fitted(self, node: Node, place: int, part: str) -> str:
        known = None if node.shapes is None else node.shapes[place]
        if known is None:
            return part
        function = self.source.name(fitted, "fitted")
        return f"{function}({part}, {self.source.text(tuple(known[0]))}, {known[1]})"

    def _arguments(self, node: Node, names: Sequence[str]) -> str:
        """What a derivative is given beside the gradient, with a comma before it."""
        kept = node.kept or {}
        return "".join(f", {self.source.text(self._kept(node, name, kept[name]))}" for name in names)

    def _kept(self, node: Node, name: str, content: Any) -> Any:
        if name == "saved" and type(content) not in (type(None), bool, int, float, str):
            found = self.recorder.saved.get(id(content))
            if found is None:
                raise NotDerived(f"the derivatives of {node.name} are made outside the operators")
            self.used[found] = None
            return found

        def named(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            if getattr(leaf.untyped_storage(), "written", 0) > node.sequence:
                raise NotDerived(f"{node.name} keeps a tensor that is overwritten")
            ref = self.recorder.known(leaf)
            if ref is None:
                raise NotDerived(f"{node.name} keeps a tensor that no recorded call made")
            return ref

        value = mapped(content, named)
        self.used.update(dict.fromkeys(refs(value)))
        return value

    def _check(self, node: Node) -> None:
        operator = node.operator
        if node.hooks:
            raise NotDerived(f"a hook is registered on the result of {node.name}")
        if node.view_written:
            raise NotDerived(f"a view of the result of {node.name} is overwritten")
        if operator.holomorphic and self.recorder.complex:
            raise NotDerived(f"{node.name} has complex gradients")
        given = len(node.edges) if operator.joint is not None else len(operator.derivatives)
        if any(edge is not None for edge in node.edges[given:]) or node.kept is None:
            raise NotDerived(f"{node.name} has no gradient for an argument")


# --- what the lines call ---


def added(one: Any, other: Any) -> Any:
    """The sum of two parts of a gradient, each of which may be missing."""
    return other if one is None else one if other is None else one + other


def fitted(part: Any, shape: Sequence[int], dtype: torch.dtype) -> Any:
    """A gradient with the shape and dtype of its input, None for None."""
    return None if part is None else fit(part, shape, dtype)


def filled(parts: tuple[Any, ...], outputs: Sequence[Any], zeros: bool) -> Any:
    """The gradients of several outputs, with zeros for missing ones if asked; None if all are missing."""
    if all(part is None for part in parts):
        return None
    if not zeros:
        return parts
    return tuple(
        torch.zeros(shape, dtype=dtype, device=device) if part is None else part
        for part, (shape, dtype, device) in zip(parts, outputs, strict=True)
    )


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if type(result) is tuple else (result,)
