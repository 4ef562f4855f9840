"""`import paddle` in a process that multiprocessing starts from a program that called `compat.install()`.

Such a process gets `sys.path` and imports the program's file before it runs anything of ours: it finds this.
"""

import sys

import sampan
from sampan.names import compat

sys.modules[__name__] = sampan
compat.install()
