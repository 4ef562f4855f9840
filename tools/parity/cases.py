"""The case tables of tests/parity/cases: full name -> calls, file by file."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from pathlib import Path

from .spec import Call
from .surface import FOLDER


@functools.cache
def load() -> dict[str, dict[str, list[Call]]]:
    """File name -> its CASES."""
    return {path.stem: _table(path) for path in sorted((FOLDER / "cases").glob("[a-z]*.py"))}


def _table(path: Path) -> dict[str, list[Call]]:
    spec = importlib.util.spec_from_file_location(f"parity_cases_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    table: dict[str, list[Call]] = module.CASES
    return table


def key(index: int, call: Call) -> str:
    """What stands for a call in the records: a changed or moved call is another one.

    Without the addresses of its functions, which are others in each process.
    """
    return re.sub(r" at 0x[0-9a-f]+", "", f"{index} {call!r}")
