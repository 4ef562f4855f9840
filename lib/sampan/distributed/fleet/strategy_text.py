"""A DistributedStrategy in the text format of protocol buffers (protobuf.dev, "Text Format Language")."""

from __future__ import annotations

import json
import re
from typing import Any

from ...engine.errors import InvalidArgument

# A string, a comment, one of the signs, or a word or number.
_TOKEN = re.compile(r'\s*(?:#[^\n]*|("(?:[^"\\]|\\.)*"|[{}:]|[^\s{}:"#]+))')


def written(settings: dict[str, Any], defaults: dict[str, Any], depth: int = 0) -> str:
    """What differs from the defaults, a line each. Settings inside are in braces, lists have many lines."""
    lines, before = [], "  " * depth
    for name, value in settings.items():
        if value == defaults[name]:
            continue
        if isinstance(value, dict):
            lines.append(f"{before}{name} {{\n{written(value, defaults[name], depth + 1)}{before}}}\n")
        else:
            lines += [
                f"{before}{name}: {_text(one)}\n" for one in (value if isinstance(value, list) else [value])
            ]
    return "".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    return json.dumps(value)  # `true`, 12, "a \"b\""


def read(text: str, defaults: dict[str, Any], called: str) -> dict[str, Any]:
    """The settings of such a text, which has the names of `defaults`.

    InvalidArgument, which names `called` and the line, for any other text.
    """
    words: list[tuple[int, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        if (found := _TOKEN.match(text, at)) is None:
            raise _wrong(text, at, called, "a name or a value")
        if found[1] is not None:
            words.append((found.start(1), found[1]))
        at = found.end()
    words.append((end, ""))
    words.reverse()

    def inside(known: dict[str, Any], closing: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while (word := words.pop())[1] != closing:
            at, name = word
            if name not in known:
                raise _wrong(text, at, called, f"a setting{' or a brace' if closing else ''}")
            usual, (at, sign) = known[name], words.pop()
            if isinstance(usual, dict):
                if sign == ":":
                    at, sign = words.pop()
                if sign != "{":
                    raise _wrong(text, at, called, "'{'")
                made[name] = inside(usual, "}")
            elif sign != ":":
                raise _wrong(text, at, called, "':'")
            else:
                at, value = words.pop()
                try:
                    one = json.loads(value)
                except ValueError:
                    raise _wrong(text, at, called, "true, false, a number or a text in quotes") from None
                if isinstance(usual, list):
                    one = [*made.get(name, []), one]
                elif isinstance(usual, float) and type(one) is int:
                    one = float(one)
                if type(one) is not type(usual):
                    raise _wrong(text, at, called, f"a value of type {type(usual).__name__}")
                made[name] = one
        return made

    return inside(defaults, "")


def _wrong(text: str, at: int, called: str, expected: str) -> InvalidArgument:
    line = text.count("\n", 0, at) + 1
    found = text[at:].split("\n", 1)[0][:40]
    return InvalidArgument(f"{called}: line {line}: expected {expected}, got {found!r}")
