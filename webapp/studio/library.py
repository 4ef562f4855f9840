"""Single files of the library for programs that never compute: `import sampan` costs seconds and 190 MB, for torch and numba."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType


@functools.cache
def folder() -> Path:
    """The folder of the package `sampan`. Raises RuntimeError if it is not installed."""
    spec = importlib.util.find_spec("sampan")
    if spec is None or spec.origin is None:
        raise RuntimeError("the library is not installed: there is no package sampan")
    return Path(spec.origin).resolve().parent


@functools.cache
def load(path: str) -> ModuleType:
    """The module in that file of the library, `learn/renamed.py`, without its packages. The file may import nothing of them."""
    name = f"sampan_alone_{path.removesuffix('.py').replace('/', '_')}"
    spec = importlib.util.spec_from_file_location(name, folder() / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
