"""Exercise slots: a learner's function takes the place of a function of the complete library.

`@learn.exercise("autograd.unbroadcast")` puts the function under it where `sampan.autograd.unbroadcast` is,
for the rest of the notebook. When the name is an operator (`"ops.multiply"`), the function replaces its
body, and its closures replace the derivatives. The library's version is saved:
`learn.reference("autograd.unbroadcast")` puts it back.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import forbid as forbidding
from .closures import joint_derivative
from .language import say
from .renamed import RENAMED

ROOT = "sampan"
# Slots whose name does not start with the module or class from which the library calls the function.
HOMES = {"autograd": "engine.backward", "row_sparse.RowSparse": "row_sparse.RowGradient"}
_slots: dict[str, Slot] = {}


class Slot:
    """One exercise: its place in the library, both versions, and how often the learner's was called.

    `calls` counts every call of the learner's function through the slot, `library_calls` those that the
    library made.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.holder, self.attribute = resolve(name)
        self.original = self.placed
        # An operator's own derivatives go with the library's function.
        self.derivatives = self.holder.functions() if self.attribute == "body" else ()
        self.function: Callable[..., Any] | None = None
        self._counted: Callable[..., Any] | None = None
        self.calls = 0
        self.library_calls = 0

    @property
    def active(self) -> bool:
        """True while the learner's function is in the library's place."""
        return self._counted is not None and self.placed is self._counted

    @property
    def placed(self) -> Callable[..., Any]:
        """The function that the library calls now: the learner's, counted, or its own."""
        found: Callable[..., Any] = getattr(self.holder, self.attribute)
        return found

    def fill(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = self.library_calls = 0

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.startswith(f"{ROOT}.") and not caller.startswith(f"{ROOT}.learn"):
                self.library_calls += 1
            return function(*args, **kwargs)

        self._counted = counted
        self.put_in()

    def put_in(self) -> None:
        if self._counted is not None:
            self._set(self._counted)

    def take_out(self) -> None:
        self._set(self.original)

    def _set(self, function: Callable[..., Any]) -> None:
        if self.attribute == "body" and function is self.original:
            self.holder.define(function, *self.derivatives)
        elif self.attribute == "body":
            self.holder.define(function, joint=joint_derivative(function))
        else:
            setattr(self.holder, self.attribute, function)


class Reference:
    """What `learn.reference` gives back; in a `with` block the learner's version returns at its end."""

    def __init__(self, slot: Slot, was_active: bool) -> None:
        self._slot, self._was_active = slot, was_active

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._was_active:
            self._slot.put_in()

    def __repr__(self) -> str:
        name = self._slot.name
        english = f"The library's own {name} is in its place. To use yours again, run its cell again."
        return say((english, f"{name} 现在是库自己的版本。要再用你的版本，请重新运行它的单元格。"))


def current_name(name: str) -> str:
    """The name of a slot today, for one that may be an earlier name."""
    return RENAMED.get(name, name)


def home_of(name: str) -> str:
    """The dotted name below `sampan` of the function that a slot replaces."""
    for first, home in HOMES.items():
        if name.startswith(f"{first}."):
            return f"{home}{name.removeprefix(first)}"
    return name


def resolve(name: str) -> tuple[Any, str]:
    """(holder, attribute) of a dotted name below `sampan`; for an operator, the operator and its `body`."""
    parts = name.split(".") if isinstance(name, str) else []
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        wanted = "a dotted name below sampan, such as 'autograd.unbroadcast'"
        raise ValueError(f"exercise: {name!r} is not a slot; expected {wanted}")
    holder: Any = importlib.import_module(ROOT)
    path = ROOT
    for part in home_of(name).split(".")[:-1]:
        path = f"{path}.{part}"
        try:
            holder = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise
            if not hasattr(holder, part):
                raise ValueError(f"exercise: {name!r} is not a slot; there is no {path}") from None
            holder = getattr(holder, part)
    if not callable(getattr(holder, parts[-1], None)):
        raise ValueError(f"exercise: {name!r} is not a slot; {path} has no function {parts[-1]!r}")
    target = getattr(holder, parts[-1])
    operator = getattr(target, "operator", None)
    return (operator, "body") if callable(getattr(operator, "body", None)) else (holder, parts[-1])


def get(name: str) -> Slot:
    """The slot of that name; it is made on first use. Raises `ValueError` for a name that the library does
    not have."""
    name = current_name(name)
    if name not in _slots:
        _slots[name] = Slot(name)
    return _slots[name]


def filled() -> dict[str, Slot]:
    """Every slot that holds a learner's function, by name."""
    return {name: slot for name, slot in _slots.items() if slot.function is not None}


def exercise(name: str, forbid: Iterable[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function takes the slot's place for the rest of the notebook and is returned unchanged.

    Raises `ValueError` for an unknown slot or a forbidden name in the function's body, `TypeError` when the
    parameters are not those of the library's version.
    """
    slot = get(name)
    banned = tuple(forbid)

    def place(function: Callable[..., Any]) -> Callable[..., Any]:
        _same_parameters(slot, function)
        found = forbidding.uses(_source(function), banned) if banned else []
        if found:
            word, line = found[0]
            where = f"in this exercise (line {line} of your function)"
            english = f"{name}: {word!r} is not allowed {where}: writing it yourself is the exercise"
            chinese = f"{name}：本练习不允许使用 {word!r}（你的函数第 {line} 行）：自己写出它正是本练习的内容"
            raise ValueError(say((english, chinese)))
        slot.fill(function)
        return function

    return place


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""  # typed into a plain prompt: there is no source; the grader reads the notebook itself


def _same_parameters(slot: Slot, function: Callable[..., Any]) -> None:
    """The function must take all of the library's required parameters, by name and in order; optional ones
    may be omitted."""
    came, expected = inspect.signature(function).parameters, inspect.signature(slot.original).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in expected.values()):
        return
    needed = [p.name for p in expected.values() if p.default is p.empty]
    extra = [p.name for p in came.values() if p.default is p.empty and p.name not in expected]
    if list(came)[: len(needed)] != needed or extra:
        takes, gets = ", ".join(came), ", ".join(needed)
        english = f"{slot.name}: your function takes ({takes}), the library calls it with ({gets})"
        raise TypeError(say((english, f"{slot.name}：你的函数接受（{takes}），而库用（{gets}）调用它")))


def reference(name: str) -> Reference:
    """Puts the library's own version back: `learn.reference("autograd.unbroadcast")`, or for a few lines
    only: `with learn.reference("autograd.unbroadcast"): ...`"""
    slot = get(name)
    was_active = slot.active
    slot.take_out()
    return Reference(slot, was_active)


def calls(name: str) -> int:
    """How often the library has called the learner's function since it was put in its place."""
    return get(name).library_calls


@contextlib.contextmanager
def only(name: str) -> Iterator[Slot]:
    """Within the block only this slot holds the learner's function, all others the library's: each exercise
    is graded in isolation."""
    before = [slot for slot in _slots.values() if slot.active]
    for slot in before:
        slot.take_out()
    chosen = get(name)
    chosen.put_in()
    try:
        yield chosen
    finally:
        chosen.take_out()
        for slot in before:
            slot.put_in()
