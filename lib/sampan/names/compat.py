"""`install()` makes `import paddle` return Sampan, `uninstall()` undoes it. It also works when a program sets
`sys.modules["paddle"]`."""

import importlib
import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from .inner import keep_function, why_absent


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder of `paddle` and its modules: after `install`, and if `paddle` is Sampan's module already.

    Without it Python would load the files a second time, as `paddle.sparse`, with other classes.
    """

    installed = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.split(".")[0] != "paddle":
            return None
        if not self.installed and sys.modules.get("paddle") is not sys.modules["sampan"]:
            return None
        try:
            _module(fullname)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("sampan"):
                raise
            if reason := why_absent(fullname.partition(".")[2]):
                raise ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname) from None
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._own_spec, self._asked = _module(spec.name).__spec__, spec.name
        return _module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec  # the import system replaced it by Paddle's name
        if "." in self._asked:
            keep_function(self._asked)


def _module(fullname: str) -> ModuleType:
    return importlib.import_module(".".join(["sampan", *fullname.split(".")[1:]]))


_CHILDREN = str(Path(__file__).with_name("children"))  # on the path of processes that are started anew
_finder = _Finder()
sys.meta_path.insert(0, _finder)  # before the one that finds files


def install() -> None:
    """Make `import paddle` (and `paddle.nn`, ...) return Sampan, also in processes that multiprocessing
    starts from this one. RuntimeError if PaddlePaddle is already imported."""
    loaded = sys.modules.get("paddle")
    if loaded is not None and loaded is not sys.modules["sampan"]:
        raise RuntimeError("compat.install: PaddlePaddle itself is imported already; call this before")
    _finder.installed = True
    if _CHILDREN not in sys.path:
        sys.path.append(_CHILDREN)


def uninstall() -> None:
    """Make `import paddle` return the installed package again."""
    _finder.installed = False
    if _CHILDREN in sys.path:
        sys.path.remove(_CHILDREN)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "paddle" and getattr(module, "__name__", "").startswith("sampan"):
            del sys.modules[name]
