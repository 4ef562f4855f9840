"""Files that PaddlePaddle 3 writes with its own `jit.save`: `path.json` and `path.pdiparams`.

The Program of such a file is a list of operators `pd_op.*`. reader.py reads and checks both files,
operators.py and layers.py have what computes each operator, and layer.py records the whole
as a Program of this library.
"""

from .layer import loaded as loaded
