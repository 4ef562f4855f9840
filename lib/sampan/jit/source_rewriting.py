"""Python's own loops and branches as calls, so that a Program can hold those over a Tensor's value.

`while x.sum() > 3: x = x / 2` in a function of the user becomes

    def _test(x): return x.sum() > 3
    def _body(x): x = x / 2; return flow.values(locals(), ("x",))
    (x,) = flow.repeat(_test, _body, flow.values(locals(), ("x",)), ("x",))

and `flow` (python_flow.py) decides while the function is recorded: a Tensor is recorded as a Loop, any other
value runs as Python's own loop. `break`, `continue` and `return` in a loop or branch have become flags before
(leaving.py). What is not a plain computation of local names stays as it is: a loop with a call for its effect
such as `list.append`, with an attribute that is assigned. `record.reasons` has why.
"""

from __future__ import annotations

import ast
import inspect
import sysconfig
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from . import python_flow
from .leaving import FLOW as _FLOW
from .leaving import flow as _flow
from .leaving import stop_of, with_flags
from .record import reasons

_ITEM = "_sampan_item"
_FOREIGN = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(p) for p in ("stdlib", "platlib", "purelib")),
)
_codes: dict[CodeType, CodeType | None] = {}


def rewritten(function: Any) -> Any:
    """The function with its loops and branches as calls; itself where it is not the user's, or has none."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType) or plain.__code__.co_filename.startswith(_FOREIGN):
        return function
    code = plain.__code__
    if code not in _codes:
        _codes[code] = _rewritten_code(plain)
    made = _codes[code]
    if made is None:
        return function
    cells = dict(zip(code.co_freevars, plain.__closure__ or (), strict=True))
    cells[_FLOW] = CellType(python_flow)
    closure = tuple(cells[name] for name in made.co_freevars)
    new = FunctionType(made, plain.__globals__, plain.__name__, plain.__defaults__, closure)
    new.__kwdefaults__, new.__annotations__ = plain.__kwdefaults__, plain.__annotations__
    new.__dict__.update(plain.__dict__)
    return new if plain is function else MethodType(new, function.__self__)


def _rewritten_code(function: FunctionType) -> CodeType | None:
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None  # without source, as of a function made by exec
    (node, *_) = tree.body
    if not isinstance(node, ast.FunctionDef):
        return None
    node.decorator_list = []  # the function is the one below them
    ast.increment_lineno(node, first - 1)
    rewriter = _Rewriter(Path(code.co_filename).name, _class_of(function.__qualname__))
    node = rewriter.function(node)
    if not rewriter.changed:
        return None
    node.name = "_function"  # its own name is one of the module or of a closure
    factory = ast.FunctionDef("_factory", _parameters([*code.co_freevars, _FLOW]), [node], [])
    module = ast.Module([factory], [])
    ast.fix_missing_locations(module)
    outer = compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & 0x1000000)
    inner = next(c for c in outer.co_consts if isinstance(c, CodeType))
    made = next(c for c in inner.co_consts if isinstance(c, CodeType) and c.co_name == node.name)
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _class_of(qualified: str) -> str:
    """The class whose private names a method has; "" for a function."""
    parts = qualified.split(".")
    return parts[-2].lstrip("_") if len(parts) > 1 and parts[-2] != "<locals>" else ""


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function and those in it. changed: whether there was anything to rewrite."""

    def __init__(self, file: str, of_class: str) -> None:
        self.file, self.of_class, self.changed = file, of_class, False
        self._fixed: set[str] = set()  # names that cannot become variables of a loop
        self._local: set[str] = set()
        self._count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The function rewritten."""
        inside = list(_within(node.body))
        if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in inside):
            return node
        node.body = with_flags(node.body)
        inside = list(_within(node.body))
        outer = self._fixed, self._local
        arguments = [n for n in ast.walk(node.args) if isinstance(n, ast.arg)]
        for argument in arguments:
            argument.arg = self._mangled(argument.arg)
        declared = (n for n in inside if isinstance(n, (ast.Global, ast.Nonlocal)))
        self._fixed = {name for n in declared for name in n.names} | _captured(node.body)
        self._local = {a.arg for a in arguments} | {
            n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        node.body = self._block(node.body)
        self._fixed, self._local = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self.function(node)

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    # --- statements ---

    def visit_While(self, node: ast.While) -> Any:
        names = self._names(node)
        if names is None:
            return self.generic_visit(node)
        test, body = self._new("test"), self._new("body")
        made = [
            self._define(test, names, [ast.Return(self._truth(node.test))]),
            self._define(body, names, [*self._block(node.body), _returned(names)]),
            *self._assigned("repeat", [_name(test), _name(body)], names),
        ]
        return _placed(made, node)

    def visit_For(self, node: ast.For) -> Any:
        stop = stop_of(node)
        leave = [node.body.pop()] if stop else []
        names = self._names(node)
        if names is None:
            node.body += leave
            return self.generic_visit(node)
        body = self._new("body")
        taken = ast.Assign([node.target], _name(_ITEM))
        steps = [taken, *self._block(node.body), _returned(names)]
        made = [
            self._define(body, names, steps, [_ITEM]),
            *self._assigned("each", [self._iterated(node.iter), _name(body)], names, ast.Constant(stop)),
        ]
        return _placed(made, node)

    def visit_If(self, node: ast.If) -> Any:
        names = self._names(node)
        if not names:
            return self.generic_visit(node)
        ways = [self._new("then"), self._new("else")]
        made = [
            self._define(way, names, [*self._block(body), _returned(names)])
            for way, body in zip(ways, (node.body, node.orelse), strict=True)
        ]
        given = [self._truth(node.test), *map(_name, ways)]
        return _placed([*made, *self._assigned("choose", given, names)], node)

    def _names(self, node: ast.While | ast.For | ast.If) -> list[str] | None:
        """The names that a statement assigns; None where it stays as it is."""
        reason, names = _reason(node), [name for name in _stored(node) if name in self._local]
        if not reason and (fixed := self._fixed & set(names)):
            reason = f"{sorted(fixed)[0]!r} is also read by an inner function, or is not local"
        if reason:
            kind = "if" if isinstance(node, ast.If) else "loop"
            text = f"the {kind} in line {node.lineno} is not rewritten: {reason}"
            reasons.update({f"{self.file}:{n}": text for n in range(node.lineno, (node.end_lineno or 0) + 1)})
            return None
        self.changed = True
        return [self._mangled(name) for name in names]

    # --- expressions ---

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if any(isinstance(n, (ast.NamedExpr, ast.Lambda)) for n in ast.walk(node)):
            return self.generic_visit(node)
        self.changed = True
        ways = [_lambda(self.visit(part)) for part in (node.body, node.orelse)]
        return _placed(_flow("value", self._truth(node.test), *ways), node)

    def visit_Call(self, node: ast.Call) -> Any:
        if _is_truth(node):
            node.args = [self._truth(node.args[0])]
            return node
        self.generic_visit(node)
        if isinstance(node.func, (ast.Name, ast.Attribute)) and not _is_name(node.func, _SPECIAL):
            self.changed = True
            node.func = _placed(_flow("called", node.func), node)
        return node

    def _truth(self, node: ast.expr) -> ast.expr:
        """A test, with `and`, `or` and `not` as calls."""
        if isinstance(node, ast.BoolOp):
            parts = [_lambda(self._truth(part)) for part in node.values]
            return _placed(_flow("all_of" if isinstance(node.op, ast.And) else "any_of", *parts), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _placed(_flow("no", self._truth(node.operand)), node)
        made: ast.expr = self.visit(node)
        return made

    def _iterated(self, node: ast.expr) -> ast.expr:
        made = self.visit(node)
        if isinstance(node, ast.Call) and _is_name(node.func, {"range"}):
            return _placed(_flow("numbers", made.func, *made.args), node)
        return made

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.attr = self._mangled(node.attr)
        return self.generic_visit(node)

    def _mangled(self, name: str) -> str:
        """A private name of a class as the compiler spells it."""
        private = self.of_class and name.startswith("__") and not name.endswith("__")
        return f"_{self.of_class}{name}" if private else name

    # --- what is written ---

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"_sampan_{kind}_{self._count}"

    def _define(
        self, name: str, names: Sequence[str], body: Sequence[ast.stmt], more: Sequence[str] = ()
    ) -> ast.FunctionDef:
        """A function of the names; one that has no value is not bound in it."""
        return ast.FunctionDef(name, _parameters([*more, *names]), [*_unbound(names), *body], [])

    def _assigned(
        self, kind: str, given: Sequence[ast.expr], names: Sequence[str], *more: ast.expr
    ) -> list[ast.stmt]:
        """The call whose results the names take."""
        listed = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        call = _flow(kind, *given, _values(names), listed, *more)
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
        return [ast.Assign([target], call) if names else ast.Expr(call), *_unbound(names)]


_SPECIAL = {"super", "locals", "range"}
_EFFECTS: dict[type[ast.AST], str] = {
    ast.Return: "it returns", ast.Raise: "it raises", ast.Delete: "it deletes a name",
    ast.Global: "it declares a name", ast.Nonlocal: "it declares a name", ast.Import: "it imports",
    ast.ImportFrom: "it imports", ast.ClassDef: "it defines a class",
    ast.FunctionDef: "it defines a function",
    ast.Lambda: "it has a lambda", ast.NamedExpr: "it has `:=`", ast.Try: "it has `try`",
    ast.AsyncFor: "it is asynchronous", ast.Match: "it has `match`",
    ast.AsyncWith: "it is asynchronous", ast.TryStar: "it has `try`",
}  # fmt: skip  # a table


def _reason(node: ast.While | ast.For | ast.If) -> str:
    """Why a loop or branch cannot become calls; "" where it can."""
    if not isinstance(node, ast.If) and node.orelse:
        return "it has `else`"
    for inner in _within([node.test] if isinstance(node, (ast.If, ast.While)) else [node.iter, node.target]):
        if type(inner) in _EFFECTS:
            return _EFFECTS[type(inner)]
    branch = isinstance(node, ast.If)
    for inner in _within([*node.body, *node.orelse]):
        if type(inner) in _EFFECTS:
            return _EFFECTS[type(inner)]
        if isinstance(inner, ast.Expr) and not isinstance(inner.value, ast.Constant):
            return f"`{ast.unparse(inner)}` is there for its effect"
        stored = isinstance(getattr(inner, "ctx", None), ast.Store)
        if isinstance(inner, ast.Attribute) and stored:
            return f"it assigns the attribute {ast.unparse(inner)}"
        if isinstance(inner, ast.Subscript) and stored and (branch or not isinstance(inner.value, ast.Name)):
            return f"it assigns {ast.unparse(inner)}"
        if _is_name(inner, _SPECIAL - {"range"}):
            return f"it uses {ast.unparse(inner)}"
    return "it has `break` or `continue`" if _leaves(node.body, branch) or _leaves(node.orelse, True) else ""


def _leaves(body: Sequence[ast.stmt], branch: bool) -> bool:
    """Whether `break` or `continue` of this loop, or of the one around a branch, is in it."""
    for node in body:
        if isinstance(node, (ast.Break, ast.Continue)):
            return True
        if not isinstance(node, (ast.For, ast.While)):
            inner = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
            if _leaves(inner, branch):
                return True
    return False


def _within(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes with all in them, functions and lambdas without what is in those."""
    for node in nodes:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef)):
            yield from _within(list(ast.iter_child_nodes(node)))


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _stored(node: ast.AST) -> list[str]:
    """The names that a statement assigns, or assigns an entry of, in the order of the first."""
    found: dict[str, None] = {}
    for part in ast.iter_child_nodes(node):
        if isinstance(part, _COMPREHENSIONS):
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found[part.id] = None
        if (
            isinstance(part, ast.Subscript)
            and isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
        ):
            found[part.value.id] = None
        found.update(dict.fromkeys(_stored(part)))
    return list(found)


def _captured(body: Sequence[ast.stmt]) -> set[str]:
    """The names that inner functions read, which must see each change."""
    kinds = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
    functions = [n for top in body for n in ast.walk(top) if isinstance(n, kinds)]
    return {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)}


def _is_name(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _is_truth(node: ast.Call) -> bool:
    """Whether it is a test that has become a value (leaving.py)."""
    function = node.func
    return isinstance(function, ast.Attribute) and _is_name(function.value, {_FLOW})


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(_parameters([]), body)


def _parameters(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _values(names: Sequence[str]) -> ast.expr:
    listed = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
    return _flow("values", ast.Call(_name("locals"), [], []), listed)


def _returned(names: Sequence[str]) -> ast.stmt:
    return ast.Return(_values(names))


def _unbound(names: Sequence[str]) -> list[ast.stmt]:
    """`if name is missing: del name`, for each name."""
    missing = ast.Attribute(_name(_FLOW), "MISSING", ast.Load())
    return [
        ast.If(ast.Compare(_name(name), [ast.Is()], [missing]), [ast.Delete([ast.Name(name, ast.Del())])], [])
        for name in names
    ]


def _placed(made: Any, node: ast.stmt | ast.expr) -> Any:
    """What is made, in the lines of a node where it has none."""
    for top in made if isinstance(made, list) else [made]:
        for part in ast.walk(top):
            if isinstance(part, (ast.stmt, ast.expr, ast.arg)) and not hasattr(part, "lineno"):
                part.lineno = part.end_lineno = node.lineno  # one line: a call in several has the last one's
                part.col_offset = part.end_col_offset = node.col_offset
    return made
