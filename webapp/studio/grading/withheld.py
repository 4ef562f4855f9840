"""Removes the library's own version of the graded function from a learner's process.

The code of the function is replaced in place, so every reference to it (the slot's, another module's, a closure's,
one that the garbage collector lists) refers to a function that only raises. The file with its source, the bytecode
and numba's compiled copies of it are returned, for the sandbox to cover.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from sampan.learn import slots


class Withheld(RuntimeError):
    """The library's own version was called while the exercise is graded."""


def withhold(slot: str, others: Iterable[str] = ()) -> list[Path]:
    """Removes the library's version of a slot from this process permanently, with those of `others` (dotted names
    below the library); returns the files that its source can be read from."""
    files: set[Path] = set()
    for name in (slot, *others):
        for function in _functions(name):
            for inner in _family(function, set()):
                files.update(_files(inner))
                _empty(inner, slot)
    return sorted(files)


def _functions(name: str) -> list[Any]:
    """The library's function of that name, with its derivatives if it is an operator's."""
    taken = slots.get(name)
    derivatives, joint = taken.derivatives or ((), None)
    return [taken.original, *derivatives, joint]


def _family(function: Any, seen: set[int]) -> Iterator[FunctionType | Dispatcher]:
    """The function, and the functions of the library that it wraps or keeps in its closure."""
    if id(function) in seen:
        return
    seen.add(id(function))
    python = function.py_func if isinstance(function, Dispatcher) else function
    if not isinstance(python, FunctionType):
        return
    # A generated function of the library may have no module.
    if not (python.__module__ or f"{slots.ROOT}.").startswith(f"{slots.ROOT}."):
        return
    yield function
    inner = [getattr(python, "__wrapped__", None)]
    inner += [cell.cell_contents for cell in python.__closure__ or () if _is_filled(cell)]
    for one in inner:
        yield from _family(one, seen)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _files(function: FunctionType | Dispatcher) -> Iterator[Path]:
    python = function.py_func if isinstance(function, Dispatcher) else function
    module = sys.modules.get(python.__module__ or "")
    for name in {python.__code__.co_filename, getattr(module, "__file__", None)}:
        source = Path(name or "")
        if source.is_file():  # not for code that the library has generated
            yield source
            yield from source.parent.glob(f"__pycache__/{source.stem}.*.pyc")
            yield from source.parent.glob(f"__pycache__/{source.stem}.{python.__qualname__}-*")


def _empty(function: FunctionType | Dispatcher, slot: str) -> None:
    python: Any = function.py_func if isinstance(function, Dispatcher) else function
    linecache.cache.pop(python.__code__.co_filename, None)
    python.__signature__ = inspect.signature(python)
    python.__code__ = _raises(slot, python.__code__)
    python.__doc__ = None
    if isinstance(function, Dispatcher):
        _forget_compiled(function)


def _forget_compiled(function: Any) -> None:
    """Its machine code in numba's caches, in memory and on disk."""
    function._cache = NullCache()
    function._reset_overloads()
    function._can_compile = False


_RAISES = """
def withheld(*args, **settings):
    from studio.grading.withheld import Withheld
    raise Withheld({words!r})
"""


def _raises(slot: str, like: CodeType) -> CodeType:
    """Code that only raises, with the same free variables: a function's `__code__` can only be replaced by such
    code."""
    words = f"the library's own {slot} is not available while this exercise is graded"
    module = compile(_RAISES.format(words=words), "<withheld>", "exec")
    (raises,) = (constant for constant in module.co_consts if isinstance(constant, CodeType))
    return raises.replace(co_freevars=like.co_freevars)
