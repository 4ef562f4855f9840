"""What the loops and branches of a rewritten function call (source_rewriting.py).

Where the function is recorded for a file and a Tensor decides, they are recorded as a Loop or Choose. In any
other case they run as Python's own statements do.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import operators
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..trace import calling_line
from .control_flow import record_choice, record_loop
from .function import plain_function
from .program import leaves, mapped
from .record import Recorder, Refused, recorder_of_flow

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "no value"})()
_NUMBERS = (bool, int, float)
Values = tuple[Any, ...]


def values(scope: dict[str, Any], names: Sequence[str]) -> Values:
    """The values of local names; MISSING for one that has none."""
    return tuple(scope.get(name, MISSING) for name in names)


def called(function: Any) -> Any:
    """What is called in place of a function: of the user's, the rewritten one."""
    from .source_rewriting import rewritten  # which needs this file

    return rewritten(plain_function(function)) if recorder_of_flow() is not None else function


def _recorder(value: Any) -> Recorder | None:
    """The Recorder that takes a decision by this value."""
    return recorder_of_flow() if isinstance(value, Tensor) else None


# --- truth values ---


def all_of(*parts: Callable[[], Any]) -> Any:
    """`and` of a test."""
    return _combined(parts, True, "logical_and")


def any_of(*parts: Callable[[], Any]) -> Any:
    """`or` of a test."""
    return _combined(parts, False, "logical_or")


def _combined(parts: Sequence[Callable[[], Any]], going_on: bool, operator: str) -> Any:
    found: Any = None
    for part in parts:
        value = part()
        if _recorder(value) is None:
            if bool(value) is not going_on:
                return value
        else:
            found = value if found is None else operators[operator].call(found, value)
    return going_on if found is None else found


def no(value: Any) -> Any:
    """`not` of a test."""
    return not value if _recorder(value) is None else operators["logical_not"].call(value)


def value(test: Any, this: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`this() if test else other()`."""
    return choose(test, lambda: (this(),), lambda: (other(),), (), ("the value",))[0]


# --- branches ---


def choose(
    test: Any,
    then: Callable[..., Values],
    otherwise: Callable[..., Values],
    given: Values,
    names: Sequence[str],
) -> Values:
    """The values of the names after `if test: ... else: ...`."""
    recorder = _recorder(test)
    if recorder is None or test.data.numel() != 1:
        return (then if test else otherwise)(*given)
    try:
        return _choice(recorder, test, [lambda: then(*given), lambda: otherwise(*given)], names)
    except Refused:  # a Program for each way, where there may be some
        if recorder.depth_of_parts:
            raise
    return (then if test else otherwise)(*given)


def _choice(
    recorder: Recorder, test: Tensor, ways: Sequence[Callable[[], Values]], names: Sequence[str]
) -> Values:
    trials = [recorder.trial(way) for way in ways]
    ends = [_joined(one, two, name) for one, two, name in zip(*trials, names, strict=True)]

    def tensors(way: Callable[[], Values]) -> list[Any]:
        found = zip(ends, map(list, map(leaves, way())), strict=True)
        return [
            _as_tensor(leaf, end)
            for end, parts in found
            for leaf, end in zip(parts, leaves(end), strict=True)
            if isinstance(end, _Variable)
        ]

    made = iter(record_choice(recorder, test, [lambda way=way: tensors(way) for way in ways]))
    return tuple(
        mapped(end, lambda leaf: next(made) if isinstance(leaf, _Variable) else leaf) for end in ends
    )


@dataclass(frozen=True)
class _Variable:
    """In place of a leaf that is a Tensor of a Program, of this dtype where a number becomes one."""

    dtype: Any


def _joined(one: Any, two: Any, name: str) -> Any:
    """What a name is behind a branch, with a _Variable for each leaf that the ways decide."""
    if isinstance(one, Tensor) or isinstance(two, Tensor):
        tensor, other = (one, two) if isinstance(one, Tensor) else (two, one)
        if isinstance(other, (Tensor, *_NUMBERS)):
            return _Variable(tensor.dtype)
    elif isinstance(one, _NUMBERS) and isinstance(two, _NUMBERS):
        return one if type(one) is type(two) and one == two else _Variable(_dtype_of(one, two))
    elif type(one) is type(two) and isinstance(one, (list, tuple)) and len(one) == len(two):
        return type(one)(_joined(a, b, name) for a, b in zip(one, two, strict=True))
    elif type(one) is type(two) and isinstance(one, dict) and list(one) == list(two):
        return {key: _joined(one[key], two[key], name) for key in one}
    elif one is two:
        return one
    raise Refused(
        f"{calling_line()}: {name!r} is {_kind(one)} after one way of the branch, "
        f"{_kind(two)} after the other"
    )


def _dtype_of(*numbers: Any) -> str:
    kinds = {type(number) for number in numbers}
    return "bool" if kinds == {bool} else "float32" if float in kinds else "int64"


def _as_tensor(leaf: Any, variable: _Variable) -> Tensor:
    if isinstance(leaf, Tensor):
        return leaf
    return _tensor(leaf, variable.dtype)


def _tensor(number: Any, dtype: Any) -> Tensor:
    return Tensor(torch.full([], number, dtype=as_dtype(dtype)))


def _kind(value: Any) -> str:
    return "without a value" if value is MISSING else f"{type(value).__name__}"


# --- loops ---


def repeat(
    test: Callable[..., Any], body: Callable[..., Values], given: Values, names: Sequence[str]
) -> Values:
    """The values of the names after `while test: body`."""
    while True:
        again = test(*given)
        recorder = _recorder(again)
        if recorder is not None:
            return _loop(recorder, test, body, given, names)
        if not again:
            return given
        given = body(*given)


class Numbers:
    """`range` of Tensors."""

    def __init__(self, start: Any, stop: Any = None, step: int = 1) -> None:
        self.start: Any = 0 if stop is None else start
        self.stop: Any = start if stop is None else stop
        self.step = step
        if not isinstance(step, int) or step == 0:
            raise Refused(f"{calling_line()}: range: expected a number other than 0 as step, got {step!r}")


def numbers(function: Any, *given: Any) -> Any:
    """`range(*given)` that a loop goes through."""
    of_tensors = function is builtins.range and any(_recorder(value) is not None for value in given)
    return Numbers(*given) if of_tensors else function(*given)


def each(iterated: Any, body: Callable[..., Values], given: Values, names: Sequence[str]) -> Values:
    """The values of the names after `for item in iterated: body`."""
    recorder = recorder_of_flow()
    if recorder is not None and recorder.loops_over_rows and isinstance(iterated, Tensor) and iterated.ndim:
        rows: Tensor = iterated
        count = Numbers(_tensor(rows.shape[0], "int64"))
        return _counted(recorder, count, lambda i, *now: body(rows[i], *now), given, names)
    if recorder is not None and isinstance(iterated, Numbers):
        return _counted(recorder, iterated, body, given, names)
    for item in iterated:
        given = body(item, *given)
    return given


def _counted(
    recorder: Recorder, range_: Numbers, body: Callable[..., Values], given: Values, names: Sequence[str]
) -> Values:
    """A loop with a counter of its own."""

    def test(at: Any, *now: Any) -> Any:
        return at < range_.stop if range_.step > 0 else at > range_.stop

    def turn(at: Any, *now: Any) -> Values:
        return (at + range_.step, *body(at, *now))

    first = range_.start if isinstance(range_.start, Tensor) else _tensor(range_.start, "int64")
    return _loop(recorder, test, turn, (first, *given), ("the counter", *names))[1:]


def _loop(
    recorder: Recorder,
    test: Callable[..., Any],
    body: Callable[..., Values],
    given: Values,
    names: Sequence[str],
) -> Values:
    """Record a Loop. Numbers that the body changes become Tensors; what has no value before the loop has none
    behind it."""
    line = calling_line()
    state = given  # with Tensors for the numbers that are known to change
    for _ in range(8):  # a number may change because of another one
        try:
            after = recorder.trial(partial(body, *_copies(recorder, state)))
        except UnboundLocalError as error:
            raise Refused(f"{line}: {error}; give it a value before the loop") from error
        now = tuple(_promoted(*part, line) for part in zip(state, after, names, strict=True))
        if all(one is other for one, other in zip(leaves(list(state)), leaves(list(now)), strict=True)):
            break
        state = now
    variables = [leaf for leaf in leaves(list(state)) if isinstance(leaf, Tensor)]

    def with_tensors(tensors: Sequence[Tensor]) -> Values:
        order = iter(tensors)
        return tuple(
            mapped(part, lambda leaf: next(order) if isinstance(leaf, Tensor) else leaf) for part in state
        )

    def next_ones(*tensors: Tensor) -> list[Any]:
        made = body(*with_tensors(tensors))
        pairs = zip(leaves(list(state)), _leaves_like(state, made), strict=True)
        return [value for first, value in pairs if isinstance(first, Tensor)]

    found = record_loop(recorder, lambda *tensors: test(*with_tensors(tensors)), next_ones, variables)
    return with_tensors(found)


def _copies(recorder: Recorder, state: Values) -> list[Any]:
    """Values with copies of the Tensors, which a trial may write to."""
    return [
        mapped(part, lambda leaf: recorder.fresh(leaf)[0] if isinstance(leaf, Tensor) else leaf)
        for part in state
    ]


def _leaves_like(state: Values, made: Values) -> Iterator[Any]:
    """The leaves of values; for a name without a value before the loop that alone."""
    for before, after in zip(state, made, strict=True):
        yield from [after] if before is MISSING else leaves(after)


def _promoted(before: Any, after: Any, name: str, line: str) -> Any:
    """The value of a name before a loop, with Tensors for the numbers that a round changes."""
    if before is MISSING or before is after:
        return before
    if isinstance(before, Tensor) and isinstance(after, (Tensor, *_NUMBERS)):
        return before
    if isinstance(before, _NUMBERS) and isinstance(after, Tensor):
        if after.ndim:
            raise Refused(
                f"{line}: {name!r} is a number before the loop, a Tensor of shape {[*after.shape]} after a "
                "round; begin with paddle.zeros or paddle.full of this shape"
            )
        return _tensor(before, after.dtype)
    if isinstance(before, _NUMBERS) and isinstance(after, _NUMBERS):
        same = type(before) is type(after) and before == after
        return before if same else _tensor(before, _dtype_of(before, after))
    if type(before) is type(after) and isinstance(before, (list, tuple)) and len(before) == len(after):
        return type(before)(_promoted(a, b, name, line) for a, b in zip(before, after, strict=True))
    if type(before) is type(after) and isinstance(before, dict) and list(before) == list(after):
        return {key: _promoted(before[key], after[key], name, line) for key in before}
    raise Refused(f"{line}: {name!r} is {_kind(before)} before the loop, {_kind(after)} after a round")


# --- layers ---


@contextmanager
def rewritten_layers(layers: Sequence[Layer]) -> Iterator[None]:
    """Within the block the layers of the user's classes run their rewritten forward."""
    from .source_rewriting import rewritten

    changed = []
    for layer in layers:
        own = vars(layer).get("forward")
        plain = plain_function(layer.forward)
        made = rewritten(plain)
        if made is not plain:
            object.__setattr__(layer, "forward", made)
            changed.append((layer, own))
    try:
        yield
    finally:
        for layer, own in changed:
            if own is None:
                object.__delattr__(layer, "forward")
            else:
                object.__setattr__(layer, "forward", own)
