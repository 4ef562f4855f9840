"""Layers on graphs."""

from . import functional as functional
from .conv import *  # noqa: F403
