"""What Paddle keeps under `incubate`: derivatives of functions, optimizers around others."""

from . import autograd as autograd
from . import optimizer as optimizer
from .optimizer import LookAhead as LookAhead
from .optimizer import ModelAverage as ModelAverage
