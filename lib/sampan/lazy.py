"""Lazily imported names: the table `names/modules.txt` lists where each one is defined.

A line of the table: `module: names`, with `.` for the top-level package. `name=place` is defined
elsewhere, at that dotted name in `sampan`. `module=place: names` is a module whose file is elsewhere,
submodules included. Further marks concern Paddle's inner modules, see `names/inner.py`: `~name` is a
stand-in, `-name` is missing, and `!module: reason` is absent with its submodules.
"""

import contextlib
import functools
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

TABLE = Path(__file__).with_name("names") / "modules.txt"


class Table(NamedTuple):
    modules: dict[str, list[str]]
    places: dict[str, dict[str, str]]  # module: name: where it is
    files: dict[str, str]  # module: the file that it is
    absent: dict[str, str]  # module: why


@functools.cache
def table() -> Table:
    """`names/modules.txt`."""
    found = Table({}, {}, {}, {})
    for line in TABLE.read_text().splitlines():
        head, _, rest = line.partition(": ")
        if line.startswith("!"):
            found.absent[head[1:]] = rest
        elif not line.startswith("#"):
            module, _, file = head.removesuffix(":").partition("=")
            entries = found.modules[module] = rest.split()
            pairs = [entry.split("=") for entry in entries if "=" in entry]
            found.places[module] = {name.lstrip("~-"): place for name, place in pairs}
            if file:
                found.files[module] = file
    return found


def at(place: str) -> Any:
    """The object at a dotted name in `sampan`; modules along the path are imported."""
    value: Any = sys.modules["sampan"]
    for part in place.split("."):
        if isinstance(value, ModuleType) and part not in vars(value):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def find(module: str, name: str) -> Any:
    """`__getattr__` of a package: looks up `name` in the table and caches it as an attribute."""
    inside, listed = module.partition(".")[2] or ".", table()
    places = listed.places.get(inside, {})
    if name in places:
        value = vars(sys.modules[module])[name] = at(places[name])
        return value
    if name == "__all__" and places:  # what `from package import *` takes
        return [*(n for n in vars(sys.modules[module]) if not n.startswith("_")), *places]
    child = name if inside == "." else f"{inside}.{name}"
    if child in listed.modules:
        return importlib.import_module(f"{module}.{name}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def names_of(module: str) -> list[str]:
    """`__dir__` of a package: also the names that are not imported yet."""
    return sorted({*vars(sys.modules[module]), *table().places.get(module.partition(".")[2] or ".", ())})
