"""ONNX files: `export` writes a layer, `load` reads one.

The files, in the order of their use: library.py, facts.py, graph.py, emitters/, export.py; for reading
reader.py, readers/, imported.py.
"""

from functools import partial

from ..lazy import find
from .export import export as export

__all__ = ["export"]


__getattr__ = partial(find, __name__)
