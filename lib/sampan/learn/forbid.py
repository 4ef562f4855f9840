"""Which forbidden names does a piece of source use? By syntax tree, so a comment or a text never counts.

A forbidden name is dotted (`"torch.matmul"`: also found as `t.matmul` after `import torch as t`, and as `mm` after
`from torch import matmul as mm`), a method of anything (`".matmul"`), or an operator sign (`"@"`).
"""

import ast
import textwrap
from collections.abc import Iterable

_KINDS = (ast.MatMult, ast.Mult, ast.Div, ast.Add, ast.Sub, ast.Pow)
SIGNS: dict[str, type[ast.operator]] = dict(zip(["@", "*", "/", "+", "-", "**"], _KINDS, strict=True))


def _tree(source: str) -> ast.Module:
    # Cells may hold lines of IPython's own (`%time`, `!ls`); they are no Python and hide nothing that runs in a function.
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in source.splitlines()]
    try:
        return ast.parse(textwrap.dedent("\n".join(lines)))
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])  # it cannot run either: the run itself reports it


def aliases(source: str) -> dict[str, str]:
    """What each name bound by an import, or by `name = dotted.name`, stands for."""
    found: dict[str, str] = {}
    for node in ast.walk(_tree(source)):
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


def uses(source: str, forbidden: Iterable[str], known: dict[str, str] | None = None) -> list[tuple[str, int]]:
    """(forbidden name, line in `source`) of every use, in order of lines."""
    names = tuple(forbidden)
    known = {**(known or {}), **aliases(source)}
    found = set()
    for node in ast.walk(_tree(source)):
        for name in names:
            if name in SIGNS:
                if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, SIGNS[name]):
                    found.add((name, node.lineno))
            elif name.startswith("."):
                if isinstance(node, ast.Attribute) and node.attr == name[1:]:
                    found.add((name, node.lineno))
            elif isinstance(node, ast.ImportFrom) and node.module:
                if any(name == f"{node.module}.{item.name}" for item in node.names):
                    found.add((name, node.lineno))
            elif isinstance(node, (ast.Attribute, ast.Name)) and _dotted(node, known) == name:
                found.add((name, node.lineno))
    return sorted(found, key=lambda pair: (pair[1], pair[0]))
