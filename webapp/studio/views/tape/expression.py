"""An evaluator of a few lines of arithmetic on Tensors, by their syntax tree: only the Python that is handled here
can run. Lines are `name = expression`, the last one an expression.

Names are the library's operators, the creation functions in `MAKERS`, and names assigned in earlier lines. A named
Tensor that was created, not computed, is a parameter.
"""

from __future__ import annotations

import ast
import difflib
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

MAKERS = ("arange", "eye", "full", "linspace", "ones", "rand", "randn", "to_tensor", "zeros")
CONSTANTS = {"True": True, "False": False, "None": None, "pi": math.pi}
LONGEST = 2_000  # characters
LARGEST = 1_000_000  # numbers in a Tensor
HIGHEST_POWER = 16  # of plain numbers

SIGNS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class ExpressionError(ValueError):
    """An error in a text: `key` names the sentence for the visitor, `values` fill it, `line` counts from one.
    `detail` is the library's message, if it raised an error."""

    def __init__(self, key: str, line: int = 0, detail: str = "", **values: object) -> None:
        super().__init__(f"{key} {values} {detail}")
        self.key, self.line, self.detail, self.values = key, line, detail, values


@cache
def vocabulary() -> dict[str, Callable[..., Any]]:
    """Every function that an expression may call, by name: differentiable operators, and creation functions."""
    import sampan

    found = {}
    for room in (sampan.nn.functional, sampan.ops):
        for name, value in vars(room).items():
            ours = isinstance(value, FunctionType) and value.__module__.startswith(
                ("sampan.ops", "sampan.nn.functional")
            )
            if ours and not name.startswith("_") and not name.endswith("_"):
                found[name] = value
    found.update({name: getattr(sampan, name) for name in MAKERS})
    return found


def evaluate(text: str, given: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
    """(the value of the last line, the parameters by name). given: other numbers, as arrays, for some of the
    parameters. Raises ExpressionError."""
    if not text.strip():
        raise ExpressionError("empty")
    if len(text) > LONGEST:
        raise ExpressionError("too_long", most=LONGEST)
    try:
        lines = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("syntax", line=getattr(error, "lineno", 0) or 0) from error
    walk = _Walk(given or {}, lines)
    try:
        for line in lines[:-1]:
            walk.assign(line)
        last = lines[-1]
        if isinstance(last, ast.Assign):
            raise ExpressionError("no_value", line=last.lineno)
        if not isinstance(last, ast.Expr):
            raise ExpressionError("not_allowed", line=last.lineno, what=type(last).__name__)
        return walk.value(last.value), walk.parameters
    except RecursionError as error:
        raise ExpressionError("too_long", most=LONGEST) from error


class _Walk:
    """One evaluation of the lines, with the names that they assign."""

    def __init__(self, given: Mapping[str, Any], lines: list[ast.stmt]) -> None:
        self.names: dict[str, Any] = {}
        self.parameters: dict[str, Any] = {}
        self._given = given
        targets = [(line.targets[0], line) for line in lines if isinstance(line, ast.Assign)]
        self._last = {target.id: line for target, line in targets if isinstance(target, ast.Name)}

    def assign(self, line: ast.stmt) -> None:
        if not (
            isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name)
        ):
            raise ExpressionError("not_allowed", line=line.lineno, what=type(line).__name__)
        name, value = line.targets[0].id, self.value(line.value)
        self.names[name] = value
        made = isinstance(line.value, ast.Call) and isinstance(line.value.func, ast.Name)
        # `made` says it is a Name.
        if made and line.value.func.id in MAKERS and value.data.is_floating_point():  # type: ignore[attr-defined]
            if name in self._given and line is self._last[name]:  # of two with one name, the later is shown
                value.set_value(self._given[name])
            value.stop_gradient = False
            self.parameters[name] = value

    def value(self, node: ast.AST) -> Any:
        found = self._value(node)
        if hasattr(found, "data") and found.data.numel() > LARGEST:
            raise ExpressionError("too_large", line=_line(node), most=f"{LARGEST:,}")
        return found

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in SIGNS:
            operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,)
            return self._sign(node, type(node.op), [self.value(operand) for operand in operands])
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SIGNS:
            return self._sign(
                node, type(node.ops[0]), [self.value(node.left), self.value(node.comparators[0])]
            )
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return self._run(node, lambda: self.value(node.value).T)
        if isinstance(node, ast.Subscript):
            return self._run(node, lambda: self.value(node.value)[self._index(node.slice)])
        raise ExpressionError("not_allowed", line=_line(node), what=type(node).__name__)

    def _named(self, node: ast.Name) -> Any:
        for place in (self.names, CONSTANTS):
            if node.id in place:
                return place[node.id]
        known = [*self.names, *vocabulary()]
        near = difflib.get_close_matches(node.id, known, 1)
        raise ExpressionError(
            "unknown_near" if near else "unknown",
            line=node.lineno,
            name=node.id,
            near=near[0] if near else "",
        )

    def _index(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            return slice(*(None if end is None else self.value(end) for end in ends))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(item) for item in node.elts)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return Ellipsis
        return self.value(node)

    def _sign(self, node: ast.AST, sign: type[ast.AST], operands: list[Any]) -> Any:
        numbers = all(isinstance(operand, (int, float)) for operand in operands)
        if not numbers and not any(hasattr(operand, "data") for operand in operands):
            raise ExpressionError("not_allowed", line=_line(node), what=type(node).__name__)
        if numbers and sign is ast.Pow and abs(operands[1]) > HIGHEST_POWER:
            raise ExpressionError("too_large", line=_line(node), most=f"x ** {HIGHEST_POWER}")
        return self._run(node, lambda: SIGNS[sign](*operands))

    def _call(self, node: ast.Call) -> Any:
        if any(isinstance(argument, ast.Starred) for argument in node.args) or not all(
            word.arg for word in node.keywords
        ):
            raise ExpressionError("not_allowed", line=node.lineno, what="Starred")
        before: list[Any] = []
        if isinstance(
            node.func, ast.Attribute
        ):  # a method is the operator of that name, the Tensor its first input
            before, name = [self.value(node.func.value)], node.func.attr
            if not hasattr(before[0], "data"):
                raise ExpressionError("not_a_tensor", line=node.lineno, name=name)
        elif isinstance(node.func, ast.Name):
            name = node.func.id
        else:
            raise ExpressionError("not_allowed", line=node.lineno, what=type(node.func).__name__)
        if name not in vocabulary():
            self._named(ast.Name(name, lineno=node.lineno))
            raise ExpressionError("not_a_function", line=node.lineno, name=name)
        positional = [*before, *(self.value(argument) for argument in node.args)]
        settings = {str(word.arg): self.value(word.value) for word in node.keywords}
        if name in MAKERS:
            self._bounded(node, [*positional, *settings.values()])
        return self._run(node, lambda: vocabulary()[name](*positional, **settings))

    def _bounded(self, node: ast.Call, arguments: list[Any]) -> None:
        """Refuses a shape, or a length, of too many numbers before memory is allocated."""
        for argument in arguments:
            lengths = argument if isinstance(argument, (list, tuple)) else [argument]
            sizes = [abs(length) for length in lengths if isinstance(length, int)]
            if math.prod(max(size, 1) for size in sizes) > LARGEST:
                raise ExpressionError("too_large", line=node.lineno, most=f"{LARGEST:,}")

    def _run(self, node: ast.AST, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except ExpressionError:
            raise
        except Exception as error:  # every error of the library is shown to the visitor, with its message
            detail = f"{type(error).__name__}: {error}"
            raise ExpressionError("refused", line=_line(node), detail=detail) from error


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
