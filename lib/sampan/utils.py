"""Helpers of programs: optional imports, versions, deprecation, nested structures, unique names."""

import functools
import importlib
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .framework import from_dlpack as from_dlpack
from .framework import to_dlpack as to_dlpack
from .nn.parameter import UniqueNameGenerator as UniqueNameGenerator
from .nn.parameter import guard as guard
from .nn.parameter import switch as switch
from .nn.parameter import unique_name as _unique_name
from .nn.rnn import flatten as flatten
from .nn.rnn import map_structure as map_structure
from .version import full_version

__all__ = ["deprecated", "require_version", "run_check", "try_import"]

generate = _unique_name
# paddle.utils.dlpack and paddle.utils.unique_name and their like are modules of a few functions.
__path__: list[str] = []  # so that `import` looks for the modules inside, which are this one
dlpack = layers_utils = unique_name = sys.modules[__name__]
sys.modules.update({f"{__name__}.{n}": dlpack for n in ("dlpack", "layers_utils", "unique_name")})


def try_import(module_name, err_msg=None):  # type: ignore[no-untyped-def]
    """Import a package that is optional. Raises ImportError that says how to get it, or `err_msg`."""
    try:
        return importlib.import_module(module_name)
    except ImportError:
        wanted = f"{module_name} is needed here and not installed: pip install {module_name}"
        raise ImportError(err_msg or wanted) from None


def _numbers(version: Any, argument: str) -> list[int]:
    if not isinstance(version, str):
        raise TypeError(f"require_version: expected a str as {argument}, got {type(version).__name__}")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise ValueError(f"require_version: expected {argument} as in '1.5.2', got {version!r}")
    return [*map(int, version.split(".")), 0, 0, 0][:4]


def require_version(min_version, max_version=None):  # type: ignore[no-untyped-def]
    """Raise unless the version of Paddle whose API this is lies between two versions."""
    here = _numbers(full_version, "version")
    if here < _numbers(min_version, "min_version"):
        raise Exception(f"require_version: {min_version} or newer is needed, this is {full_version}'s API")
    if max_version is not None and here > _numbers(max_version, "max_version"):
        raise Exception(f"require_version: {max_version} or older is needed, this is {full_version}'s API")


def deprecated(update_to="", since="", reason="", level=0):  # type: ignore[no-untyped-def]
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


def is_sequence(seq):  # type: ignore[no-untyped-def]
    """Whether it is a dict, or a sequence that is no str."""
    return isinstance(seq, (dict, Sequence)) and not isinstance(seq, str)


def to_sequence(nest):  # type: ignore[no-untyped-def]
    """A list of one entry around what is no sequence."""
    return nest if is_sequence(nest) else [nest]


def pack_sequence_as(structure, flat_sequence):  # type: ignore[no-untyped-def]
    """The entries of `flat_sequence` in the form of `structure`. Raises ValueError for another number of them."""
    if (count := len(flatten(structure))) != len(flat_sequence):
        raise ValueError(f"pack_sequence_as: expected {count} entries, got {len(flat_sequence)}")
    entries = iter(flat_sequence)
    return map_structure(lambda _: next(entries), structure)


def assert_same_structure(nest1, nest2, check_types=True, skip_if=None):  # type: ignore[no-untyped-def]
    """Raise ValueError unless both have the same number of entries, and TypeError unless in the same form."""
    if skip_if is not None and (skip_if(nest1) or skip_if(nest2)):
        return
    if len(flatten(nest1)) != len(flatten(nest2)):
        raise ValueError(f"assert_same_structure: {nest1} and {nest2} have different numbers of entries")
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"assert_same_structure: only one of {nest1} and {nest2} is a sequence")
    if check_types and is_sequence(nest1) and type(nest1) is not type(nest2):
        raise TypeError(f"assert_same_structure: {nest1} and {nest2} are of different types")
    inside = [n.values() if isinstance(n, dict) else n for n in (nest1, nest2)]
    for one, two in zip(*inside, strict=False) if is_sequence(nest1) else ():
        assert_same_structure(one, two, check_types, skip_if)


def convert_to_list(value, n, name, dtype=int):  # type: ignore[no-untyped-def]
    """A number n times, or the list of n numbers that was given. Raises ValueError for anything else."""
    given = [value] * n if isinstance(value, dtype) else list(value) if hasattr(value, "__iter__") else None
    fits = [hasattr(v, "__index__") or isinstance(v, dtype) for v in given or ()]
    if given is None or len(given) != n or not all(fits):
        raise ValueError(f"{name}: expected {dtype.__name__} or {n} of them, got {value!r}")
    return given


def run_check():  # type: ignore[no-untyped-def]
    """Train one step and say that it worked."""
    from . import nn, optimizer
    from .random import randn

    layer = nn.Linear(4, 2)
    step = optimizer.SGD(0.1, parameters=layer.parameters())
    layer(randn([3, 4])).mean().backward()
    step.step()
    print("Sampan works: a layer was trained one step on this machine.")
