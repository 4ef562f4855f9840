"""The one place that says how an operator runs on distributed tensors.

A rule (see `rules`) gives the placements that an operator can work with and those of its value. The inputs
take them, the operator runs on the local parts, and its value gets its own: the kernels see plain memory
only. An operator without a rule gets its inputs replicated, which is right for every function of its inputs.
The others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, NamedTuple

from ...engine.apply import apply, observers
from ...engine.errors import InvalidArgument
from ...engine.operator import Operator
from ...engine.tensor import Tensor
from .placements import from_torch
from .transfer import REPLICATE, DTensor, from_local, is_distributed, is_outside, to_local, whole


class Call:
    """A call of an operator with distributed tensors.

    args: its arguments, which are the local parts while it runs. tensors: the places of the Tensors among
    them. shapes: of these, globally. plans: what was decided, for each axis of the mesh.
    """

    plans: list[Plan]

    def __init__(self, operator: Operator, args: Sequence[Any], settings: dict[str, Any], mesh: Any) -> None:
        self.operator, self.settings, self.mesh = operator, settings, mesh
        self.args = list(args)
        self.tensors = [place for place, value in enumerate(args) if isinstance(value, Tensor)]
        self.shapes = {place: tuple(args[place].data.shape) for place in self.tensors}

    def given(self, name: str) -> Any:
        """The argument for a parameter, or its default."""
        operator = self.operator
        place = (
            -1
            if operator.variadic
            else operator.parameters.index(name)
            if name in operator.parameters
            else -1
        )
        if 0 <= place < len(self.args):
            return self.args[place]
        return self.settings.get(name, operator.defaults.get(name))

    def replace(self, name: str, value: Any) -> None:
        """Give another argument for a parameter."""
        place = self.operator.parameters.index(name)
        if place < len(self.args):
            self.args[place] = value
        else:
            self.settings = {**self.settings, name: value}


class Plan(NamedTuple):
    """A rule's answer for one axis of the mesh: a placement of each Tensor by its place, and of the value.

    A tuple gives one for each of several values.
    """

    inputs: dict[int, Any]
    outputs: Any


class Rule(NamedTuple):
    """plan(call, placements by place): a Plan, or None where the inputs must be replicated.

    run(call, local arguments): what runs on the local parts in the operator's place; call.plans has the
    Plan of each axis of the mesh.
    """

    plan: Callable[[Call, dict[int, Any]], Plan | None]
    run: Callable[[Call, list[Any]], Any] | None = None


rules: dict[str, Rule] = {}
# Operators whose value is not a function of their inputs, by name: what to do instead.
refused: dict[str, str] = {}
# How often operators with a rule ran, ran replicated: by name, for tests and for the question what is slow.
counts: dict[str, dict[str, int]] = {"rule": {}, "replicated": {}}


def rule(*names: str, run: Callable[[Call, list[Any]], Any] | None = None) -> Callable[[Any], Any]:
    """Declare the rule of operators by their names."""

    def declare(plan: Callable[[Call, dict[int, Any]], Plan | None]) -> Any:
        for name in names:
            rules[name] = Rule(plan, run)
        return plan

    return declare


def _unwrapped(value: Any) -> Any:
    """Lists and indices with whole tensors in place of distributed ones."""
    if isinstance(value, tuple | list):
        return type(value)(_unwrapped(part) for part in value)
    if is_distributed(value):
        return whole(value)
    return whole(Tensor(value)).data if isinstance(value, DTensor) else value


class _Dispatch:
    """The observer of a thread that has distributed tensors: see `engine.apply.observers`."""

    def call(self, operator: Operator, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """The value of a call with distributed tensors; None for any other call."""
        for value in args:
            if is_distributed(value):
                return distributed_call(operator, args, settings, value.data.device_mesh)
        if _holds([*args, *settings.values()]):
            given = {key: _unwrapped(value) for key, value in settings.items()}
            return apply(operator, tuple(map(_unwrapped, args)), given)
        return None


def _holds(values: Any) -> bool:
    return any(
        is_distributed(v) or isinstance(v, DTensor) or (isinstance(v, tuple | list) and _holds(v))
        for v in values
    )


_dispatch = _Dispatch()


def watch() -> None:
    """From now on this thread's operators accept distributed tensors."""
    own = observers.setdefault(get_ident(), [])
    if _dispatch not in own:
        own.insert(0, _dispatch)


def distributed_call(operator: Operator, args: Sequence[Any], settings: dict[str, Any], mesh: Any) -> Any:
    """Run an operator on distributed tensors; plain Tensors beside them count as replicated."""
    listed = [v if isinstance(v, Tensor) else _unwrapped(v) for v in args]
    call = Call(operator, listed, {k: _unwrapped(v) for k, v in settings.items()}, mesh)
    lies = {place: _lies(call, place) for place in call.tensors}
    known = rules.get(operator.name)
    if known is None and operator.name in refused:
        raise InvalidArgument(
            f"{operator.name}: a tensor with placements {from_torch(lies[call.tensors[0]])} is not "
            f"supported: {refused[operator.name]}"
        )
    plans = [_plan(known, call, {place: lies[place][axis] for place in lies}) for axis in range(mesh.ndim)]
    kind = "rule" if known is not None and None not in plans else "replicated"
    counts[kind][operator.name] = counts[kind].get(operator.name, 0) + 1
    settled = [Plan(dict.fromkeys(call.tensors, REPLICATE), REPLICATE) if p is None else p for p in plans]
    varies = [any(not p.is_replicate() for p in plan.inputs.values()) for plan in settled]
    for place in call.tensors:
        wanted = [plan.inputs[place] for plan in settled]
        call.args[place] = to_local(listed[place], mesh, wanted, varies)
    locals_ = list(call.args)
    call.plans = settled
    run = known.run if known is not None and not is_outside(mesh) else None
    value = run(call, locals_) if run else apply(operator, tuple(locals_), call.settings)
    return _assembled(call, settled, locals_, value)


def _lies(call: Call, place: int) -> Sequence[Any]:
    buffer = call.args[place].data
    if not isinstance(buffer, DTensor):
        return [REPLICATE] * call.mesh.ndim
    if buffer.device_mesh != call.mesh:
        raise InvalidArgument(
            f"{call.operator.name}: its tensors are on different meshes, {buffer.device_mesh} and "
            f"{call.mesh}; bring one to the mesh of the other with reshard"
        )
    return tuple(buffer.placements)


def _plan(known: Rule | None, call: Call, lies: dict[int, Any]) -> Plan | None:
    if all(placement.is_replicate() for placement in lies.values()):
        return Plan(lies, REPLICATE)
    return None if known is None else known.plan(call, lies)


def _assembled(call: Call, plans: list[Plan], parts: list[Any], value: Any) -> Any:
    """Distributed tensors for what an operator gave on local parts; anything else is passed on."""
    if isinstance(value, tuple | list):
        each = [
            _assembled(
                call,
                [Plan(p.inputs, p.outputs[i] if isinstance(p.outputs, tuple) else p.outputs) for p in plans],
                parts,
                part,
            )
            for i, part in enumerate(value)
        ]
        return type(value)(each)
    if not isinstance(value, Tensor):
        return value
    shape = list(value.data.shape)
    for plan in plans:
        if plan.outputs.is_shard():
            shape[plan.outputs.dim] = _length(call, plan, parts, value.data.shape[plan.outputs.dim])
    return from_local(value, call.mesh, [plan.outputs for plan in plans], shape)


def _length(call: Call, plan: Plan, parts: list[Any], local: int) -> int:
    """The global length of an axis whose part here is `local`: as that of the sharded input grows."""
    for place, placement in plan.inputs.items():
        if placement.is_shard():
            mine = parts[place].data.shape[placement.dim]
            if mine:
                return local * call.shapes[place][placement.dim] // mine
    for place, placement in plan.inputs.items():
        if placement.is_shard():
            return call.shapes[place][placement.dim]
    raise RuntimeError(f"{call.operator.name}: its rule cuts the value but none of its inputs")
