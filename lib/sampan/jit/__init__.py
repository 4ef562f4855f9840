"""Programs instead of Python: `to_static` records what a function computes and runs that; `save` writes it.

>>> @paddle.jit.to_static
... def f(x):
...     return (x * 2).sum()
>>> f(paddle.ones([3])).item(), f(paddle.ones([3])).item()
(6.0, 6.0)

The files, in the order of their use: program.py, record.py, code.py, gradients.py, function.py; for files
symbolic.py, saved_form.py, saving.py, translated.py. Loops and branches are in control_flow.py, those of
Python's own statements in source_rewriting.py and python_flow.py; paddle_files/ reads PaddlePaddle's files.
"""

from functools import partial

from ..lazy import find
from .api import enable_to_static as enable_to_static
from .api import ignore_module as ignore_module
from .api import not_to_static as not_to_static
from .api import set_code_level as set_code_level
from .api import set_verbosity as set_verbosity
from .api import to_static as to_static
from .function import StaticFunction as StaticFunction
from .saving import load as load
from .saving import save as save
from .spec import InputSpec as InputSpec
from .translated import TranslatedLayer as TranslatedLayer

__all__ = [
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
]


__getattr__ = partial(find, __name__)  # Paddle's inner modules such as `jit.dy2static`
