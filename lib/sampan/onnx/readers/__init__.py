"""What ONNX's operators compute, as calls of Sampan: one file for each family."""

from . import arithmetic as arithmetic
from . import layers as layers
from . import quantized as quantized
from . import shapes as shapes
from .table import READERS as READERS
from .table import Node as Node
