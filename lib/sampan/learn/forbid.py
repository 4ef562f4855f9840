"""Which forbidden names does a piece of source use? By syntax tree, so a comment or a text never counts.

A forbidden name is dotted (`"torch.matmul"`: also found as `t.matmul` after `import torch as t`, and as `mm`
after `from torch import matmul as mm`), a method of anything (`".matmul"`), a word (`"matmul"`: the last part
of any name, or a text that `getattr` and the like turn into one), or an operator sign (`"@"`).
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

_KINDS = (ast.MatMult, ast.Mult, ast.Div, ast.Add, ast.Sub, ast.Pow)
SIGNS: dict[str, type[ast.operator]] = dict(zip(["@", "*", "/", "+", "-", "**"], _KINDS, strict=True))


def _tree(source: str) -> ast.Module:
    # Cells may hold lines of IPython's own (`%time`, `!ls`); they are not Python and cannot run inside a
    # function.
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in source.splitlines()]
    try:
        return ast.parse(textwrap.dedent("\n".join(lines)))
    except (SyntaxError, ValueError):  # the latter for a null character, before Python 3.11.4
        return ast.Module(body=[], type_ignores=[])  # it cannot run either: the run itself reports it


def aliases(source: str) -> dict[str, str]:
    """What each name bound by an import, or by `name = dotted.name`, stands for."""
    return aliases_in(_tree(source))


def aliases_in(tree: ast.AST) -> dict[str, str]:
    """The same for a tree."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                short = item.name.split(".")[0]
                found[item.asname or short] = item.name if item.asname else short
        elif isinstance(node, ast.ImportFrom) and node.module:
            for item in node.names:
                found[item.asname or item.name] = f"{node.module}.{item.name}"
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            dotted = _dotted(node.value, found)
            if dotted and "." in dotted:
                found[node.targets[0].id] = dotted
    return found


def _dotted(node: ast.AST, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, known)
        return f"{base}.{node.attr}" if base else f".{node.attr}"
    return None


def uses(
    source: str, forbidden: Iterable[str], known: dict[str, str] | None = None, given: str = ""
) -> list[tuple[str, int]]:
    """(forbidden name, line in `source`) of every use, in order of lines; what also stands in `given`, a
    whole statement or lambda of it, is not looked into."""
    return uses_in(_tree(source), forbidden, {**(known or {}), **aliases(source)}, parts(given))


def parts(source: str) -> frozenset[str]:
    """The statements and lambdas of a piece of source, each as a distinct text."""
    return frozenset(ast.dump(node) for node in ast.walk(_tree(source)) if isinstance(node, _PARTS))


def uses_in(
    tree: ast.AST, forbidden: Iterable[str], known: dict[str, str], given: frozenset[str] = frozenset()
) -> list[tuple[str, int]]:
    """The same for a tree. `known` is what `aliases` says of all the source around it, `given` what `parts`
    says."""
    names, own = tuple(forbidden), _bound(tree) - known.keys()
    found = {
        (name, node.lineno)
        for node in _nodes(tree, given)
        for name in names
        if not (isinstance(node, ast.Name) and node.id in own) and _is(node, name, known)
    }
    return sorted(found, key=lambda pair: (pair[1], pair[0]))


def _bound(tree: ast.AST) -> set[str]:
    """The names that the source itself gives to its variables, arguments and functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found


_PARTS = (ast.stmt, ast.Lambda)
GETTERS = {
    *("getattr", "getattr_static", "attrgetter", "methodcaller", "__getattribute__", "__getattr__"),
    *("import_module", "__import__", "get", "pop"),
}
RUNNERS = {"eval", "exec", "compile", "run_line_magic", "run_cell_magic"}


def _nodes(tree: ast.AST, given: frozenset[str]) -> Iterator[Any]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if given and isinstance(node, _PARTS) and ast.dump(node) in given:
            continue
        if hasattr(node, "lineno"):
            yield node
        waiting += ast.iter_child_nodes(node)


def _is(node: ast.AST, name: str, known: dict[str, str]) -> bool:
    if name in SIGNS:
        return isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, SIGNS[name])
    last = name.rpartition(".")[2]
    if any(_names(text, name, last) for text in _texts(node)):
        return True
    if name.startswith("."):
        return isinstance(node, ast.Attribute) and node.attr == last
    if isinstance(node, ast.ImportFrom) and node.module:
        return any(name in (f"{node.module}.{item.name}", item.name, node.module) for item in node.names)
    if isinstance(node, ast.Import):
        return any(item.name == name or item.name.startswith(f"{name}.") for item in node.names)
    if isinstance(node, (ast.Attribute, ast.Name)):
        dotted = _dotted(node, known)
        return dotted is not None and (
            dotted == name or ("." not in name and dotted.rpartition(".")[2] == name)
        )
    return False


def _names(text: str, name: str, last: str) -> bool:
    """Whether a string used as a name matches: a method and a word by the last part, a dotted name as
    a whole."""
    return (
        text == name
        or text.startswith(f"{name}.")
        or (name in (last, f".{last}") and text.rpartition(".")[2] == last)
    )


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts that a node turns into names: arguments of `getattr` and the like, keys, words of code to be
    run."""
    if isinstance(node, ast.Subscript):
        wanted, run = [node.slice], False
    elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        wanted, run = [*node.args, *(keyword.value for keyword in node.keywords)], called in RUNNERS
        if called not in GETTERS and not run:
            return
    else:
        return
    for value in wanted:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from re.findall(r"[.\w]+", value.value) if run else [value.value]
