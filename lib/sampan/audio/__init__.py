"""Paddle's names for sound: files, features as layers, their parts as functions, data sets; see
`sampan.speech`."""

from ..speech.files import info, load, save
from . import backends, datasets, features, functional

__all__ = ["backends", "datasets", "features", "functional", "info", "load", "save"]
