"""Layers and encoders of speech recognition."""

from .attention import *
from .conformer import *
from .decoder import *
from .masks import *
from .model import *
from .recurrent import *
from .streaming import *
from .subsampling import *
