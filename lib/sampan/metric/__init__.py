"""Measures of how good predictions are."""

from .metric import Accuracy as Accuracy
from .metric import Metric as Metric
from .metric import accuracy as accuracy
