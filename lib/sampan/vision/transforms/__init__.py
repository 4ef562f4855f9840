"""Transforms of pictures: as functions and as objects, for PIL images, arrays and Tensors."""

from . import functional as functional
from .functional import *  # noqa: F403
from .transforms import *  # noqa: F403
