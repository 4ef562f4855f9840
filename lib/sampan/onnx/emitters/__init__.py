"""How the calls of a Program are said in ONNX: one file for each family of operators."""

from . import activations as activations
from . import arithmetic as arithmetic
from . import functions as functions
from . import indexing as indexing
from . import int8 as int8
from . import layers as layers
from . import reductions as reductions
from . import shapes as shapes
from . import speech as speech
from .table import FUNCTIONS as FUNCTIONS
from .table import OPERATORS as OPERATORS

FUNCTIONS.update({name: OPERATORS[ours] for name, ours in functions.SAME.items()})
