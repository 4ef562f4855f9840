"""Second derivatives of fused operators: their derivatives on the tape."""

from collections.abc import Callable, Sequence
from typing import Any

from ..engine.backward import grad
from ..engine.tensor import Tensor


def recorded(function: Callable[..., Any], inputs: Sequence[Any], gradients: Any) -> tuple[Any, ...]:
    """The gradients of `inputs` through `function`, which computes a fused operator's value with other
    operators.

    gradients: those of its value, or of each of its values. None for inputs that need no gradient.
    """
    places = [k for k, v in enumerate(inputs) if isinstance(v, Tensor) and not v.stop_gradient]
    given = list(gradients) if isinstance(gradients, list | tuple) else [gradients]
    found = grad(function(*inputs), [inputs[k] for k in places], given, create_graph=True, allow_unused=True)
    result: list[Any] = [None] * len(inputs)
    for k, gradient in zip(places, found, strict=True):
        result[k] = gradient
    return tuple(result)
