"""Optimizers and learning-rate schedules."""

from . import lr as lr
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
from .sgd import Momentum as Momentum
