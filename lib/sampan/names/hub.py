"""Models of a local folder with a `hubconf.py`, whose functions construct them. Nothing is downloaded."""

import builtins
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..engine.tensor import InvalidArgument
from .utils import try_import


def _entries(repo_dir: str, source: str) -> dict[str, Callable[..., Any]]:
    if source in ("github", "gitee"):
        raise NotImplementedError(
            f"hub: nothing is downloaded here; clone {repo_dir!r} yourself and pass its folder with "
            "source='local'"
        )
    if source != "local":
        raise InvalidArgument(f"hub: expected 'local' as source, got {source!r}")
    path = Path(repo_dir) / "hubconf.py"
    if not path.is_file():
        raise RuntimeError(f"hub: there is no {path}")
    found = runpy.run_path(str(path))
    for package in found.get("dependencies", ()):
        try_import(package)
    return {name: entry for name, entry in found.items() if callable(entry) and not name.startswith("_")}


def _entry(repo_dir: str, model: str, source: str) -> Callable[..., Any]:
    entries = _entries(repo_dir, source)
    if model not in entries:
        raise RuntimeError(f"hub: no {model!r} in {repo_dir}; there are {', '.join(entries) or 'no models'}")
    return entries[model]


def list(repo_dir, source="github", force_reload=False):
    """Names of the models that a folder describes."""
    return builtins.list(_entries(repo_dir, source))


def help(repo_dir, model, source="github", force_reload=False):
    """The docstring of a model's function."""
    return _entry(repo_dir, model, source).__doc__


def load(repo_dir, model, source="github", force_reload=False, **kwargs):
    """The model, built with `kwargs`. The folder's own code runs: load what you trust."""
    return _entry(repo_dir, model, source)(**kwargs)


def load_state_dict_from_url(url, model_dir=None, check_hash=False, file_name=None, map_location=None):
    """Load weights from `model_dir`, by the file name of the URL or `file_name`. Nothing is downloaded."""
    from ..serialization import load as load_file

    path = Path(model_dir or ".") / (file_name or url.rpartition("/")[2])
    if not path.is_file():
        raise NotImplementedError(f"hub: nothing is downloaded here; put {url} at {path} yourself")
    return load_file(str(path))
