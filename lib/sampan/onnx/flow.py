"""Loops and branches of a Program as ONNX's nodes Loop and If, with a graph for each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..jit.control_flow import Choose, Flow, Part
from ..jit.program import Call, Ref
from .facts import Facts
from .graph import Graph, Unsupported
from .library import library, number_of

Emit = Callable[[Graph, Call], list[str]]


def emitted_flow(graph: Graph, call: Call, emit: Emit) -> list[str]:
    """Write the node of a loop or branch. emit: writes a call. What cannot be said, with its lines."""
    if call.writes:
        raise Unsupported("it writes into a value from outside of it")
    flow: Any = call.function
    assert isinstance(flow, Flow) and isinstance(graph.known, Facts)
    first, others = call.args
    around = [graph.name(ref) for ref in others]
    if isinstance(flow, Choose):
        truth = _scalar(graph, graph.name(first))
        graphs = [_of_part(graph, part, around, emit) for part in flow.parts]
        branches = dict(zip(("then_branch", "else_branch"), (made for made, _ in graphs), strict=True))
        names = graph.node("If", truth, outputs=len(call.result), **branches)
        failures = [failure for _, found in graphs for failure in found]
    else:
        test, body = flow.parts
        begin = [graph.name(ref) for ref in first]
        (again,), failures = _inlined(graph, test, [*begin, *around], emit)
        made, found = _body(graph, test, body, around, emit)
        names = graph.node("Loop", None, _scalar(graph, again), *begin, outputs=len(begin), body=made)
        failures += found
    listed = [names] if isinstance(names, str) else list(names)
    graph.names.update(zip(call.result, listed, strict=True))
    return failures


def _inside(graph: Graph, part: Part, given: Sequence[str], nodes: list[Any]) -> Graph:
    """A graph that adds to `nodes`, in which the inputs of a part have these names."""
    facts = graph.known.inner[id(part)] if isinstance(graph.known, Facts) else Facts()
    made = Graph(facts, graph.opset, {})
    made.nodes, made.constants = nodes, graph.constants
    made.share(graph)
    made.names.update({Ref("x", i): name for i, name in enumerate(given)})
    return made


def _inlined(graph: Graph, part: Part, given: Sequence[str], emit: Emit) -> tuple[list[str], list[str]]:
    """The names of what a part gives, whose nodes are put into this graph; and what cannot be said."""
    inside = _inside(graph, part, given, graph.nodes)
    failures = [failure for call in part.program.calls for failure in emit(inside, call)]
    return [inside.name(ref) for ref in part.program.result], failures


def _of_part(graph: Graph, part: Part, given: Sequence[str], emit: Emit) -> tuple[Any, list[str]]:
    """The GraphProto of a way of a branch."""
    inside = _inside(graph, part, given, [])
    found, failures = _inlined(_around(inside, graph), part, given, emit)
    outputs = [
        _output(inside, name, inside.known[ref].dtype)
        for name, ref in zip(found, part.program.result, strict=True)
    ]
    return library().helper.make_graph(inside.nodes, inside.fresh("way"), [], outputs), failures


def _body(graph: Graph, test: Part, body: Part, around: Sequence[str], emit: Emit) -> tuple[Any, list[str]]:
    """The GraphProto of a round: the next values of the variables, and whether there is another round."""
    helper = library().helper
    inside = _inside(graph, body, [], [])
    count, going_on = inside.fresh("round"), inside.fresh("again")
    kinds = library().TensorProto
    inputs = [
        helper.make_tensor_value_info(count, kinds.INT64, []),
        helper.make_tensor_value_info(going_on, kinds.BOOL, []),
    ]
    variables = []
    for i in range(len(body.program.result)):
        fact = inside.known[Ref("x", i)]
        variables.append(inside.fresh("variable"))
        inputs.append(helper.make_tensor_value_info(variables[-1], number_of(fact.dtype), list(fact.shape)))
    within = _around(inside, graph)
    found, failures = _inlined(within, body, [*variables, *around], emit)
    (again,), _ = _inlined(within, test, [*found, *around], emit)
    outputs = [_output(inside, _scalar(inside, again), torch.bool)]
    outputs += [_output(inside, name, inside.known[Ref("x", i)].dtype) for i, name in enumerate(found)]
    return helper.make_graph(inside.nodes, inside.fresh("rounds"), inputs, outputs), failures


def _around(inside: Graph, graph: Graph) -> Graph:
    """The graph of a part with the facts of the graph around it, which has those of its parts."""
    made = Graph(graph.known, graph.opset, {})
    made.nodes, made.constants = inside.nodes, inside.constants
    made.share(inside)
    return made


def _output(graph: Graph, name: str, dtype: torch.dtype) -> Any:
    """An output of a graph with its own name, as that of an input or of a value around it is no output."""
    made = graph.node("Identity", name)
    return library().helper.make_tensor_value_info(made, number_of(dtype), None)


def _scalar(graph: Graph, name: str) -> str:
    """A truth value of shape []."""
    flat = graph.node("Reshape", name, np.zeros([0], np.int64))
    return str(graph.node("Cast", flat, to=number_of(torch.bool)))
