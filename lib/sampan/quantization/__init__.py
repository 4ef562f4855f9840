"""Networks in 8 bits: `paddle.quantization`.

`PTQ` after training, `QAT` in training; `convert` gives layers that compute in int8.
"""

from . import observers as observers
from . import quanters as quanters
from .base import BaseObserver as BaseObserver
from .base import BaseQuanter as BaseQuanter
from .base import quanter as quanter
from .config import QuantConfig as QuantConfig
from .quantize import PTQ as PTQ
from .quantize import QAT as QAT

__all__ = ["PTQ", "QAT", "BaseObserver", "BaseQuanter", "QuantConfig", "quanter"]
