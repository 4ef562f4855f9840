"""The library's docstrings as reStructuredText.

They are plain text: `code` in backticks, lists with dashes, `>>>` examples, blocks after `::`, and paragraphs that name
parameters, "axis: the axis. keepdim: whether it stays." Whatever else reStructuredText would read as markup is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

Link = Callable[[str], str]  # the full name of what a text in backticks names, or ""

_CODE = re.compile(r"(``[^`]+``|`[^`]+`|\*\*[^*\s][^*]*\*\*)")
_MARKUP = re.compile(r"([\\*_|`])")
_ENDS = re.compile(r"(?<=\.) (?=(?:Raises|Returns) )")  # a paragraph of its own after the parameters
_ITEM = re.compile(r"- ")


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def to_rst(text: str, parameters: Collection[str] = (), link: Link = lambda name: "") -> list[str]:
    """The lines of a docstring without its indentation, as reStructuredText."""
    lines: list[str] = []
    literal = False  # after `::`
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        given = block.split("\n")
        indent = len(given[0]) - len(given[0].lstrip())
        if given[0].lstrip().startswith(">>>"):
            lines += [line[indent:] for line in given]
        elif (indent >= 4 and not _ITEM.match(given[0].lstrip())) or (literal and indent):
            lines += [*([] if literal else ["::", ""]), *(f"    {line[min(indent, 4) :]}" for line in given)]
        else:
            lines += _prose([line.strip() for line in given], parameters, link)
        literal = (literal and bool(indent)) or block.rstrip().endswith("::")
        lines.append("")
    return lines


def _prose(given: list[str], parameters: Collection[str], link: Link) -> list[str]:
    """A paragraph, the items of a list, or both."""
    parts: list[list[str]] = [[]]
    for line in given:
        if _ITEM.match(line):
            parts.append([])
        parts[-1].append(line)
    lines: list[str] = []
    for part in _ENDS.split(" ".join(parts[0])):
        lines += [*([""] if lines else []), *_paragraph(part, parameters, link)]
    for item in parts[1:]:
        lines += ["", f"- {escaped(' '.join(item)[2:], link)}"]
    return lines


def _paragraph(text: str, parameters: Collection[str], link: Link) -> list[str]:
    """As it is, or a list of parameters where it begins with the name of one."""
    names = "|".join(map(re.escape, sorted(parameters, key=len, reverse=True)))
    starts = re.compile(rf"(?:(?<=^)|(?<=[.;] ))(?=(?:{names})(?:, (?:{names}))*: )") if names else None
    if starts is None or not starts.match(text):
        shown = escaped(text, link)
        return [re.sub(r"^(\w+)([.)] )", r"\1\\\2", shown)] if text else []  # "N. Halko" begins no list
    lines = []
    for part in filter(None, starts.split(text)):
        name, _, told = part.strip().partition(": ")
        lines += [f"- **{_plain(name)}**: {escaped(told, link)}", ""]
    return lines[:-1]


def escaped(text: str, link: Link = lambda name: "") -> str:
    """One line of prose: code stays code, and links to what it names; the rest means nothing but itself."""
    ends = text.endswith("::")
    parts = _CODE.split(text[:-2] if ends else text)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = _plain(part)
        elif part[0] == "`":
            inner = part.strip("`")
            target = link(inner.removesuffix("()"))
            shown = f":py:obj:`{_plain(inner)} <{target}>`" if target else f"``{inner}``"
            # reStructuredText wants space or punctuation on both sides of code; an escaped space is none in the page.
            parts[place] = f"\\ {shown}\\ "
        else:
            parts[place] = f"\\ {part}\\ "
    return "".join(parts).removeprefix("\\ ").removesuffix("\\ ") + ("::" if ends else "")
