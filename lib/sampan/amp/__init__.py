"""Mixed precision: casting while a program runs, networks in half precision, loss scaling, finding NaNs."""

from . import debugging as debugging
from .casting import *  # noqa: F403
from .scaler import *  # noqa: F403
