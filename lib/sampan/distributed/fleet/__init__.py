"""paddle.distributed.fleet with one process: it is worker 0 of 1, and its models and optimizers stay as they
are.

`distributed_embedding` makes tables in this process, or on parameter servers (`parameter_server`).
"""

import importlib
import sys
from typing import Any

from . import base as base
from . import data_generator as data_generator
from . import utils as utils
from .base import DistributedStrategy as DistributedStrategy
from .base import Fleet as Fleet
from .base import PaddleCloudRoleMaker as PaddleCloudRoleMaker
from .base import Role as Role
from .base import UserDefinedRoleMaker as UserDefinedRoleMaker
from .base import UtilBase as UtilBase
from .data_generator import MultiSlotDataGenerator as MultiSlotDataGenerator
from .data_generator import MultiSlotStringDataGenerator as MultiSlotStringDataGenerator
from .topology import CommunicateTopology as CommunicateTopology
from .topology import HybridCommunicateGroup as HybridCommunicateGroup

fleet = Fleet()
util = fleet.util
sys.modules[f"{__name__}.data_generator.data_generator"] = data_generator


# Found at first use: a program without parallel layers imports nothing of them.
_MODULES = ("dataset", "layers", "meta_optimizers", "meta_parallel", "metrics")
_DATASETS = ("DatasetBase", "InMemoryDataset", "QueueDataset")


def __getattr__(name: str) -> Any:
    """The one Fleet's methods are this module's functions."""
    if name == "auto":
        return importlib.import_module("..auto_parallel", __name__)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _DATASETS:
        return getattr(importlib.import_module(f"{__name__}.dataset"), name)
    if name.startswith("_") or not hasattr(Fleet, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(fleet, name)
