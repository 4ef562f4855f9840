"""ONNX files: `export` writes a layer, `load` reads one.

The files, in the order of their use: library.py, facts.py, graph.py, emitters/, export.py; for reading
reader.py, readers/, imported.py.
"""

from functools import partial

from ..lazy import find
from .export import export as export
from .imported import ImportedLayer as ImportedLayer
from .imported import load as load

__all__ = ["export", "load"]


__getattr__ = partial(find, __name__)
