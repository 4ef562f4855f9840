"""Every 12th of ONNX's own cases of one family of operators."""

import functools
from pathlib import Path
from typing import Any

import pytest

from sampan.onnx.readers import READERS


@functools.cache
def _cases() -> list[Any]:
    from tools.onnx_cases import cases

    return [case for case in cases() if case.model is not None]


def failures(family: str, folder: Path) -> tuple[dict[str, str], int]:
    """Why cases fail whose operators are all of one file of readers, and how many cases ran."""
    pytest.importorskip("onnx")
    from tools.onnx_cases import outcome

    own = {kind for kind, reader in READERS.items() if reader.__module__ == f"sampan.onnx.readers.{family}"}
    chosen = [c for c in _cases() if {node.op_type for node in c.model.graph.node} <= own][::12]
    return {str(c.name): why for c in chosen if (why := outcome(c, folder))}, len(chosen)
