"""Which cells of a learner's copy grading has to run: those that fill slots, and whatever they need.

A course notebook trains networks and draws figures to show what the learner's functions do; no exercise uses any of
it, and running it all took up to 42 s. So grading starts from the cells tagged `setup`, those that fill a slot, and
the graded checks, looks which global names they use, and adds every cell that binds such a name, before or after, until
nothing is added. Of the learner's own cells (changed or new) it also adds those that change what such a name holds
(`table.append(x)`, `paddle.matmul = mine`), and all that cannot be foreseen: magics, `exec`, star imports, code that does
not parse. The cells that were handed out change nothing behind the back of a name: the course is proved that way.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from IPython.core.inputtransformer2 import TransformerManager

UNFORESEEN = {
    *("exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr"),
    *("get_ipython", "__import__", "importlib"),
}
FILLS_A_SLOT = re.compile(r"\bexercise\b")
MOST_CHARACTERS = 200_000  # of a cell that is looked into; a longer one is run as it is


@dataclass(frozen=True)
class Code:
    """One code cell. `given` is what the course knows about it: None for a cell of the learner's own."""

    source: str
    given: bool
    root: bool = False  # grading needs it whatever it binds


@dataclass
class Names:
    """The global names that a cell uses, binds, and changes in place; `imported` are those bound by an import."""

    uses: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)  # x.a = ..., x[i] = ..., del x[i]
    touches: set[str] = field(default_factory=set)  # x.method(...), f(x)
    imported: set[str] = field(default_factory=set)
    unforeseen: bool = False


def needed(cells: Sequence[Code]) -> list[bool]:
    """For each cell whether grading runs it."""
    names = [names_of(cell.source) for cell in cells]
    modules = {name for one in names for name in one.imported}
    chosen = [
        cell.root or one.unforeseen or (not cell.given and bool(FILLS_A_SLOT.search(cell.source)))
        for cell, one in zip(cells, names, strict=True)
    ]
    while True:
        wanted = {name for use, one in zip(chosen, names, strict=True) if use for name in one.uses}
        more = [
            use or bool(wanted & _gives(cell, one, modules))
            for use, cell, one in zip(chosen, cells, names, strict=True)
        ]
        if more == chosen:
            return chosen
        chosen = more


def _gives(cell: Code, names: Names, modules: set[str]) -> set[str]:
    """The names whose value depends on whether this cell is run."""
    return names.binds if cell.given else names.binds | names.stores | (names.touches - modules)


def names_of(source: str) -> Names:
    """The names of one cell, scopes respected: what a function calls its own is no global name."""
    found = Names()
    if len(source) > MOST_CHARACTERS:
        found.unforeseen = True
        return found
    try:
        python = TransformerManager().transform_cell(source)
        table = symtable.symtable(python, "cell", "exec")
        tree = ast.parse(python)
        _read_scopes(table, found)
        _read_changes(tree, found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the run itself will report it
        found.unforeseen = True
    found.unforeseen |= bool(found.uses & UNFORESEEN)
    return found


def _read_scopes(top: symtable.SymbolTable, found: Names) -> None:
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is not top and not symbol.is_global():
                continue
            if symbol.is_referenced():
                found.uses.add(symbol.get_name())
            if symbol.is_assigned() or symbol.is_imported():
                found.binds.add(symbol.get_name())
            if symbol.is_imported():
                found.imported.add(symbol.get_name())


def _tables(top: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    waiting = [top]
    while waiting:
        table = waiting.pop()
        yield table
        waiting += table.get_children()


def _read_changes(tree: ast.AST, found: Names) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            found.stores |= _root(node)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                found.touches |= _root(node.func)
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                found.touches |= _root(argument)
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            found.unforeseen = True


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()
