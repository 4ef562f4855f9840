"""Paddle Inference's API: a saved model runs without the code that made it.

>>> config = Config("model.json", "model.safetensors")  # doctest: +SKIP
>>> predictor = create_predictor(config)  # doctest: +SKIP
>>> predictor.run([paddle.ones([1, 4])])  # doctest: +SKIP
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import torch

from ..lazy import find
from .config import Config as Config
from .config import PassStrategy as PassStrategy
from .kinds import DataType as DataType
from .kinds import PlaceType as PlaceType
from .kinds import PrecisionType as PrecisionType
from .kinds import get_num_bytes_of_data_type as get_num_bytes_of_data_type
from .mixed import convert_to_mixed_precision as convert_to_mixed_precision
from .predictor import Predictor as Predictor
from .predictor import PredictorPool as PredictorPool
from .predictor import Tensor as Tensor
from .predictor import create_predictor as create_predictor

__all__ = [
    "Config",
    "DataType",
    "PlaceType",
    "PrecisionType",
    "Predictor",
    "PredictorPool",
    "Tensor",
    "convert_to_mixed_precision",
    "create_predictor",
    "get_num_bytes_of_data_type",
    "get_trt_compile_version",
    "get_trt_runtime_version",
    "get_version",
]


def get_version() -> str:
    """The versions of Sampan and of torch."""
    return f"version: sampan {version('sampan')}\ntorch: {torch.__version__}\n"


def get_trt_compile_version() -> tuple[int, int, int]:
    """(0, 0, 0): TensorRT is not part of Sampan."""
    return 0, 0, 0


def get_trt_runtime_version() -> tuple[int, int, int]:
    """(0, 0, 0): TensorRT is not part of Sampan."""
    return 0, 0, 0


__getattr__ = partial(find, __name__)
