"""Hot loops: arrays in, arrays out. A kernel picks its device and its parallel form; a caller never sees
either.

Look kernels up late (`kernels.name`), so that another version can take a kernel's place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .cpu_optimizer import adam_numbers as adam_numbers
from .cpu_optimizer import adam_step as adam_step
from .cpu_optimizer import rule_step as rule_step
from .cpu_optimizer import sgd_step as sgd_step
from .fused import FUSED_FROM as FUSED_FROM
from .fused import fused as fused
from .fused import names_in as names_in
from .fused import worth_fusing as worth_fusing
from .registry import listeners as listeners

if TYPE_CHECKING:
    from . import sparse as sparse


def __getattr__(name: str) -> Any:
    if name == "sparse":  # the kernels of a module of its own: loaded with it
        return import_module(".sparse", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
