"""Functions that keep their inputs alone, and run again in the backward pass (Chen et al. 2016, arXiv
1604.06174)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...amp.casting import AutoCast
from ...engine.apply import observed_by, observer_of
from ...engine.backward import backward, enable_grad, is_grad_enabled
from ...engine.pylayer import PyLayer
from ...engine.tensor import Tensor
from ...random import get_rng_state, set_rng_state
from ..data_parallel import mapped

__all__ = ["recomputed"]


def recomputed(
    function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """`function(*args, **kwargs)`, whose backward pass runs it a second time.

    So what it computes in between takes no memory until then. preserve_rng_state: draw the same random
    numbers then. Where no Tensor among the arguments needs a gradient it is called as usual, as in Paddle.
    The gradient has no further derivatives.
    """
    call = _Call(function, (args, kwargs), preserve_rng_state)
    tensors = tensors_in((args, kwargs))
    if not is_grad_enabled() or all(tensor.stop_gradient for tensor in tensors):
        return call(tensors)
    outputs = _Recomputed.apply(call, *tensors)
    return call.outputs_with(list(outputs))


class _Call:
    """A function with its arguments, whose Tensors can be replaced."""

    def __init__(self, function: Callable[..., Any], given: Any, preserve_rng_state: bool) -> None:
        self.function, self.given = function, given
        self.state = get_rng_state() if preserve_rng_state else None
        self.cast = observer_of("cast")
        self.outputs: Any = None

    def __call__(self, tensors: list[Tensor]) -> Any:
        args, kwargs = _with(self.given, tensors)
        return self.function(*args, **kwargs)

    def again(self, tensors: list[Tensor]) -> Any:
        """The call with the random numbers and the casts of the first one."""
        before = get_rng_state()
        if self.state is not None:
            set_rng_state(self.state)
        try:
            with observed_by(AutoCast(self.cast)):
                return self(tensors)
        finally:
            if self.state is not None:
                set_rng_state(before)

    def outputs_with(self, tensors: list[Tensor]) -> Any:
        """The outputs of the call, with these Tensors in it; the call forgets its own."""
        outputs, self.outputs = self.outputs, None
        return _with(outputs, tensors)


def _with(value: Any, tensors: list[Tensor]) -> Any:
    """The value with other Tensors in the places of its own, in their order."""
    others = iter(tensors)
    return mapped(lambda tensor: next(others), value)


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors of a value, in the order of its lists, tuples and dictionaries."""
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    mapped(keep, value)
    return found


class _Recomputed(PyLayer):
    """A `_Call` on the tape."""

    @staticmethod
    def forward(context: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The Tensors of the outputs."""
        context.call = call
        context.save_for_backward(*tensors)
        context.constant = [tensor.stop_gradient for tensor in tensors]
        call.outputs = call(list(tensors))
        return tuple(tensors_in(call.outputs))

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the Tensors; those of parameters are added to these here."""
        leaves = [
            Tensor(tensor.data, stop_gradient=constant)
            for tensor, constant in zip(context.saved_tensor(), context.constant, strict=True)
        ]
        with enable_grad():
            outputs = tensors_in(context.call.again(leaves))
        pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if not o.stop_gradient]
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return tuple(leaf.grad for leaf in leaves)
