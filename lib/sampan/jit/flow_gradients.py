"""Gradients of loops and branches in a Program.

Each round of a loop keeps what the derivatives of its body read. The derivatives are generated once, from the
tape of the recorded round (gradients.py), and run for the rounds from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from ..engine.operator import recorded_by_hand
from ..engine.tape import Node
from ..engine.tensor import Tensor
from .gradients import NotDerived, added, pullback_of
from .program import Call, Ref
from .record import Recorder

_OPERATOR = recorded_by_hand("loop or branch")


class Pull(NamedTuple):
    """The derivatives of one Part.

    outputs: places of its results that have a gradient. function: of (their gradients, what was kept), the
    gradients of the edges. places: where these are among the edges of the whole Call, without the variables.
    kept: what a run of the Part keeps for it.
    """

    outputs: tuple[int, ...]
    function: Callable[..., Any]
    places: tuple[int, ...]
    kept: tuple[Ref, ...]


class Derivation(NamedTuple):
    """The derivatives of a loop or branch.

    pulls: those of the Parts that make results. live: places of the results that depend on what has a
    gradient. carried: the same of the variables of a loop, () for a branch. edges: what is on the tape before
    the Call: that of each carried variable, or None, then what the Parts read.
    """

    pulls: tuple[Pull, ...]
    live: tuple[int, ...]
    carried: tuple[int, ...]
    edges: tuple[Any, ...]


class Rounds:
    """What a run of a loop or branch keeps: of each round which of the pulls it has, and its values."""

    def __init__(
        self, derivation: Derivation, results: int, kept: Sequence[tuple[int, Sequence[Any]]] = ()
    ) -> None:
        self.derivation, self.results, self.kept = derivation, results, kept

    def __call__(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the edges from those of the results."""
        pulls, _, carried, edges = self.derivation
        others: list[Any] = [None] * (len(edges) - len(carried))
        now = list(gradients)
        for number, kept in reversed(self.kept):
            pull = pulls[number]
            found = pull.function(tuple(now[place] for place in pull.outputs), list(kept))
            if carried:
                now = [None] * self.results
            for place, part in zip(carried, found, strict=False):
                now[place] = part
            for place, part in zip(pull.places, found[len(carried) :], strict=False):
                others[place] = added(others[place], part)
        return (*(now[place] for place in carried), *others)


def derivation_of(
    recorder: Recorder,
    results: Sequence[Sequence[Tensor]],
    since: int,
    steps: Sequence[Call],
    given: Sequence[Tensor] | None = None,
    variables: Sequence[Tensor] = (),
) -> Derivation | None:
    """The derivatives of a loop or branch from its recorded round; None where nothing in it has any.

    results: those of each Part, which has been recorded since that number of the tape. given, variables: what
    a loop's body got, and the values before the loop.

    Raises NotDerived where it writes to memory: a later round could overwrite what an earlier one keeps.
    """
    if not torch.is_grad_enabled():
        return None
    ends = [_ends(tensor, since) for part in results for tensor in part]
    own = {id(t.node): place for place, t in enumerate(given or ()) if t.node is not None}
    live = {place for place, v in enumerate(variables) if place in own.values() and not v.stop_gradient}
    count = len(results[0])
    for _ in ends:  # a value is live because of another one that is
        live |= {
            at % count
            for at, found in enumerate(ends)
            if any(own.get(k, -1) in live or k not in own for k in found)
        }
    if not live:
        return None
    if any(call.writes for call in steps):
        line = next(call.line for call in steps if call.writes)
        raise NotDerived(f"{line}: a loop or branch with gradients writes to memory")
    carried = () if given is None else tuple(sorted(live))
    outer = {k: edge for found in ends for k, edge in found.items() if k not in own}
    inner = [] if given is None else [given[place].node for place in carried]
    pulls = []
    for tensors in results:
        outputs = tuple(place for place in sorted(live) if not tensors[place].stop_gradient)
        dead = [tensor.node for place, tensor in enumerate(given or ()) if tensor.node and place not in live]
        edges = [*inner, *outer.values(), *dead]
        known = [(Ref("x", place), edge) for place, edge in enumerate(edges)]
        made = pullback_of([tensors[place] for place in outputs], known, recorder)
        pulls.append(Pull(outputs, made.source.compiled("gradients"), tuple(range(len(outer))), made.kept))
    before = [
        None if variables[place].stop_gradient else variables[place].node or variables[place]
        for place in carried
    ]
    return Derivation(tuple(pulls), tuple(sorted(live)), carried, (*before, *outer.values()))


def _ends(tensor: Tensor, since: int) -> dict[int, Any]:
    """What was on the tape before, and leads to a value: by its id, a Node or a leaf."""
    found: dict[int, Any] = {}
    if tensor.stop_gradient:
        return found
    left, seen = [tensor.node or tensor], set[int]()
    while left:
        edge = left.pop()
        if id(edge) in seen:
            continue
        seen.add(id(edge))
        if type(edge) is Node and edge.sequence > since:
            left += [inner for inner in edge.edges if inner is not None]
        else:
            found[id(edge)] = edge
    return found


def put_on_tape(recorder: Recorder, call: Call, derivation: Derivation, results: Sequence[Tensor]) -> None:
    """The results of a recorded Call on the tape: those that are live. The others are not."""
    saved = Rounds(derivation, len(results))
    call.saved = recorder.saved_ref(saved)
    node = Node(_OPERATOR, list(derivation.edges), {"saved": saved})
    node.outputs = [(t.data.shape, t.data.dtype, t.data.device) for t in results]
    for place, tensor in enumerate(results):
        if place in derivation.live:
            tensor.node, tensor.stop_gradient = node.output(place), False
