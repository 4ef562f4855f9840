"""Transforms of images: as functions and as objects, for PIL images, arrays and Tensors."""

from . import functional as functional
from .functional import *
from .transforms import *
