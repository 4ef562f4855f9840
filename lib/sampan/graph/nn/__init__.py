"""Layers on graphs."""

from . import functional as functional
from .conv import *
from .hetero_conv import *
from .memory import *
from .pool import *
from .propagation import *
