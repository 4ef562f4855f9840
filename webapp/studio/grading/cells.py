"""Which cells of a learner's copy grading has to run: those that fill slots, and whatever they need.

A course notebook trains networks and draws figures to show what the learner's functions do; no exercise uses any of
it, and running it all took up to 42 s. So grading starts from the cells tagged `setup`, those that fill a slot, and
the graded checks, looks which global names they use, and adds every cell that binds such a name, before or after,
until nothing is added. Of the learner's own cells (changed or new) it also adds those that change what such a name
holds (`table.append(x)`, `paddle.matmul = mine`), and everything that cannot be analysed: magics, `exec`, star
imports, code that does not parse. The cells that were handed out do not change values through other names: the
course's proof checks this.
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
# What IPython may read as something other than Python: its magics, commands and questions, prompts, an indented
# beginning.
IPYTHONS_OWN = re.compile(r"[%!?]|^\s*(?:[,;/]|>>>|\.\.\.|In \[)|\A\s", re.M)
TRIES = 5  # at parsing one source
MOST_CHARACTERS = 200_000  # of a cell that is analysed; a longer one is always run


@dataclass(frozen=True)
class Code:
    """One code cell. `given`: it is as the course handed it out, not the learner's own."""

    source: str
    given: bool
    root: bool = False  # grading needs it whatever names it binds
    slots: tuple[str, ...] = ()  # the exercises that it fills or checks; none: it belongs to all of them


@dataclass
class Names:
    """The global names that a piece of code uses, binds, and changes in place; `imported` are those bound by an import."""

    uses: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)  # x.a = ..., x[i] = ..., del x[i]
    touches: set[str] = field(default_factory=set)  # x.method(...), f(x)
    imported: set[str] = field(default_factory=set)
    unforeseen: bool = False
    exercises: int = 0  # how often it names `exercise`, as in `@learn.exercise(...)`

    def add(self, other: Names) -> None:
        for name in ("uses", "binds", "stores", "touches", "imported"):
            getattr(self, name).update(getattr(other, name))
        self.unforeseen |= other.unforeseen
        self.exercises += other.exercises


@dataclass
class Look:
    """The analysis of a cell: its names, and those of each of its statements. `unreadable`: it is nested too deeply.
    `lines` are those of its Python."""

    names: Names = field(default_factory=Names)
    lines: list[str] = field(default_factory=list)
    statements: list[tuple[ast.stmt, Names]] = field(default_factory=list)
    unreadable: bool = False


def parse(source: str) -> ast.Module:
    """`ast.parse`. Before Python 3.11.8 all parses of a process share one depth counter, so a parse fails if the
    garbage collector (a logged traceback) or a thread parses meanwhile: it is repeated.
    https://github.com/python/cpython/issues/106905"""
    for _ in range(TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def look(source: str) -> Look:
    """What a cell does to global names, with scopes: a local name of a function is not a global name."""
    found = Look()
    if len(source) > MOST_CHARACTERS:
        found.names.unforeseen = found.unreadable = True
        return found
    try:
        python = _python(source)
        found.lines = python.splitlines()
        copy = _ScopedComprehensions().visit(parse(python))
        for statement, scoped in zip(parse(python).body, copy.body, strict=True):
            names = Names()
            _read_changes(statement, names)
            _read_scopes(symtable.symtable(ast.unparse(scoped), "cell", "exec"), names)
            found.statements.append((statement, names))
            found.names.add(names)
    except SyntaxError:  # the run itself will report it
        found.names.unforeseen = True
    except (ValueError, RecursionError, MemoryError):
        found.names.unforeseen = found.unreadable = True
    found.names.unforeseen |= source.lstrip().startswith("%%") or bool(found.names.uses & UNFORESEEN)
    return found


def _python(source: str) -> str:
    """A cell as Python without IPython's syntax: magics become calls, and the body of cell magics such as `%%time`
    is Python."""
    if "\0" in source:  # before Python 3.11.4, parsing it is a ValueError
        raise SyntaxError("source code cannot contain null bytes")
    if not IPYTHONS_OWN.search(
        source
    ):  # Python 3.12.1 takes 40 s to cut a line of 180,000 characters into tokens
        return source
    lines = source.lstrip().splitlines()
    if lines and lines[0].startswith("%%"):
        source = "\n".join(lines[1:])
    return str(TransformerManager().transform_cell(source))


def needed(cells: Sequence[Code], looks: Sequence[Look], slot: str) -> list[bool]:
    """For each cell, whether grading the exercise of that slot runs it."""
    names = [look.names for look in looks]
    modules = {name for one in names for name in one.imported}
    chosen = [
        one.unforeseen or fills(cell, one, slot) or (cell.root and not cell.slots)
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


def fills(cell: Code, names: Names, slot: str) -> bool:
    """Whether the cell fills the slot, or may fill any."""
    return slot in cell.slots or (not cell.given and names.exercises > len(cell.slots))


def _gives(cell: Code, names: Names, modules: set[str]) -> set[str]:
    """The names whose value depends on whether this cell is run."""
    return names.binds if cell.given else names.binds | names.stores | (names.touches - modules)


def made_of(cells: Sequence[Code], looks: Sequence[Look], slot: str) -> Iterator[ast.stmt]:
    """The learner's own statements that the function of a slot is made of: those of the cells that fill it, and of the
    other cells each one that binds a name that the former use."""
    waiting, others = [], []
    for cell, look in zip(cells, looks, strict=True):
        for statement, names in look.statements:
            if fills(cell, look.names, slot):
                waiting.append((cell, statement, names))
            elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
                others.append((cell, statement, names))
    while waiting:
        cell, statement, names = waiting.pop()
        if not cell.given:
            yield statement
        wanted = [part for part in others if names.uses & (part[2].binds | part[2].stores)]
        others = [part for part in others if part not in wanted]
        waiting += wanted


def program(cells: Sequence[Code], looks: Sequence[Look], slot: str) -> str:
    """The source of the function of a slot, which can be run alone: the statement that fills the slot, and every
    statement of the notebook that binds a name that another one of these uses, in the notebook's order."""
    parts = [
        (number, statement, names)
        for number, look in enumerate(looks)
        for statement, names in look.statements
        if names.binds | names.stores
    ]
    chosen = [fills(cells[n], looks[n].names, slot) and names.exercises > 0 for n, _, names in parts]
    wanted: set[str] = set()
    while True:
        wanted |= {
            name for use, (_, _, names) in zip(chosen, parts, strict=True) if use for name in names.uses
        }
        more = [
            use or (bool(wanted & (names.binds | names.stores)) and not names.exercises)
            for use, (_, _, names) in zip(chosen, parts, strict=True)
        ]
        if more == chosen:
            break
        chosen = more
    kept = [part for part, use in zip(parts, chosen, strict=True) if use]
    return "\n\n".join(_source(looks[number].lines, statement) for number, statement, _ in kept) + "\n"


def _source(lines: Sequence[str], statement: ast.stmt) -> str:
    first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : statement.end_lineno])


class _ScopedComprehensions(ast.NodeTransformer):
    """Writes every comprehension as a generator. From Python 3.12 on, comprehensions have no scope of their own in a symbol
    table (PEP 709), so that their variables look like those of the code around; a generator has one in every version."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return self.generic_visit(ast.GeneratorExp(pair, node.generators))


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
        if "exercise" in (getattr(node, field, None) for field in ("attr", "id", "name")):
            found.exercises += 1


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()
