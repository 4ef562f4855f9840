"""Small random programs with loops, branches and statements that leave them, as functions with a source."""

import linecache
from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import strategies as st

_numbers = count()
# a: what the program computes with, a Tensor [3] or a number; k: a whole number; log: a list of effects
_VALUES = ["a = a * 0.5 + 1", "a = a - k", "k = k + 1", "a = -a", "k = k * 2", "a = a + b", "b = a * 0.25"]
_TESTS = [
    "level(a) > 1",
    "level(a) < k",
    "k > 2",
    "level(b) > 0 and k < 3",
    "not level(a) > 0",
    "level(b) < 0 or k > 4",
]
_LEAVES = ["break", "continue", "return a, k", "return b, k"]


@st.composite
def bodies(draw: Any, depth: int, looped: bool, effects: bool) -> list[str]:
    """Lines of a block. looped: whether it is in a loop."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = [
            "value",
            "value",
            *(["if", "if", "for", "while"] if depth else []),
            *(["effect"] if effects else []),
        ]
        kind = draw(st.sampled_from([*kinds, "with", "try"] if effects and depth else kinds))
        inner = bodies(depth - 1, looped or kind in ("for", "while"), effects) if depth else st.nothing()
        if kind == "value":
            lines.append(draw(st.sampled_from(_VALUES)))
        elif kind == "effect":
            lines.append(f"log.append(({draw(st.integers(0, 9))}, k))")
        elif kind == "if":
            lines += [f"if {draw(st.sampled_from(_TESTS))}:", *_in(draw(inner))]
            if draw(st.booleans()):
                lines += ["else:", *_in(draw(inner))]
        elif kind in ("with", "try"):
            lines += ["with nullcontext():" if kind == "with" else "try:", *_in(draw(inner))]
            lines += ["finally:", "    log.append(k)"] if kind == "try" else []
        else:
            if kind == "for":
                over = draw(st.sampled_from(["range(3)", "range(n)", "(0.5, 2)", "range(1, n + 1, 2)"]))
                lines += [f"for i in {over}:", "    a = a + i"]
            else:
                turn = f"t{draw(st.integers(0, 99))}"
                lines += [
                    f"{turn} = 0",
                    f"while {turn} < 4 and ({draw(st.sampled_from(_TESTS))}):",
                    f"    {turn} += 1",
                ]
            lines += _in(draw(inner))
            if draw(st.integers(0, 3)) == 0:
                lines += ["else:", "    a = a * 3"]
    if draw(st.integers(0, 2)) == 0:
        lines.append(draw(st.sampled_from(_LEAVES if looped else _LEAVES[2:])))
    return lines


@st.composite
def programs(draw: Any, effects: bool) -> str:
    """The source of `program(a, n, log)`. effects: whether it appends to the list, in `try` and `with` too."""
    lines = ["k = 1", "b = a", *draw(bodies(3, False, effects)), "return a + b, k"]
    return "\n".join(["def program(a, n, log):", *_in(lines)]) + "\n"


def _in(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def function_of(text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function that a source defines, whose lines `inspect` finds."""
    file = f"<random program {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    held = dict(scope)
    exec(compile(text, file, "exec"), held)
    made: Callable[..., Any] = held["program"]
    return made
