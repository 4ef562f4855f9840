"""Rules of operators that work entry by entry, along axes, or that only rearrange.

A rule sees one axis of the mesh at a time. It is given how each input lies along it and answers with what the
operator can work with, and how the value then lies: see `dispatch`. `None` asks for replicated inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.tensor import Partial, Shard

from ...engine.apply import apply
from ...engine.operator import operators
from ...engine.tensor import Tensor
from .dispatch import Call, Plan, rule
from .transfer import REPLICATE, local_part, placed, replicated

ENTRYWISE = (
    *(
        "relu",
        "celu",
        "elu",
        "hardshrink",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "leaky_relu",
        "log_sigmoid",
    ),
    *("mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "swish", "tanhshrink", "gelu"),
    *(
        "thresholded_relu",
        "parametric_relu",
        "select",
        "real",
        "imag",
        "conj",
        "angle",
        "sgn",
        "complex",
        "polar",
    ),
    *("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal", "logical_and"),
    *(
        "logical_or",
        "logical_xor",
        "logical_not",
        "isnan",
        "isinf",
        "isfinite",
        "isposinf",
        "isneginf",
        "isreal",
    ),
    *("gcd", "lcm", "nextafter", "signbit", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
    *("bitwise_left_shift", "bitwise_right_shift", "isclose", "i0", "i0e", "i1", "i1e", "gammaincc", "logit"),
    *("cast", "assign", "copy_to", "full_like_of", "masked"),
    *(n for n, each in operators.items() if each.body.__module__.endswith(".elementwise") and n != "summed"),
)
# Linear in its only tensor, so that terms of a sum may go through.
LINEAR = {"neg", "assign", "copy_to", "real", "imag", "conj", "deg2rad", "rad2deg"}


@rule(*ENTRYWISE, "summed")
def entrywise(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Broadcast inputs are cut along the same axis of the value; one of length 1 there is replicated."""
    terms = [place for place, lie in lies.items() if lie.is_partial()]
    if terms and all(lies[place].is_partial("sum") for place in terms):
        name, others = call.operator.name, len(lies) - len(terms)
        numbers = [v for i, v in enumerate(call.args) if i not in lies and isinstance(v, int | float)]
        adds = name in ("add", "subtract", "summed") and not others and not numbers
        scales = (name == "multiply" and len(terms) == 1) or (name == "divide" and terms == [0])
        scales = scales and all(lie.is_replicate() for place, lie in lies.items() if place not in terms)
        if adds or scales or (name in LINEAR and not others):
            return Plan(lies, Partial())
    ndim = max(len(call.shapes[place]) for place in lies)
    cut = None
    for place in sorted(lies, key=lambda place: -math.prod(call.shapes[place])):
        if lies[place].is_shard():
            cut = lies[place].dim + ndim - len(call.shapes[place])
            if call.shapes[place][lies[place].dim] > 1:
                break
    if cut is None:
        return None
    inputs = {}
    for place, shape in call.shapes.items():
        own = cut - (ndim - len(shape))
        inputs[place] = Shard(own) if own >= 0 and shape[own] > 1 else REPLICATE
    return Plan(inputs, Shard(cut)) if any(lie.is_shard() for lie in inputs.values()) else None


def _axis_parameter(call: Call) -> str:
    """The name of the parameter that has the axes of an operator."""
    return next(name for name in ("axis", "axes", "dim") if name in call.operator.parameters)


def _axes(call: Call, name: str, ndim: int) -> list[int]:
    """The axes that an argument names, counted from the front; all of them for None."""
    given = call.given(name)
    if given is None or (isinstance(given, list | tuple) and not given):
        return list(range(ndim))
    if isinstance(given, Tensor | torch.Tensor):
        given = given.tolist()
    listed = given if isinstance(given, list | tuple) else [given]
    return [int(axis) % max(ndim, 1) for axis in listed]


def _cut(lies: dict[int, Any]) -> int | None:
    """The axis along which the first input is cut, None where it is not."""
    first = next(iter(lies.values()))
    return first.dim if first.is_shard() else None


@rule(
    "softmax", "log_softmax", "flip", "cumsum", "logcumsumexp", "argsort", "sort", "cummax", "cummin", "topk"
)
def along(call: Call, lies: dict[int, Any]) -> Plan | None:
    """What works along `axis` is cut along any other."""
    cut, ndim = _cut(lies), len(call.shapes[0])
    axis = call.given("axis")
    if cut is None or (axis is None and call.operator.name != "flip"):
        return None
    return None if cut in _axes(call, "axis", ndim) or len(lies) > 1 else Plan(lies, Shard(cut))


@rule(
    "cumprod", "glu", "roll", "prod_along", "split_view", "split_sizes", "slices", "unstacked", "neighbours"
)
def along_one(call: Call, lies: dict[int, Any]) -> Plan | None:
    """The same for one axis, which `slices`, `unstacked` and `prod_along` take away."""
    cut, ndim, name = _cut(lies), len(call.shapes[0]), call.operator.name
    parameter = _axis_parameter(call)
    if cut is None or call.given(parameter) is None:
        return None
    axes = _axes(call, parameter, ndim)
    if cut in axes or len(lies) > 1:
        return None
    gone = name in ("slices", "unstacked", "prod_along") and axes[0] < cut
    return Plan(lies, Shard(cut - 1 if gone else cut))


def _reduced(call: Call, cut: int, axes: Sequence[int]) -> int:
    return cut if call.given("keepdim") else cut - sum(axis < cut for axis in axes)


@rule("max", "min", "amax", "amin", "var", "logsumexp", "all", "any", "argmax", "argmin", "kthvalue", "mode")
@rule("nansum", "count_nonzero", "p_norm")
def reduction(call: Call, lies: dict[int, Any]) -> Plan | None:
    """A reduction of other axes than the one that is cut."""
    cut, ndim = _cut(lies), len(call.shapes[0])
    if cut is None or len(lies) > 1:
        return None
    axes = _axes(call, _axis_parameter(call), ndim)
    return None if cut in axes else Plan(lies, Shard(_reduced(call, cut, axes)))


@rule("sum", "mean")
def total(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Of an axis that is cut each process has a term; of a mean only where the parts have equal lengths."""
    first = lies[0]
    if len(lies) > 1:
        return None
    if first.is_partial():
        return Plan(lies, first) if first.is_partial("sum") else None
    ndim, shape = len(call.shapes[0]), call.shapes[0]
    axes, mean = _axes(call, "axis", ndim), call.operator.name == "mean"
    if first.dim not in axes:
        return Plan(lies, Shard(_reduced(call, first.dim, axes)))
    if not mean:
        return Plan(lies, Partial())
    return (
        Plan(lies, Partial("avg")) if shape[first.dim] % call.mesh.size() == 0 and shape[first.dim] else None
    )


# --- rearranging ---


def _local_turn(call: Call, parts: list[Any]) -> Any:
    """A part of length 1 of a longer axis is not squeezed."""
    if call.operator.name == "squeeze" and not isinstance(call.given("axis"), torch.Tensor):
        shape = call.shapes[0]
        given = _axes(call, "axis", len(shape))
        return apply(
            call.operator, (parts[0], [axis for axis in given if shape[axis] == 1] or torch.tensor([])), {}
        )
    return apply(call.operator, tuple(parts), call.settings)


@rule("permute", "swapaxes", "moveaxis", "squeeze", "unsqueeze", run=_local_turn)
def turned(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Where each axis goes is read off an array whose axes have different lengths. Terms go through."""
    if len(lies) == 1 and lies[0].is_partial("sum"):
        return Plan(lies, Partial())
    cut, shape = _cut(lies), call.shapes[0]
    if cut is None or shape[cut] == 1:
        return None
    marks = [1 if n == 1 else 2 for n in shape]
    marks[cut] = 3
    parts = [torch.empty(marks), *call.args[1:]]
    value = apply(call.operator, tuple(parts), call.settings)
    place = list(value.shape).index(3)
    return Plan(lies, Shard(place))


def _local_reshape(call: Call, parts: list[Any]) -> Any:
    if not any(plan.outputs.is_shard() for plan in call.plans):
        return apply(call.operator, tuple(parts), call.settings)
    target = _target(call)
    for plan in call.plans:
        if plan.outputs.is_shard():
            before, after = plan.inputs[0].dim, plan.outputs.dim
            mine, all_ = parts[0].data.shape[before], call.shapes[0][before]
            target[after] = _target(call)[after] * mine // all_
    return apply(call.operator, (parts[0], target), {})


def _target(call: Call) -> list[int]:
    """The shape that `reshape` is asked for, with numbers for -1 and 0."""
    given, shape = call.args[1], call.shapes[0]
    if isinstance(given, Tensor | torch.Tensor):
        given = given.tolist()
    target = [int(n) for n in ([given] if isinstance(given, int) else given)]
    target = [shape[i] if n == 0 else n for i, n in enumerate(target)]
    if -1 in target:
        target[target.index(-1)] = math.prod(shape) // max(1, -math.prod(target))
    return target


@rule("reshape", run=_local_reshape)
def reshaped(call: Call, lies: dict[int, Any]) -> Plan | None:
    """The axis that is cut must begin an axis of the result, and both must divide by the parts. Terms go
    through."""
    if len(lies) == 1 and lies[0].is_partial("sum"):
        return Plan(lies, Partial())
    cut, shape = _cut(lies), call.shapes[0]
    if cut is None or len(lies) > 1 or math.prod(shape) == 0:
        return None
    target, before = _target(call), math.prod(shape[:cut])
    ways = call.mesh.size()
    for axis, length in enumerate(target):
        if length > 1 and math.prod(target[:axis]) == before:
            even = length % ways == 0 and shape[cut] % ways == 0
            return Plan(lies, Shard(axis)) if length == shape[cut] or even else None
    return None


def _local_expand(call: Call, parts: list[Any]) -> Any:
    if not any(plan.outputs.is_shard() for plan in call.plans):
        return apply(call.operator, tuple(parts), call.settings)
    target = _expanded(call)
    for plan in call.plans:
        if plan.outputs.is_shard():
            target[plan.outputs.dim] = parts[0].data.shape[plan.inputs[0].dim]
    return apply(call.operator, (parts[0], target), {})


def _expanded(call: Call) -> list[int]:
    given, shape = call.args[1], call.shapes[0]
    target = [int(n) for n in (given.tolist() if isinstance(given, Tensor | torch.Tensor) else given)]
    extra = len(target) - len(shape)
    return [shape[i - extra] if n == -1 else n for i, n in enumerate(target)]


@rule("expand", "expand_view", run=_local_expand)
def expanded(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Cut along an axis that is not repeated."""
    cut, shape = _cut(lies), call.shapes[0]
    if cut is None or shape[cut] == 1 or len(lies) > 1:
        return None
    return Plan(lies, Shard(cut + len(_expanded(call)) - len(shape)))


@rule("pad_constant")
def padded(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Cut along an axis that is not padded; widths are torch's pairs, from the last axis on."""
    cut, widths = _cut(lies), call.given("widths")
    if cut is None or len(lies) > 1:
        return None
    pair = 2 * (len(call.shapes[0]) - 1 - cut)
    return None if any(widths[pair : pair + 2]) else Plan(lies, Shard(cut))


@rule("tril", "triu")
def triangle(call: Call, lies: dict[int, Any]) -> Plan | None:
    """A triangle of the last two axes of each matrix."""
    cut = _cut(lies)
    return Plan(lies, Shard(cut)) if cut is not None and cut < len(call.shapes[0]) - 2 else None


@rule("concat_tensors", "stack_tensors")
def joined(call: Call, lies: dict[int, Any]) -> Plan | None:
    """All inputs are cut along one axis that is not the joint, or all are terms."""
    if all(lie.is_partial("sum") for lie in lies.values()):
        return Plan(lies, Partial())
    stacked = call.operator.name == "stack_tensors"
    ndim = len(call.shapes[0])
    axis = call.settings.get("axis", 0) % (ndim + stacked)
    cuts = [lie.dim for lie in lies.values() if lie.is_shard()]
    if not cuts or (not stacked and cuts[0] == axis):
        return None
    output = cuts[0] + 1 if stacked and axis <= cuts[0] else cuts[0]
    return Plan(dict.fromkeys(lies, Shard(cuts[0])), Shard(output))


@rule("getitem")
def indexed(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Ints, slices, None and `...` that take the axis that is cut as a whole."""
    cut, shape = _cut(lies), call.shapes[0]
    index = call.given("index")
    parts = list(index) if isinstance(index, tuple) else [index]
    if cut is None or len(lies) > 1 or any(not _plain(part) for part in parts):
        return None
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    place = parts.index(Ellipsis)
    parts[place : place + 1] = [slice(None)] * (len(shape) - used)
    axis, result = 0, 0
    for part in parts:
        if part is None:
            result += 1
            continue
        if axis == cut:
            return Plan(lies, Shard(result)) if part == slice(None) else None
        axis += 1
        result += isinstance(part, slice)
    return None


def _plain(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice) or type(part) is int


@rule("index_select")
def gathered(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Entries along an axis that is not cut."""
    cut, axis = _cut(lies), call.given("axis") % max(len(call.shapes[0]), 1)
    if cut is None or cut == axis or len(lies) != 2:
        return None
    return Plan({0: Shard(cut), 1: REPLICATE}, Shard(cut))


def _local_picks(call: Call, parts: list[Any]) -> Any:
    """Of places in a buffer this process takes its part; a Tensor of them is cut already."""
    places = parts[1]
    if not isinstance(places, Tensor):
        places = local_part(placed(replicated(places, call.mesh), [plan.outputs for plan in call.plans]))
    return apply(call.operator, (parts[0], places, *parts[2:]), call.settings)


@rule("picked_along", run=_local_picks)
def picked(call: Call, lies: dict[int, Any]) -> Plan | None:
    """The places are cut like the input."""
    cut, axis = _cut(lies), call.given("axis") % max(len(call.shapes[0]), 1)
    if cut is None or cut == axis or call.args[1].shape[cut] != call.shapes[0][cut]:
        return None
    return Plan(dict.fromkeys(lies, Shard(cut)), Shard(cut))


@rule("one_hot", "below", "to_one_hot")
def widened(call: Call, lies: dict[int, Any]) -> Plan | None:
    """A new axis behind those that are there."""
    cut = _cut(lies)
    if cut is None or len(lies) > 1 or call.operator.name == "to_one_hot":
        return None
    return Plan(lies, Shard(cut))
