"""Optimizers and learning-rate schedules. LBFGS is in `names`, and found when it is first named."""

from typing import TYPE_CHECKING

from . import lr as lr
from .adam import Adam as Adam
from .adam import Adamax as Adamax
from .adam import AdamW as AdamW
from .adam import Lamb as Lamb
from .adam import NAdam as NAdam
from .adam import RAdam as RAdam
from .optimizer import Optimizer as Optimizer
from .sgd import ASGD as ASGD
from .sgd import SGD as SGD
from .sgd import Adadelta as Adadelta
from .sgd import Adagrad as Adagrad
from .sgd import Ftrl as Ftrl
from .sgd import Momentum as Momentum
from .sgd import RMSProp as RMSProp
from .sgd import Rprop as Rprop

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ..names.lbfgs import LBFGS as LBFGS

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "Rprop",
]
