"""Helpers of programs: optional imports, versions, deprecation, nested structures, unique names."""

import functools
import importlib
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType
from ..framework import from_dlpack as from_dlpack
from ..framework import to_dlpack as to_dlpack
from ..nn.parameter import UniqueNameGenerator as UniqueNameGenerator
from ..nn.parameter import guard as guard
from ..nn.parameter import switch as switch
from ..nn.parameter import unique_name as _unique_name
from ..nn.rnn import flatten as flatten
from ..nn.rnn import map_structure as map_structure
from .structures import assert_same_structure as assert_same_structure
from .structures import convert_to_list as convert_to_list
from .structures import is_sequence as is_sequence
from .structures import pack_sequence_as as pack_sequence_as
from .structures import to_sequence as to_sequence
from .version import full_version

__all__ = ["deprecated", "require_version", "run_check", "try_import"]

generate = _unique_name
# paddle.utils.dlpack, paddle.utils.unique_name and similar modules have a few functions each.
__path__: list[str] = []  # so that `import` looks for the modules inside, which are this one
dlpack = layers_utils = unique_name = sys.modules[__name__]
sys.modules.update({f"{__name__}.{n}": dlpack for n in ("dlpack", "layers_utils", "unique_name")})


def try_import(module_name, err_msg=None):
    """Import an optional package. ImportError with `err_msg`, or with the command that installs it."""
    try:
        return importlib.import_module(module_name)
    except ImportError:
        wanted = f"{module_name} is needed here and not installed: pip install {module_name}"
        raise ImportError(err_msg or wanted) from None


def _version_numbers(version: Any, argument: str) -> list[int]:
    if not isinstance(version, str):
        raise InvalidType(f"require_version: expected a str as {argument}, got {type(version).__name__}")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise InvalidArgument(f"require_version: expected {argument} as in '1.5.2', got {version!r}")
    return [*map(int, version.split(".")), 0, 0, 0][:4]


def require_version(min_version, max_version=None):
    """Raise an error unless the supported version of Paddle is between two versions."""
    here = _version_numbers(full_version, "version")
    if here < _version_numbers(min_version, "min_version"):
        raise Exception(f"require_version: {min_version} or newer is needed, this is {full_version}'s API")
    if max_version is not None and here > _version_numbers(max_version, "max_version"):
        raise Exception(f"require_version: {max_version} or older is needed, this is {full_version}'s API")


def deprecated(update_to="", since="", reason="", level=0):
    """Decorator: calling the function warns (level 0, 1) or raises RuntimeError (level 2)."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        text = f"{function.__module__}.{function.__name__} is deprecated" + f" since {since}" * bool(since)
        text += f"; use {update_to}" * bool(update_to) + f": {reason}" * bool(reason)

        @functools.wraps(function)
        def call(*args: Any, **settings: Any) -> Any:
            if level == 2:
                raise RuntimeError(text)
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **settings)

        return call

    return decorate


# --- nested structures ---


def run_check():
    """Train one step and say that it worked."""
    from .. import nn, optimizer
    from ..random import randn

    layer = nn.Linear(4, 2)
    step = optimizer.SGD(0.1, parameters=layer.parameters())
    layer(randn([3, 4])).mean().backward()
    step.step()
    print("Sampan works: a layer was trained one step on this machine.")
