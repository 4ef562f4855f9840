"""`paddle.autograd`: the backward pass, its modes, and what users write for it.

The engine itself is in `sampan.engine`.
"""

from typing import TYPE_CHECKING, Any

from .engine import backward as _walk
from .engine.backward import backward as backward
from .engine.backward import enable_grad as enable_grad
from .engine.backward import grad as grad
from .engine.backward import is_grad_enabled as is_grad_enabled
from .engine.backward import no_grad as no_grad
from .engine.backward import set_grad_enabled as set_grad_enabled
from .engine.pylayer import Function as Function
from .engine.pylayer import PyLayer as PyLayer
from .engine.pylayer import PyLayerContext as PyLayerContext
from .engine.pylayer import saved_tensors_hooks as saved_tensors_hooks
from .lazy import find

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from .names.derivatives import Hessian as Hessian
    from .names.derivatives import Jacobian as Jacobian
    from .names.derivatives import hessian as hessian
    from .names.derivatives import jacobian as jacobian

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside: see inner


def __getattr__(name: str) -> Any:
    # The course replaces these two where the engine calls them, so they are not bound here.
    if name in ("topological_order", "unbroadcast"):
        return getattr(_walk, name)
    return find(__name__, name)
