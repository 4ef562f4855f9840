"""Derivatives of functions: vector-Jacobian and Jacobian-vector products, Jacobian and Hessian matrices."""

from collections.abc import Callable
from typing import Any

from ...engine.tensor import InvalidType, Tensor
from ..derivatives import Matrix, filled_grad

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside: see inner
__all__ = ["Hessian", "Jacobian", "disable_prim", "enable_prim", "forward_grad", "grad", "jvp", "vjp"]


def _as_leaf(x: Tensor) -> Tensor:
    """A copy of x on the tape if x needs a gradient, else a detached leaf that does."""
    if not x.stop_gradient:
        return x.clone()
    x = x.detach()
    x.stop_gradient = False
    return x


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _checked_call(func: Any, xs: Any, v: Any) -> tuple[list[Tensor], list[Tensor] | None, Any]:
    """Leaves for `xs` and `v`, and the function's value on them."""
    if not callable(func):
        raise InvalidType(f"func: expected a function, got {type(func).__name__}")
    for name, given in (("xs", _list(xs)), ("v", [] if v is None else _list(v))):
        if not all(isinstance(t, Tensor) for t in given):
            raise InvalidType(f"{name}: expected a Tensor or a sequence of Tensors")
    leaves = [_as_leaf(x) for x in _list(xs)]
    return leaves, None if v is None else [_as_leaf(t) for t in _list(v)], func(*leaves)


def _check_shapes(v: list[Tensor] | None, refs: list[Tensor]) -> None:
    if v is not None and [t.shape for t in v] != [t.shape for t in refs]:
        raise RuntimeError(f"v: expected the shapes {[t.shape for t in refs]}, got {[t.shape for t in v]}")


def _like(found: list[Tensor], given: Any) -> Any:
    return tuple(found) if isinstance(given, (list, tuple)) else found[0]


def vjp(func, xs, v=None):
    """func(*xs), and v (ones when None, in the shapes of the value) times its Jacobian, in the shapes of
    `xs`."""
    leaves, weights, ys = _checked_call(func, xs, v)
    _check_shapes(weights, _list(ys))
    return ys, _like(filled_grad(_list(ys), leaves, weights), xs)


def jvp(func, xs, v=None):
    """func(*xs), and its Jacobian times v (ones when None, in the shapes of `xs`), in the shapes of the
    value."""
    leaves, directions, ys = _checked_call(func, xs, v)
    _check_shapes(directions, leaves)
    return ys, _like(_forward(_list(ys), leaves, directions), ys)


def _forward(ys: list[Tensor], xs: list[Tensor], v: list[Tensor] | None) -> list[Tensor]:
    """The Jacobian times v: u J is linear in u, so its gradient by u in the direction v is J v, whatever u
    is."""
    u = [_as_leaf(y.detach()._full_like(0)) for y in ys]
    return filled_grad(filled_grad(ys, xs, u), u, v)


class Jacobian(Matrix):
    """The derivatives of func(*xs) by `xs`, all flattened and joined: [rows, columns], or with `is_batched`
    (the first axis stays) [batch, rows, columns]. Rows are computed when they are read."""

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        leaves, _, ys = _checked_call(func, xs, None)
        super().__init__(_list(ys), leaves, is_batched)


class Hessian(Jacobian):
    """The second derivatives of func(*xs), a scalar (one for each sample when `is_batched`)."""

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        def gradient(*leaves: Tensor) -> Tensor:
            first = Jacobian(func, leaves, is_batched)
            if first.shape[-2] != 1:
                raise RuntimeError(f"Hessian: expected one number from the function, got {first.shape[-2]}")
            return first[(*[slice(None)] * is_batched, 0)]

        super().__init__(gradient, xs, is_batched)


def grad(outputs, inputs, grad_outputs=None):
    """The gradients of the sum of `outputs` by `inputs`, recorded: one for a Tensor, a tuple for a
    sequence."""
    return _like(filled_grad(_list(outputs), _list(inputs), grad_outputs), inputs)


def forward_grad(outputs, inputs, grad_inputs=None):
    """The derivatives of `outputs` in the direction `grad_inputs` (ones when None) of `inputs`."""
    directions = None if grad_inputs is None else _list(grad_inputs)
    return _like(_forward(_list(outputs), _list(inputs), directions), outputs)


_prim = False


def enable_prim() -> None:
    """Accepted for compatibility: operators have derivatives of any order without primitives."""
    global _prim
    _prim = True


def disable_prim() -> None:
    """See `enable_prim`."""
    global _prim
    _prim = False


def prim_enabled() -> bool:
    """The last requested result."""
    return _prim
