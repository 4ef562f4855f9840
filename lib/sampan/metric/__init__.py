"""Measures of how good predictions are."""

from .binary import Auc as Auc
from .binary import Precision as Precision
from .binary import Recall as Recall
from .metric import Accuracy as Accuracy
from .metric import Metric as Metric
from .metric import accuracy as accuracy
