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
from operator import is_
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import operators
from ..engine.tape import next_sequence
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..trace import calling_line
from .control_flow import Begun, record_choice, record_loop
from .function import plain_function
from .leaving import PREFIX, RESULT
from .program import leaves, mapped
from .record import Recorder, Refused, recorder_of_flow

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "no value"})()
_NUMBERS = (bool, int, float)
_UNROLLED = 16  # rounds of a loop over whole numbers that are recorded one by one, once a Tensor may end it
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


def truth(value: Any) -> Any:
    """The value of a test: a bool, or a Tensor of one that is recorded."""
    if _recorder(value) is None or value.data.numel() != 1:
        return bool(value)
    return operators["reshape"].call(value.astype("bool"), [])


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
    since = next_sequence()
    runs = [recorder.apart(way) for way in ways]
    found = [made for _, made in runs]
    ends = [_end(recorder, *part) for part in zip(*found, names, strict=True)]

    def tensors(way: Values) -> list[Any]:
        return [
            _as_tensor(leaf, end)
            for first, made in zip(ends, way, strict=True)
            for end, leaf in zip(leaves(first), _leaves_like(first, made), strict=True)
            if isinstance(end, _Variable)
        ]

    begun = [Begun(steps, since) for steps, _ in runs]
    made = iter(record_choice(recorder, test, [partial(tensors, way) for way in found], begun))
    return tuple(
        mapped(end, lambda leaf: next(made) if isinstance(leaf, _Variable) else leaf) for end in ends
    )


@dataclass(frozen=True)
class _Variable:
    """In place of a leaf that is a Tensor of a Program, of this dtype where a number becomes one, and of this
    shape where only one way gives it a value."""

    dtype: Any
    shape: tuple[int, ...] = ()


def _end(recorder: Recorder, one: Any, two: Any, name: str) -> Any:
    """What a name is behind a branch. Without a value on one way it has none, as behind a loop; outside of a
    loop or branch it is refused, as a Program for each way can tell."""
    missing = (one is MISSING) != (two is MISSING) and name != RESULT
    if missing and (recorder.depth_of_parts or name.startswith(PREFIX)):
        return MISSING
    return _joined(one, two, name)


def _joined(one: Any, two: Any, name: str) -> Any:
    """What a name is behind a branch, with a _Variable for each leaf that the ways decide."""
    if name == RESULT and (one is MISSING or two is MISSING):  # it is read after the other way alone
        return mapped(two if one is MISSING else one, _variable)
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
        f"{calling_line()}: {_said(name)} is {_kind(one)} after one way of the branch, "
        f"{_kind(two)} after the other"
    )


def _dtype_of(*numbers: Any) -> str:
    kinds = {type(number) for number in numbers}
    return "bool" if kinds == {bool} else "float32" if float in kinds else "int64"


def _like(leaf: Any, first: Tensor) -> Any:
    """A number that a round gives a variable, with the variable's dtype where that holds it."""
    if not isinstance(leaf, _NUMBERS):
        return leaf
    holds = (
        leaf.__class__ is bool
        if first.dtype == "bool"
        else not isinstance(leaf, float) or "float" in str(first.dtype)
    )
    return _tensor(leaf, first.dtype if holds else _dtype_of(leaf))


def _variable(leaf: Any) -> Any:
    return _Variable(leaf.dtype, tuple(leaf.shape)) if isinstance(leaf, Tensor) else leaf


def _as_tensor(leaf: Any, variable: _Variable) -> Tensor:
    if isinstance(leaf, Tensor):
        return leaf
    if leaf is MISSING:
        return Tensor(torch.zeros(variable.shape, dtype=as_dtype(variable.dtype)))
    return _tensor(leaf, variable.dtype)


def _tensor(number: Any, dtype: Any) -> Tensor:
    return Tensor(torch.full([], number, dtype=as_dtype(dtype)))


def _said(name: str) -> str:
    return "what is returned" if name == RESULT else f"{name!r}"


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


def each(
    iterated: Any, body: Callable[..., Values], given: Values, names: Sequence[str], stop: str = ""
) -> Values:
    """The values of the names after `for item in iterated: body`. stop: the name of the flag that ends it."""
    recorder = recorder_of_flow()
    flag = names.index(stop) if stop else None
    if recorder is not None and recorder.loops_over_rows and isinstance(iterated, Tensor) and iterated.ndim:
        rows: Tensor = iterated
        count = Numbers(_tensor(rows.shape[0], "int64"))
        return _counted(recorder, count, lambda i, *now: body(rows[i], *now), given, names, flag)
    if recorder is not None and isinstance(iterated, Numbers):
        return _counted(recorder, iterated, body, given, names, flag)
    for place, item in enumerate(iterated):
        decided = given[flag] if flag is not None else False
        if _recorder(decided) is None:
            if decided:
                break
            given = body(item, *given)
        elif recorder is not None and isinstance(iterated, range) and len(iterated) - place > _UNROLLED:
            left = Numbers(*(int(n) for n in (item, iterated.stop, iterated.step)))
            return _counted(recorder, left, body, given, names, flag)
        else:  # the round, unless a Tensor of an earlier one ends the loop
            round_ = partial(body, item, *given)
            given = choose(decided, partial(tuple, given), lambda *_, run=round_: run(), (), names)
    return given


def _counted(
    recorder: Recorder,
    range_: Numbers,
    body: Callable[..., Values],
    given: Values,
    names: Sequence[str],
    flag: int | None = None,
) -> Values:
    """A loop with a counter of its own. flag: the place of the value that ends it before."""

    def test(at: Any, *now: Any) -> Any:
        more = at < range_.stop if range_.step > 0 else at > range_.stop
        return more if flag is None else all_of(lambda: no(now[flag]), lambda: more)

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
        variables = [leaf for leaf in leaves(list(state)) if isinstance(leaf, Tensor)]
        first = [recorder.fresh(variable) for variable in variables]
        since = next_sequence()
        try:
            steps, after = recorder.apart(partial(body, *_with_tensors(state, [t for t, _ in first])))
        except UnboundLocalError as error:
            raise Refused(f"{line}: {error}; give it a value before the loop") from error
        now = tuple(_promoted(*part, line) for part in zip(state, after, names, strict=True))
        if _same_leaves(state, now):
            break
        state = now

    def next_ones(*_: Tensor) -> list[Any]:
        found = ((leaves(first), _leaves_like(first, made)) for first, made in zip(state, after, strict=True))
        pairs = [pair for one, other in found for pair in zip(one, other, strict=True)]
        return [_like(value, first) for first, value in pairs if isinstance(first, Tensor)]

    found = record_loop(
        recorder, lambda *t: test(*_with_tensors(state, t)), next_ones, variables, Begun(steps, since, first)
    )
    return _with_tensors(state, found)


def _with_tensors(state: Values, tensors: Sequence[Tensor]) -> Values:
    """Values with other Tensors."""
    order = iter(tensors)
    return tuple(
        mapped(part, lambda leaf: next(order) if isinstance(leaf, Tensor) else leaf) for part in state
    )


def _same_leaves(one: Values, other: Values) -> bool:
    """Whether two values have the same objects as leaves."""
    found, wanted = list(leaves(list(one))), list(leaves(list(other)))
    return len(found) == len(wanted) and all(map(is_, found, wanted))


def _leaves_like(first: Any, made: Any) -> Iterator[Any]:
    """The leaves of what has become of a value, as many as it had; MISSING for all where it has no value."""
    if first is MISSING:
        yield made
    elif made is MISSING:
        yield from (MISSING for _ in leaves(first))
    else:
        yield from leaves(made)


def _promoted(before: Any, after: Any, name: str, line: str) -> Any:
    """The value of a name before a loop, with Tensors for the numbers that a round changes."""
    if before is MISSING and name == RESULT:  # it is read where a round has given it a value alone
        return mapped(
            after, lambda leaf: _as_tensor(MISSING, _variable(leaf)) if isinstance(leaf, Tensor) else leaf
        )
    if before is MISSING or before is after:
        return before
    if isinstance(before, Tensor) and isinstance(after, (Tensor, *_NUMBERS)):
        return before
    if isinstance(before, _NUMBERS) and isinstance(after, Tensor):
        if after.ndim:
            raise Refused(
                f"{line}: {_said(name)} is a number before the loop, a Tensor of shape {[*after.shape]} "
                "after a round; begin with paddle.zeros or paddle.full of this shape"
            )
        return _tensor(before, after.dtype)
    if isinstance(before, _NUMBERS) and isinstance(after, _NUMBERS):
        same = type(before) is type(after) and before == after
        return before if same else _tensor(before, _dtype_of(before, after))
    if type(before) is type(after) and isinstance(before, (list, tuple)) and len(before) == len(after):
        return type(before)(_promoted(a, b, name, line) for a, b in zip(before, after, strict=True))
    if type(before) is type(after) and isinstance(before, dict) and list(before) == list(after):
        return {key: _promoted(before[key], after[key], name, line) for key in before}
    raise Refused(f"{line}: {_said(name)} is {_kind(before)} before the loop, {_kind(after)} after a round")


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
