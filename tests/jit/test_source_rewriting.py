"""Rewritten functions compute what the functions compute: with plain Python values, all of Python's rules."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from sampan.jit.record import reasons
from sampan.jit.source_rewriting import rewritten

SCALE = 3
_seen: list[Any] = []


def counted(n: int, step: int = 2, *, start: int = 1) -> Any:
    total = start
    while total < n and not total > 17:
        total += step * SCALE
        last = total
    for i, (a, b) in enumerate([(1, 2), (3, 4)]):
        total += a * b if i else -b
    return total, last, i


def unbound(n: int) -> int:
    while n > 5:
        n, left = n - 1, n
    return left


def nested(rows: list[list[int]]) -> Any:
    best = None
    for row in rows:
        for value in row:
            if best is None or value > best:
                best = value
            else:
                skipped = value
    squares = [v * v for v in rows[0] if v]
    return best, skipped, squares, sum(v for v in squares)


def left_alone(n: int) -> Any:
    found: list[Any] = []
    for i in range(n):
        if i == 2:
            continue
        found.append(i)
    else:
        found.append("end")
    while True:
        n -= 1
        if n < 0:
            break
    try:
        for i in range(3):
            if i > 1:
                raise ValueError(i)
    except ValueError as error:
        found.append(str(error))
    return found, n, i


def late(n: int) -> Any:
    total = 0

    def read() -> int:
        return total

    for i in range(n):
        total = read() + i
    return total


def chosen(flag: Any) -> Any:
    if flag:
        kind = "yes"
    elif flag is None:
        kind = "none"
    else:
        kind = "no"
    return kind, ("a" if flag else "b")


def changes(held: dict[str, int]) -> int:
    global SCALE
    for name in held:
        SCALE = SCALE + 0
        held[name] = held[name] + 1
    return SCALE


def recursive(n: int) -> int:
    total = 1
    if n > 1:
        total = n * recursive(n - 1)
    return total


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def outer(*args: Any) -> Any:
        count = 0
        for _ in args:
            count += 1
        return count, function(*args)

    return outer


@decorated
def with_decorator(n: int) -> int:
    k = 0
    while k < n:
        k += 4
    return k


class Base:
    __factor = 2

    def scaled(self, n: int) -> int:
        total = 0
        for _ in range(n):
            total = total + self.__factor
        return total


class Derived(Base):
    def scaled(self, n: int) -> int:
        more = 1
        while more < 4:
            more = more * 2
        return super().scaled(n) + more


def closure(factor: int) -> Callable[[int], int]:
    def inner(n: int) -> int:
        total = 0
        for i in range(n):
            total = total + i * factor
        return total

    return inner


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (counted, [((20,), {}), ((50, 1), {"start": 0})]),
        (nested, [(([[3, 1], [7, 2]],), {})]),
        (left_alone, [((5,), {})]),
        (late, [((5,), {})]),
        (chosen, [((1,), {}), ((0,), {}), ((None,), {})]),
        (recursive, [((5,), {})]),
        (with_decorator, [((6,), {})]),
        (Derived().scaled, [((3,), {})]),
        (closure(5), [((4,), {})]),
        (unbound, [((9,), {})]),
    ],
)
def test_what_is_rewritten_computes_the_same(function: Any, calls: Any) -> None:
    made = rewritten(function)
    assert made is not function and inspect.signature(made) == inspect.signature(function)
    for args, kwargs in calls:
        assert made(*args, **kwargs) == function(*args, **kwargs)


def test_errors_and_changes_are_pythons_own() -> None:
    with pytest.raises(UnboundLocalError, match="'left'"):
        rewritten(unbound)(3)
    held = {"a": 1}
    assert rewritten(changes)(held) == 3 and held == {"a": 2}
    with pytest.raises(TypeError, match="not supported between"):
        rewritten(counted)("x")


def test_lines_in_tracebacks_are_the_users() -> None:
    def fails(n: int) -> int:
        while n > 0:
            n = n + "a"  # type: ignore[operator]  # this is the error
        return n

    first = fails.__code__.co_firstlineno
    with pytest.raises(TypeError) as caught:
        rewritten(fails)(1)
    lines = [
        entry.lineno + 1 for entry in caught.traceback if str(entry.path).endswith("test_source_rewriting.py")
    ]
    assert lines[-2:] == [first + 1, first + 2]


def test_why_a_loop_stays_is_known_by_its_line() -> None:
    rewritten(left_alone)
    first = left_alone.__code__.co_firstlineno
    assert "`found.append(i)` is there for its effect" in reasons[f"test_source_rewriting.py:{first + 3}"]
    assert reasons[f"test_source_rewriting.py:{first + 14}"].endswith("it raises")


def test_what_is_not_the_users_or_has_no_source_stays() -> None:
    scope: dict[str, Any] = {}
    exec("def made(n):\n    while n > 3: n = n - 1\n    return n", scope)
    for function in (len, inspect.getsource, scope["made"], lambda n: n, functools.partial(int)):
        assert rewritten(function) is function

    def generator(n: int) -> Any:
        while n > 0:
            n = n - 1
            yield n

    assert list(rewritten(generator)(3)) == [2, 1, 0]
