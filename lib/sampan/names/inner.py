"""Paddle's inner modules by name, such as `paddle.nn.layer.norm` or `paddle.tensor.math`.

Sampan's files are organised differently. The table of `sampan.lazy` lists Paddle's modules and what each
defines. A module that is a file of `names` is that file under a second name. Any other module is created when
it is imported, with names from the packages around it: `nn.layer`, `nn`, the top. A name that Sampan does not
have is not in it, so that `from ... import` fails; a module that Sampan does not have raises
ModuleNotFoundError with the reason. Names of static graphs and of Paddle's C++ core are stand-ins: they can
be imported, and raise an error when they are used.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from inspect import isfunction
from types import ModuleType
from typing import Any

from ..lazy import at, find, names_of, table

_STATIC = {"jit", "pir", "pir_utils", "decomposition", "_legacy_C_ops"}
# Other packages to search, by module.
_ALSO = {
    "_C_ops": ["nn.functional", "linalg"],
    "framework": ["base"],
    "hapi": ["callbacks"],
    "io": ["io.collate"],
    "jit": ["static"],
    "pir_utils": ["static"],
    "tensor": ["linalg", "nn.functional", "signal"],
    "common_ops_import": ["base"],
}
# Our modules with a name of Paddle's, but only part of its content, or other content.
_SHARED = (
    "framework",
    "hapi.model",
    "nn",
    "nn.clip",
    "nn.functional",
    "nn.functional.activation",
    "nn.functional.common",
    "nn.functional.loss",
    "nn.functional.pooling",
    "nn.initializer",
    "nn.layer",
    "nn.loss",
    "nn.parameter",
    "nn.utils",
    "optimizer.lr",
    "optimizer.optimizer",
    "optimizer",
    "random",
    "tensor",
)


def why_absent(inside: str) -> str | None:
    """The reason why Sampan lacks this module of Paddle, or one that contains it."""
    parts = inside.split(".")
    reasons = (table().absent.get(".".join(parts[:n])) for n in range(1, len(parts) + 1))
    return next(filter(None, reasons), None)


class Inner(ModuleType):
    """A module of Paddle that has no file here."""

    def __getattr__(self, name: str) -> Any:
        return _found(self.__name__, name)


def keep_function(fullname: str) -> None:
    """After a module has been imported, Python makes it an attribute of the package. Where Paddle shows a
    function under that name, such as `paddle.tensor.einsum`, the function stays the attribute."""
    parent, _, name = fullname.rpartition(".")
    package = sys.modules[parent]
    value, kind = getattr(package, name, None), type(package)
    if value is None or isinstance(value, ModuleType):
        return

    def keep(self: ModuleType, key: str, given: Any) -> None:
        object.__setattr__(self, "__class__", kind)
        if key != name:
            setattr(self, key, given)

    package.__class__ = type(kind.__name__, (kind,), {"__setattr__": keep})


def _found(module: str, name: str) -> Any:
    inside = module.removeprefix("sampan.")
    listed = table()
    if name.startswith("__") or name in listed.places.get(inside, ()):
        return find(module, name)
    for entry in listed.modules.get(inside, ()):
        if entry.lstrip("~-").partition("=")[0] == name:
            return _entry(inside, entry)
    if f"{inside}.{name}" in listed.modules:
        return importlib.import_module(f"{module}.{name}")
    parts = inside.split(".")
    if (place := _around(parts, name)) is not None:
        return getattr(place, name)
    if parts[0] in _STATIC:
        return stand_in(f"{inside}.{name}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def _entry(inside: str, entry: str) -> Any:
    """The object for an entry of the table. AttributeError if it is missing here."""
    name, _, place = entry.lstrip("~-").partition("=")
    if entry.startswith("~"):
        return stand_in(f"{inside}.{name}")
    if place:
        return at(place)
    around = None if entry.startswith("-") else _around(inside.split("."), name)
    if around is None:
        raise AttributeError(f"paddle.{inside}.{name} is not in Sampan")
    return getattr(around, name)


def stand_in(name: str) -> Any:
    """The stand-in for a name of static graphs or of Paddle's C++ core."""
    from .static import absent

    return absent(name)


def _around(parts: list[str], name: str) -> ModuleType | None:
    """The module of Sampan that defines a name, searched from this one to the top."""
    top = [] if parts[0] in _STATIC else [""]
    packages = [".".join(parts[:n]) for n in range(len(parts), 0, -1)] + top + _ALSO.get(parts[0], [])
    if ".".join(parts) not in _SHARED:
        packages = (
            packages[1:]
            if isinstance(sys.modules.get(f"sampan.{packages[0]}", Inner("")), Inner)
            else packages
        )
    for package in packages:
        place = importlib.import_module(f"sampan.{package}".strip("."))
        own = vars(place).get("__getattr__")
        listed = name in table().places.get(package or ".", ())
        if name in vars(place) or listed or (isfunction(own) and hasattr(place, name)):
            return place
    return None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder that creates inner modules, after all other finders failed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, inside = fullname.partition(".")
        if top != "sampan":
            return None
        inside, asked = paddles_name(inside), inside
        if reason := why_absent(inside):
            raise ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)
        if inside not in table().modules:
            return None
        if inside != asked:
            return importlib.util.spec_from_loader(fullname, _Known(f"sampan.{inside}"))
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Inner(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        inside = module.__name__.removeprefix("sampan.")
        missing = []
        for entry in table().modules[inside]:
            if not entry.startswith("-"):
                try:
                    vars(module)[entry.lstrip("~").partition("=")[0]] = _entry(inside, entry)
                except AttributeError:
                    missing.append(entry)
        if missing:
            names = ", ".join(missing)
            raise ImportError(f"{module.__name__}: Sampan does not have {names}", name=module.__name__)
        keep_function(module.__name__)


class _Known(importlib.abc.Loader):
    """Loader that returns an existing module under a second name, so that its classes exist once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system replaced it by the spec of the second name


def file_name(fullname: str) -> str | None:
    """The name in `names` of a module that is a file there, None of any other."""
    top, _, inside = fullname.partition(".")
    if top != "sampan":
        return None
    if inside in table().files:
        return f"sampan.{table().files[inside]}"
    parent, _, name = fullname.rpartition(".")
    package = sys.modules.get(parent, Inner(parent))
    own, path = f"{package.__name__}.{name}", vars(package).get("__path__")
    inner = package.__name__ != parent and (own in sys.modules or PathFinder.find_spec(own, path))
    return own if inner else None


def paddles_name(inside: str) -> str:
    """Paddle's name of a module inside a file of `names`: `from paddle.distribution import gamma` asks for
    `names.distribution.gamma`."""
    for module, file in table().files.items():
        if inside.startswith(f"{file}."):
            return module + inside.removeprefix(file)
    return inside


class _Moved(importlib.abc.MetaPathFinder):
    """Import finder of the files of `names` under Paddle's names."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        name = file_name(fullname)
        return importlib.util.spec_from_loader(fullname, _Known(name)) if name else None


def install() -> None:
    """Make `import sampan.tensor.math` and similar imports work."""
    sys.meta_path.insert(0, _Moved())  # before the finder of files, so that each file is loaded once
    sys.meta_path.append(_Finder())
    for name in _SHARED:
        module: Any = sys.modules[f"sampan.{name}"]
        module.__getattr__ = partial(_found, module.__name__)
        module.__dir__ = partial(names_of, module.__name__)
        vars(module).setdefault("__path__", [])
