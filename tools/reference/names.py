"""The public names of the library, read from its modules: what the reference documents.

A module exports what its `__all__` lists, what it imports under the same name (`from .a import b as b`) or with a
star, what it defines itself, and what it imports lazily (`_LATER`): the convention of type checkers.
Names of Paddle's list that it has are exported too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import Counter
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import sampan
from sampan import lazy
from sampan.dtype import DataType
from sampan.names.inner import Inner

from ..parity import surface

# Parts of the library whose names are given out by other modules.
INSIDE = {
    *(
        "sampan.hapi",
        "sampan.kernels",
        "sampan.ops",
        "sampan.nn.functional.ranking",
        "sampan.optimizer.lbfgs",
    ),
    "sampan.text.datasets",
}
# Names of Paddle that few programs use: a part of the reference by themselves.
SELDOM = "base compat device distributed distribution hub incubate profiler session static utils version vision.ops"
STAND_IN = type(
    sampan.static.absent("anything")
)  # of names of static graphs that can be imported, and no more
SPLIT_FROM = 120  # a module with more names has a page for each file that defines them
SMALL = 3  # such pages of fewer names are one, "more"


@dataclass(frozen=True)
class Entry:
    """One public name. module: as a user imports it; name: in it, "add" or "Tensor.abs"."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def family(self) -> str:
        """The file of the library that defines it, such as "elementwise"; "constants" for numbers."""
        defined = self.value.fget if isinstance(self.value, property) else self.value
        return str(getattr(defined, "__module__", None) or "constants").rpartition(".")[2]


def exported(name: str, module: ModuleType) -> set[str]:
    """The names that the module which users call `name` gives out, its modules among them."""
    paddle = surface.areas().get(name.replace("sampan", "paddle", 1), [])
    return _given_out(module) | _files_of(name) | {each for each in paddle if hasattr(module, each)}


def _files_of(module: str) -> set[str]:
    """The modules inside a module that are files at another place: see `sampan.lazy`."""
    inside = module.partition(".")[2]
    parts = (file.rpartition(".") for file in lazy.table().files)
    return {name for around, _, name in parts if around == inside}


def _given_out(module: ModuleType) -> set[str]:
    if isinstance(module, Inner):  # a module without a file holds exactly its exports
        return {name for name in vars(module) if not name.startswith("_")}
    names = set().union(*(vars(module).get(key, ()) for key in ("__all__", "_LATER")))
    body = ast.parse(inspect.getsource(module)).body
    for node in [*body, *(each for part in body if isinstance(part, ast.If) for each in part.body)]:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    place = importlib.import_module(
                        "." * node.level + (node.module or ""), module.__package__
                    )
                    given = {n for n, v in vars(place).items() if not isinstance(v, ModuleType)}
                    names.update(getattr(place, "__all__", given))
                elif alias.asname == alias.name:
                    names.add(alias.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in names if not name.startswith("_")}


@cache
def modules() -> dict[str, ModuleType]:
    """The public modules by the names under which users import them; `sampan` first."""
    found: dict[str, ModuleType] = {}
    waiting: list[tuple[str, ModuleType]] = [("sampan", sampan)]
    for name, module in waiting:
        found[name] = module
        elsewhere = lazy.table().places.get(name.partition(".")[2] or ".", {})
        for each in sorted(exported(name, module) - elsewhere.keys()):
            value, full = getattr(module, each, None), f"{name}.{each}"
            whole = hasattr(value, "__file__") or (
                isinstance(value, Inner) and each in vars(sampan)["_LATER"]
            )
            ours = isinstance(value, ModuleType) and value.__name__.startswith("sampan") and whole
            if ours and full not in INSIDE and all(value is not known for _, known in waiting):
                waiting.append((full, value))
    return dict(sorted(found.items()))


def is_seldom(module: str) -> bool:
    """Whether a module belongs to the part of rarely used names."""
    inside = f"{module}.".removeprefix("sampan.")
    return any(inside.startswith(f"{name}.") for name in SELDOM.split())


@cache
def entries() -> dict[str, Entry]:
    """Every public function, class, dtype and constant by its full name, and the methods of Tensor."""
    found = {}
    for module, value in modules().items():
        for name in sorted(exported(module, value)):
            if _is_shown(module, given := getattr(value, name, Inner)):
                entry = Entry(module, name, given)
                found[entry.full] = entry
    for name, method in sorted(vars(sampan.Tensor).items()):
        if not name.startswith("_") and (inspect.isroutine(method) or isinstance(method, property)):
            found[f"sampan.Tensor.{name}"] = Entry("sampan", f"Tensor.{name}", method)
    return found


def _is_shown(module: str, value: Any) -> bool:
    if inspect.isclass(value) or inspect.isroutine(value):
        known = value is not Inner and not isinstance(value, STAND_IN)
        return known and str(value.__module__).startswith("sampan")
    return module == "sampan" and isinstance(value, (DataType, float))


def identity(value: Any) -> tuple[Any, ...]:
    """Equal for two names of one thing: the same function with the same arguments, or the same class."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if not inspect.isfunction(value):
        return (id(value),)
    return (id(inspect.unwrap(value)), str(inspect.signature(value)))


@cache
def _first() -> dict[tuple[Any, ...], Entry]:
    def rank(entry: Entry) -> tuple[Any, ...]:
        own = getattr(inspect.unwrap(entry.value), "__name__", "") == entry.name
        return (is_seldom(entry.module), entry.name.startswith("Tensor."), entry.module.count("."), not own)

    found: dict[tuple[Any, ...], Entry] = {}
    for entry in sorted(entries().values(), key=rank):
        found.setdefault(identity(entry.value), entry)
    return found


def main_name(value: Any) -> Entry | None:
    """The name under which a value is documented; its other names refer to that."""
    return _first().get(identity(value))


@cache
def pages() -> dict[str, list[Entry]]:
    """The names of each page of the reference: "sampan.linalg", or "sampan-elementwise" of a module that is split."""
    rooms: dict[str, list[Entry]] = {module: [] for module in modules()}
    for entry in entries().values():
        room = "sampan.Tensor" if entry.name.startswith("Tensor.") else entry.module
        rooms.setdefault(room, []).append(entry)
    found: dict[str, list[Entry]] = {}
    for room, listed in rooms.items():
        if len(listed) <= SPLIT_FROM:
            found[room] = listed
            continue
        count = Counter(entry.family for entry in listed)
        found[room] = []
        for entry in listed:
            family = entry.family if count[entry.family] >= SMALL else "more"
            found.setdefault(f"{room}-{family}", []).append(entry)
    return dict(sorted(found.items()))
