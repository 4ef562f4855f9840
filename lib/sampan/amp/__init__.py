"""Mixed precision: casting while a program runs, networks in half precision, loss scaling, finding NaNs."""

from . import debugging as debugging
from .casting import *
from .scaler import *
