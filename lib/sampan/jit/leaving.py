"""`break`, `continue`, early `return` and the `else` of loops as flags, so that a loop or branch with them
can become a call (source_rewriting.py).

What follows a branch that leaves moves into its other way:

    if x.sum() > 9: return x          if x.sum() > 9: result = x
    x = x + 1                         else: x = x + 1; result = x
    return x                          return result

In a loop `break` sets a flag, after which the loop takes no more rounds and its test is not computed again.
`return` there sets one for each loop around it. A statement in `try` or `match` that leaves stays Python's
own, and so does the loop that it leaves.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

PREFIX = "_sampan_"  # of names that the rewriting makes
FLOW = "_sampan_flow"  # the module python_flow in a rewritten function
RESULT = "_sampan_result"  # what the function returns
_RETURNED, _TESTED = "_sampan_returned", "_sampan_tested"
_LEAVE = (ast.Break, ast.Continue, ast.Return)
_LOOPS = (ast.For, ast.While)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def with_flags(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function without statements that leave, where they can be replaced."""
    return _Flags().function(body)


def stop_of(node: ast.For) -> str:
    """The flag that ends a loop over items; "" for a loop without. Its last statement tests the flag."""
    return str(getattr(node, "stop", ""))


class _Flags:
    """Replaces the statements of one function. read: the flags that something reads."""

    def __init__(self) -> None:
        self.count, self.returns = 0, False
        self.read: set[str] = set()

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of the function."""
        compound = [statement for statement in body if not isinstance(statement, ast.Return)]
        self.returns = ast.Return in _ways_out(compound)
        if not self.returns:
            return self._without_unread(self._block(body, ""))
        last = body[-1]
        if not _ends(body):
            body = [*body, _at(last, ast.Return(ast.Constant(None)))]
        made = [_set(body[0], _RETURNED, False), *self._block(body, "")]
        return [*self._without_unread(made), _at(last, ast.Return(_named(RESULT)))]

    def _block(self, body: Sequence[ast.stmt], loop: str) -> list[ast.stmt]:
        """Statements. loop: the number of the loop that they are in; "" outside."""
        made: list[ast.stmt] = []
        for place, node in enumerate(body):
            rest = body[place + 1 :]
            if isinstance(node, _LEAVE):
                return [*made, *self._leave(node, loop)]
            if isinstance(node, _LOOPS) and not _opaque(node):
                return [*made, *self._loop(node, rest, loop)]
            made.append(node)
            if not isinstance(node, (ast.If, ast.With)):
                continue
            leaves = _ways_out([node]) - (set() if self.returns else {ast.Return})
            ends = [_ends(way) for way in _parts(node)]
            if isinstance(node, ast.If) and leaves and any(ends):
                for way, over in zip(("body", "orelse"), ends, strict=True):
                    moved = getattr(node, way) + ([] if over else list(rest))
                    setattr(node, way, self._block(moved, loop))
                return made
            for way in ("body", "orelse")[: len(ends)]:
                setattr(node, way, self._block(getattr(node, way), loop))
            if leaves and rest:
                flag = f"_sampan_skip_{loop}" if loop else _RETURNED
                self.read.add(flag)
                return [*made, _at(node, ast.If(_named(flag), [ast.Pass()], self._block(rest, loop)))]
        return made

    def _leave(self, node: ast.stmt, loop: str) -> list[ast.stmt]:
        """The flags that a statement sets."""
        made = [_set(node, f"_sampan_skip_{loop}", True)] if loop else []
        if isinstance(node, ast.Return) and not self.returns:
            return [node]
        if loop and not isinstance(node, ast.Continue):
            made.append(_set(node, f"_sampan_stop_{loop}", True))
        if isinstance(node, ast.Return) and not hasattr(node, "again"):
            value = node.value or ast.Constant(None)
            made.append(_at(node, ast.Assign([ast.Name(RESULT, ast.Store())], value)))
            made.append(_set(node, _RETURNED, True))
        return made

    def _loop(self, node: ast.For | ast.While, rest: Sequence[ast.stmt], outer: str) -> list[ast.stmt]:
        """A loop, and what follows it."""
        self.count += 1
        loop, ways = str(self.count), _ways_out(node.body)
        if not self.returns:
            ways -= {ast.Return}
        stop, again = f"_sampan_stop_{loop}", f"_sampan_again_{loop}"
        head: list[ast.stmt] = []
        node.body = self._block(node.body, loop)
        if ways:
            node.body.insert(0, _set(node, f"_sampan_skip_{loop}", False))
        stops = bool(ways & {ast.Break, ast.Return})
        if stops:
            self.read.add(stop)
            head.append(_set(node, stop, False))
            if isinstance(node, ast.While):
                test = ast.Assign([ast.Name(again, ast.Store())], flow("truth", node.test))
                once_more = ast.If(_named(stop), [_set(node, again, False)], [copy.deepcopy(test)])
                head.append(_at(node, test))
                self.read.add(again)
                node.test = _at(node, _named(again))
                node.body.append(_at(node, once_more))
            else:
                node.body.append(_at(node, ast.If(_named(stop), [ast.Break()], [])))
                node.stop = stop  # type: ignore[attr-defined]  # read by stop_of
        after: list[ast.stmt] = []
        if ast.Return in ways:
            self.read.add(_RETURNED)
            once_again = _at(node, ast.Return(None))
            once_again.again = True  # it has its value already
            after.append(_at(node, ast.If(_named(_RETURNED), [once_again], [])))
        if node.orelse:
            otherwise = _at(node, ast.If(_named(stop), [ast.Pass()], node.orelse))
            after += [otherwise] if stops else node.orelse
            node.orelse = []
        return [*head, node, *self._block([*after, *rest], outer)]

    def _without_unread(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements without flags that nothing reads, and branches without what nothing is left of."""
        made: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if getattr(node, "flag", False) and name not in self.read:
                    continue
            for way in ("body", "orelse"):
                if isinstance(inner := getattr(node, way, None), list) and not isinstance(node, _INNER):
                    left = self._without_unread(inner)
                    setattr(node, way, left or ([_at(node, ast.Pass())] if way == "body" else []))
            if isinstance(node, ast.If) and all(isinstance(n, ast.Pass) for n in node.body + node.orelse):
                target = ast.Name(_TESTED, ast.Store())
                node = _at(node, ast.Assign([target], flow("truth", node.test)))
            made.append(node)
        return made


def _ways_out(body: Sequence[ast.stmt]) -> set[type[ast.stmt]]:
    """How statements leave what is around them: kinds of `break`, `continue` and `return`, where each can be
    replaced."""
    found: set[type[ast.stmt]] = set()
    for node in body:
        if isinstance(node, _LEAVE):
            found.add(type(node))
        elif isinstance(node, (ast.If, ast.With)):
            for part in _parts(node):
                found |= _ways_out(part)
        elif isinstance(node, _LOOPS) and not _opaque(node):
            found |= (_ways_out(node.body) & {ast.Return}) | _ways_out(node.orelse)
    return found


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind these statements is reached."""
    for node in body:
        if isinstance(node, _LEAVE):
            return True
        if isinstance(node, ast.If) and _ends(node.body) and _ends(node.orelse):
            return True
    return False


def _opaque(loop: ast.For | ast.While) -> bool:
    """Whether a statement in `try` or the like goes on or leaves a loop: it stays as it is."""
    return any(isinstance(n, (ast.Break, ast.Continue)) for n in _hidden(loop.body, False))


def _hidden(body: Sequence[ast.AST], inside: bool) -> Iterator[ast.AST]:
    for node in body:
        if inside:
            yield node
        if isinstance(node, _INNER):
            continue
        if isinstance(node, _LOOPS):
            yield from _hidden(node.orelse, inside)
            continue
        own = isinstance(node, (ast.If, ast.With))
        yield from _hidden(list(ast.iter_child_nodes(node)), inside or not own)


def _parts(node: ast.stmt) -> list[list[ast.stmt]]:
    return [getattr(node, way) for way in ("body", "orelse") if hasattr(node, way)]


def _named(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def flow(name: str, *given: ast.expr) -> ast.Call:
    """The call of a function of python_flow."""
    return ast.Call(ast.Attribute(_named(FLOW), name, ast.Load()), list(given), [])


def _set(node: ast.stmt, name: str, value: bool) -> ast.stmt:
    made = _at(node, ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)))
    made.flag = True  # read by _without_unread
    return made


def _at(node: ast.AST, made: Any) -> Any:
    """What is made, in the first line of a node where it has none."""
    for part in ast.walk(made):
        if isinstance(part, (ast.stmt, ast.expr)) and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
            part.end_lineno, part.end_col_offset = part.lineno, part.col_offset
    return made
