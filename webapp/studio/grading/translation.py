"""A lesson in English and Chinese: both texts lie in the instructor's notebook.

A markdown cell with the tag `zh` is the Chinese text of the cell before it. A code cell has its Chinese comments and
printed texts in its metadata, as `{"sampan": {"zh": [["English", "Chinese"], ...]}}`; the code itself is the same.
So that neither language falls behind, a Chinese cell records the checksum of the English text that it translates.

`python -m tools.translations` lists what is missing or outdated.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import zlib
from collections.abc import Iterator
from typing import Any

import nbformat

TAG = "zh"
# Comments that are read by programs, not by people.
MARKS = re.compile(r"#+ *(NBVAL|BEGIN |END |noqa|type:|fmt:|%)")
IMPORTS_LEARN = re.compile(r"^from sampan import .*\blearn\b", re.MULTILINE)


def is_chinese(cell: Any) -> bool:
    return cell.cell_type == "markdown" and TAG in cell.metadata.get("tags", [])


def checksum(text: str) -> str:
    return f"{zlib.crc32(text.strip().encode()):08x}"


def in_language(instructor: Any, lang: str) -> list[Any]:
    """The cells of an instructor's notebook in one language, each with the id of the English cell. The original is not
    changed. In Chinese, the first cell that imports `learn` also sets its language."""
    cells: list[Any] = []
    said = False
    for cell in map(_copied, instructor.cells):
        if not is_chinese(cell):
            if lang == "zh" and cell.cell_type == "code":
                cell.source = _translated(cell)
                if not said and IMPORTS_LEARN.search(cell.source):
                    cell.source = cell.source.rstrip("\n") + '\n\nlearn.language("zh")'
                    said = True
            cells.append(cell)
        elif lang == "zh" and cells:
            cells[-1].source = cell.source
    return cells


def _copied(cell: Any) -> Any:
    return nbformat.from_dict(cell)


def _translated(cell: Any) -> str:
    """The source of a code cell with Chinese comments."""
    source: str = cell.source
    for english, chinese in _pairs(cell):
        source = source.replace(english, chinese)
    return source


def _pairs(cell: Any) -> list[list[str]]:
    found: list[list[str]] = cell.metadata.get("sampan", {}).get(TAG, [])
    return sorted(found, key=lambda pair: -len(pair[0]))  # a text that contains another one goes first


def comments(source: str) -> Iterator[str]:
    """The comments and the docstrings of a code cell that a person reads."""
    python = _python(source)
    for token in tokenize.generate_tokens(io.StringIO(python).readline):
        if token.type == tokenize.COMMENT and not MARKS.match(token.string):
            yield token.string
    for node in ast.walk(ast.parse(python)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False):
            yield ast.get_docstring(node, clean=False) or ""


def faults(instructor: Any) -> list[str]:
    """What is missing or outdated in the Chinese of a notebook, one sentence for each."""
    found: list[str] = []
    before = None
    for number, cell in enumerate(instructor.cells):
        following = instructor.cells[number + 1] if number + 1 < len(instructor.cells) else None
        if is_chinese(cell):
            if before is None or before.cell_type != "markdown" or is_chinese(before):
                found.append(f"cell {number}: a Chinese cell without an English one before it")
            elif cell.metadata.get("sampan", {}).get("of") != checksum(before.source):
                found.append(f"cell {number}: the English text has changed since it was translated")
        elif cell.cell_type == "markdown" and (following is None or not is_chinese(following)):
            found.append(f"cell {number}: no Chinese: {cell.source[:50]!r}")
        elif cell.cell_type == "code" and "instructor" not in cell.metadata.get("tags", []):
            found += [f"cell {number}: {fault}" for fault in _code_faults(cell)]
        before = cell
    return found + ([] if found else [*_lookup_faults(instructor)])


def _code_faults(cell: Any) -> Iterator[str]:
    pairs = dict(_pairs(cell))
    for english in pairs:
        if english not in cell.source:
            yield f"a translation of a text that is not there: {english!r}"
    chinese = _translated(cell)
    for comment in comments(cell.source):
        if comment in chinese and comment not in pairs.values():
            yield f"no Chinese for {comment!r}"
    if _code(chinese) != _code(cell.source) or MARKS.findall(chinese) != MARKS.findall(cell.source):
        yield "the Chinese version is other code"


def _code(source: str) -> str:
    """The program without its comments, and with empty texts; formats of numbers are kept."""
    tree = ast.parse(_python(source))
    for node in _texts(tree):
        node.value = ""
    return ast.dump(tree)


def _texts(tree: ast.AST) -> list[ast.Constant]:
    """The texts of a program, in the order of its syntax tree."""
    formats = [node.format_spec for node in ast.walk(tree) if isinstance(node, ast.FormattedValue)]
    kept = {id(node) for spec in formats if spec is not None for node in ast.walk(spec)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [node for node in found if isinstance(node.value, str) and id(node) not in kept]


def _lookup_faults(instructor: Any) -> Iterator[str]:
    """A text by which the program finds something, such as a key, must have the same Chinese in all cells."""
    chinese: dict[str, set[str]] = {}
    keys: set[str] = set()
    for cell in instructor.cells:
        if cell.cell_type == "code":
            english = ast.parse(_python(cell.source))
            pairs = zip(_texts(english), _texts(ast.parse(_python(_translated(cell)))), strict=False)
            for text, other in pairs:
                chinese.setdefault(str(text.value), set()).add(str(other.value))
            for node in ast.walk(english):
                parts = [node.slice] if isinstance(node, ast.Subscript) else []
                parts += [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
                keys |= {str(text.value) for part in parts for text in _texts(part)}
    for key in sorted(keys):
        if len(chinese[key]) > 1:
            yield f"{key!r} is looked up, and is translated in some places only, or in several ways"


def _python(source: str) -> str:
    """A cell without the lines of IPython's own."""
    lines = source.splitlines()
    return "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines)


def accept(instructor: Any) -> int:
    """Record that each Chinese cell translates the present English text. Returns how many were outdated."""
    changed = 0
    for before, cell in zip(instructor.cells, instructor.cells[1:], strict=False):
        if is_chinese(cell) and not is_chinese(before):
            about = cell.metadata.setdefault("sampan", {})
            changed += about.get("of") != checksum(before.source)
            about["of"] = checksum(before.source)
    return changed


def in_other_language(copy: Any, present: Any, wanted: Any) -> Any:
    """A learner's copy in another language: cells that are as they were handed out (`present`) become those of
    `wanted`; cells that the learner changed or added, and all outputs, stay."""
    handed_out = {cell.get("id"): cell.source for cell in present.cells}
    texts = {cell.get("id"): cell.source for cell in wanted.cells}
    made = nbformat.from_dict(copy)
    made.metadata["sampan"] = wanted.metadata.get("sampan", {})
    for cell in made.cells:
        name = cell.get("id")
        if name in texts and cell.source == handed_out.get(name):
            cell.source = texts[name]
    return made


def language_of(copy: Any) -> str:
    """The language in which a learner's copy was made, as its metadata say, which may hold anything."""
    about = copy.metadata.get("sampan")
    return "zh" if isinstance(about, dict) and about.get("language") == "zh" else "en"
