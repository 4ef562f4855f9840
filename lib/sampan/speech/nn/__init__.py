"""Layers and encoders of speech recognition."""

from .activity import *
from .attention import *
from .conformer import *
from .decoder import *
from .keyword import *
from .masks import *
from .model import *
from .recurrent import *
from .speaker import *
from .streaming import *
from .subsampling import *
from .visual import *
