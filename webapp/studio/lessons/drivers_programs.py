"""How notebook 11's functions are called: on values of their own, and through the library's Programs.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import sampan
from sampan.jit import InputSpec, arena, to_static
from sampan.jit.evaluation import run
from sampan.jit.passes import optimized
from sampan.jit.program import Program, Ref, refs
from sampan.jit.record import Outside
from sampan.jit.whole import recorded
from sampan.learn import slots
from sampan.learn.drivers import driver, parameter
from sampan.nn import functional as F


def _values(given: Any) -> Any:
    """Buffers as arrays, also those in lists."""
    if isinstance(given, torch.Tensor):
        return given.numpy()
    return [_values(part) for part in given] if isinstance(given, list) else given


@driver
def outcomes_compared(slot: slots.Slot, pairs: list[list[Any]]) -> Any:
    """For each pair of values 1 if the slot gives both one outcome, else 0: [pairs]."""
    same = []
    for pair in pairs:
        one, other = (slot.placed(_values(value)) for value in pair)
        known = {one: True}  # the library looks an outcome up in a dict, and a Program compares it by ==
        same.append(int(known.get(other, False) and one == other))
    return np.array(same)


@driver
def truth_kept(slot: slots.Slot) -> Any:
    """What the slot makes of True and of False."""
    return [slot.placed(True), slot.placed(False)]


@driver
def outcomes_kept(slot: slots.Slot, arrays: list[Any], number: float) -> Any:
    """1 for each array whose outcome is still that of the same numbers, after the array was overwritten."""
    kept = []
    for array in arrays:
        numbers, again = array.numpy().copy(), array.numpy().copy()
        before = slot.placed(numbers)
        numbers[...] = number
        kept.append(int(before == slot.placed(again)))
    return np.array(kept)


def _signed(x: Any) -> Any:
    return x + math.copysign(1.0, float(x[0]))


def _without_nan(x: Any) -> Any:
    return x * 2.0 if math.isnan(float(x.max())) else x


def _ordered(x: Any) -> Any:
    order = np.argsort(-x.numpy(), kind="stable")
    return x[sampan.to_tensor(order)]


def _counted(x: Any) -> Any:
    """A sum over a loop whose length is a value, of a list that is another one."""
    total = x * 0.0
    for number in x[: int(x[0])].tolist():
        total = total + number
    return total


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "signed": _signed,
    "without_nan": _without_nan,
    "ordered": _ordered,
    "counted": _counted,
}


@driver(answer=lambda *_: [("the number of recordings", "录制的个数"), ("the answers", "各次结果")])
def program_called(slot: slots.Slot, formula: str, inputs: Any) -> Any:
    """(how many Programs there are, answers [calls, n]) of a function of `to_static` that is called with the rows of inputs
    [calls, n]."""
    static = to_static(FORMULAS[formula])
    answers = [static(sampan.to_tensor(row)).numpy() for row in inputs.numpy()]
    return len(static.programs), np.stack(answers)


def _recorded(function: Callable[[Any], Any], x: Any) -> tuple[Program, dict[Ref, Any]]:
    """The Program of a function of one input like x, and the buffers that it reads from outside."""
    outside = Outside()
    with sampan.no_grad():
        program = recorded(function, [InputSpec.from_tensor(sampan.to_tensor(x))], outside).program
    frozen = {Ref("p", i): t.data for i, t in enumerate(outside.tensors)}
    return program, frozen | {Ref("k", i): b for i, b in enumerate(outside.buffers)}


LAYER = [("the weight", "权重"), ("the bias", "偏置")]


@driver(answer=lambda *_: LAYER)
def weights_folded(slot: slots.Slot, *given: Any) -> Any:
    """(weight, bias) of the slot."""
    return tuple(slot.placed(*given))


@driver(answer=lambda parameters, *_: [parameter(name) for name in parameters[:6]])
def folding_leaves(slot: slots.Slot, *given: Any) -> Any:
    """The six arrays that the slot got, after its call."""
    slot.placed(*given)
    return list(given[:6])


def _network(kind: str, arrays: dict[str, Any], epsilon: float) -> Callable[[Any], Any]:
    """A layer of a kind, without gradients, with batch normalisation and relu behind it."""
    given = {name: None if array is None else sampan.to_tensor(array) for name, array in arrays.items()}

    def network(x: Any) -> Any:
        weight, bias = given["weight"], given["bias"]
        groups = x.shape[1] // arrays["weight"].shape[1]
        if kind == "linear":
            h = F.linear(x, weight, bias)
        elif kind == "transposed":
            h = F.conv2d_transpose(x, weight, bias)
        else:
            h = F.conv2d(x, weight, bias, padding=1, groups=groups)
        norm = given["mean"], given["variance"], given["gamma"], given["beta"]
        return F.relu(F.batch_norm(h, *norm, training=False, epsilon=epsilon))

    return network


@driver(answer=lambda *_: [("the number of calls", "调用的个数"), ("the outputs", "各输出")])
def network_folded(slot: slots.Slot, kind: str, arrays: dict[str, Any], x: Any, epsilon: float) -> Any:
    """(how many calls are left, outputs) of a layer, batch normalisation and relu after the library's pass."""
    program, frozen = _recorded(_network(kind, arrays, epsilon), x)
    rewriting = optimized(program, frozen, ["fold_batch_norm"])
    values = run({**rewriting.frozen, Ref("x", 0): x}, rewriting.calls, [x])
    return len(rewriting.calls), values[rewriting.result]


def _columns(lives: Any) -> list[list[int]]:
    """Sizes, births and last uses of lives [values, 3] as lists."""
    columns: list[list[int]] = lives.numpy().astype(np.int64).T.tolist()
    return columns if columns else [[], [], []]


@driver
def values_placed(slot: slots.Slot, programs: list[Any]) -> Any:
    """The offsets that the slot finds for the values of each program: a list for each."""
    return [_plain(slot.placed(*_columns(lives))) for lives in programs]


def _plain(found: Any) -> Any:
    """Offsets as an array, where they are whole numbers."""
    if isinstance(found, list | tuple) and all(isinstance(at, int | np.integer) for at in found):
        return np.array(found, np.int64)
    return found


@driver(answer=lambda parameters, *_: [parameter(name) for name in parameters])
def placing_leaves(slot: slots.Slot, lives: Any) -> Any:
    """The three lists that the slot got, after its call."""
    columns = _columns(lives)
    slot.placed(*columns)
    return [np.array(column, np.int64) for column in columns]


@driver(
    answer=lambda *_: [("the outputs", "各输出"), ("whether it is smaller than no sharing", "是否小于不共用")]
)
def answers_in_arena(slot: slots.Slot, weights: list[Any], x: Any) -> Any:
    """(outputs [batch, out], 1 if the arena is smaller than all values together) of a residual network: the library moves
    each result to where the slot places it, and reads it there."""
    first, second, third, last = (sampan.to_tensor(w) for w in weights)

    def network(given: Any) -> Any:
        h = F.relu(F.conv2d(given, first, padding=1))
        h = F.relu(F.conv2d(h, second, padding=1) + h)
        h = F.max_pool2d(F.relu(F.conv2d(h, third, padding=1) + h), 2)
        return F.linear(h.flatten(1), last)

    program, frozen = _recorded(network, x)
    calls, outputs, given = program.calls, list(refs(program.result)), {**frozen, Ref("x", 0): x}
    found, height = arena.run_in_arena(calls, outputs, given, arena.offsets)
    together = sum(buffer.bytes for buffer in arena.lifetimes(calls, outputs, given))
    return found[0], int(height < together)
