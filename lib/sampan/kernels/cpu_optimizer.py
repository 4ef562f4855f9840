"""Optimizer steps in one pass over memory, each declared by its rule.

torch's default steps make about ten passes over every array; here each element of the parameter, its gradient
and its state is read and written once. A rule is written for one element. From the same lines come the loop,
and what torch does for dtypes, devices and strides that have no loop.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from ..generated import define
from .fused import loop_of
from .loops import Loop

PARALLEL_FROM = 100_000  # elements of one tensor; below it starting threads costs more than it saves
_SCALAR = {torch.float32: np.float32, torch.float64: np.float64}
Buffers = Sequence[torch.Tensor]

_BETAS = "rate beta1 rest1 beta2 rest2 eps"
_MEAN, _SQUARE = "m = beta1 * m + rest1 * g", "v = beta2 * v + rest2 * g * g"
_CHANGE = ["change = sqrt((d + eps) / (h + eps)) * g", "d = rho * d + rest * change * change"]
_AVERAGE = "h = rho * h + rest * g * g"
_FTRL = [
    "new = n + g * g",
    "z = z + g - (sqrt(new) - sqrt(n)) / rate * p",
    "n = new",
    "p = where(n > zero, where(abs(z) > l1, (sign(z) * l1 - z) / (sqrt(n) / rate + twice_l2), zero), p)",
]
_RATES = [
    "same = g * last",
    "rate = where(same > zero, rate * up, where(same < zero, rate * down, rate))",
    "rate = minimum(maximum(rate, low), high)",
    "last = where(same < zero, zero, g)",
]
# name: the arrays, p (parameter) and g (gradient) first; the numbers; what happens to one element. rest1 is 1
# - beta1.
RULES: dict[str, tuple[str, str, list[str]]] = {
    "sgd": ("p g", "rate", ["p = p - rate * g"]),
    "momentum": ("p g v", "rate momentum", ["v = momentum * v + g", "p = p - rate * v"]),
    "nesterov": ("p g v", "rate momentum", ["v = momentum * v + g", "p = p - rate * (g + momentum * v)"]),
    "adagrad": ("p g h", "rate eps", ["h = h + g * g", "p = p - rate * g / (sqrt(h) + eps)"]),
    "ftrl": ("p g n z", "rate l1 twice_l2 zero", _FTRL),
    "adadelta": ("p g h d", "rate rho rest eps", [_AVERAGE, *_CHANGE, "p = p - rate * change"]),
    "rmsprop": (
        "p g v h a",
        "rate rho rest eps momentum",
        [_AVERAGE, "v = momentum * v + rate * g / sqrt(h + eps)", "p = p - v"],
    ),
    "rmsprop_centered": (
        "p g v h a",
        "rate rho rest eps momentum",
        [
            _AVERAGE,
            "a = rho * a + rest * g",
            "v = momentum * v + rate * g / sqrt(h - a * a + eps)",
            "p = p - v",
        ],
    ),
    "adam": ("p g m v", _BETAS, [_MEAN, _SQUARE, "p = p - rate * m / (sqrt(v) + eps)"]),
    "adamw": (
        "p g m v",
        f"{_BETAS} keep",
        ["p = keep * p", _MEAN, _SQUARE, "p = p - rate * m / (sqrt(v) + eps)"],
    ),
    "amsgrad": (
        "p g m v top",
        _BETAS,
        [_MEAN, _SQUARE, "top = maximum(top, v)", "p = p - rate * m / (sqrt(top) + eps)"],
    ),
    "adamax": (
        "p g m u",
        "rate beta1 rest1 beta2 eps",
        [_MEAN, "u = maximum(beta2 * u + eps, abs(g))", "p = p - rate * m / u"],
    ),
    "nadam": (
        "p g m v",
        f"{_BETAS} ahead",
        [_MEAN, _SQUARE, "p = p - (rate * m + ahead * g) / (sqrt(v) + eps)"],
    ),
    "radam": (
        "p g m v",
        f"{_BETAS} plain",
        [_MEAN, _SQUARE, "p = p - rate * m / (sqrt(v) + eps) - plain * m"],
    ),
    "asgd": ("p g d y", "rate", ["d = d - y + g", "y = g", "p = p - rate * d"]),
    "rprop": ("p g last rate", "low high down up zero", [*_RATES, "p = p - sign(last) * rate"]),
    "lamb": (
        "p g m v change",
        f"{_BETAS} decay",
        [_MEAN, _SQUARE, "change = rate * m / (sqrt(v) + eps) + decay * p"],
    ),
}
_HEADER = """# generated from the rule {name}
from numba import njit, prange
from numpy import maximum, minimum, sign, sqrt


@njit
def where(condition, x, y):
    return x if condition else y


"""


def _parts(name: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Arrays, numbers, statements, and which arrays they change."""
    arrays, numbers, lines = (p.split() if isinstance(p, str) else p for p in RULES[name])
    changed = {line.split(" = ")[0] for line in lines}
    return arrays, numbers, lines, [a for a in arrays if a in changed]


@cache
def _loop(name: str) -> Loop:
    arrays, numbers, lines, changed = _parts(name)
    text = _HEADER.format(name=name) + f"def loop({', '.join([a.upper() for a in arrays] + numbers)}):\n"
    inner = [f"{a} = {a.upper()}[i]" for a in arrays] + lines + [f"{a.upper()}[i] = {a}" for a in changed]
    inside = "".join(f"        {line}\n" for line in inner)
    text += f"    for i in prange({arrays[0].upper()}.size):\n{inside}"
    return loop_of(text, f"step_{name}", PARALLEL_FROM, f"{name}_step")


@cache
def _by_torch(name: str) -> Callable[..., None]:
    """The rule in torch's operations; the new values are copied over the old ones at the end."""
    arrays, numbers, lines, changed = _parts(name)
    inner = [*(f"{a} = {a.upper()}" for a in arrays), *lines, *(f"{a.upper()}.copy_({a})" for a in changed)]
    text = f"def step({', '.join([a.upper() for a in arrays] + numbers)}):\n    " + "\n    ".join(inner)
    made: dict[str, Any] = {n: getattr(torch, n) for n in ("sqrt", "where", "sign")}
    made |= {"maximum": _with_numbers(torch.maximum), "minimum": _with_numbers(torch.minimum)}
    define(text, f"step {name}", made)
    return made["step"]


def _with_numbers(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x, y: function(x, torch.as_tensor(y, dtype=x.dtype, device=x.device))


def _flat(buffers: Buffers) -> list[np.ndarray] | None:
    """Each buffer as a flat array over its own memory, or None when there is no loop for them."""
    first = buffers[0]
    for b in buffers:
        if b.dtype is not first.dtype or b.is_cuda or not b.is_contiguous():
            return None
    return [b.numpy().reshape(-1) for b in buffers] if first.dtype in _SCALAR else None


def rule_step(name: str, arrays: Sequence[Buffers], numbers: Sequence[float]) -> None:
    """Apply a rule to lists of torch buffers of equal shapes (parameters, gradients, then a list per state),
    in place."""
    typed = {kind: tuple(scalar(x) for x in numbers) for kind, scalar in _SCALAR.items()}
    for buffers in zip(*arrays, strict=True):
        flat = _flat(buffers)
        if flat is None:
            _by_torch(name)(*buffers, *numbers)
            continue
        size = len(flat[0])
        for other in flat:
            if len(other) != size:  # the memory of a parameter or of its state was set to another
                raise ValueError(
                    "step: expected a parameter, its gradient and its state of one shape, got "
                    f"{[list(b.shape) for b in buffers]}"
                )
        _loop(name)(*flat, *typed[buffers[0].dtype], size=size)


def sgd_step(parameters: Buffers, gradients: Buffers, lr: float) -> None:
    """p <- p - lr * g for every parameter, in place. Lists of torch buffers of equal shapes.

    One pass over memory is all there is to gain, and torch makes just one.
    """
    for p, g in zip(parameters, gradients, strict=True):
        p.add_(g, alpha=-lr)


def adam_step(
    parameters: Buffers,
    gradients: Buffers,
    moments: Buffers,
    variances: Buffers,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: int,
) -> None:
    """One step of Adam (Kingma and Ba 2015, algorithm 1), in place on parameters, moments and variances::

        m <- beta1 * m + (1 - beta1) * g
        v <- beta2 * v + (1 - beta2) * g^2
        p <- p - lr * m' / (sqrt(v') + epsilon)    with m' = m / (1 - beta1^step), v' = v / (1 - beta2^step)

    Lists of torch buffers of equal shapes; step counts from 1. Both corrections are moved out of the loop.
    """
    numbers = adam_numbers(lr, beta1, beta2, epsilon, step)
    rule_step("adam", (parameters, gradients, moments, variances), numbers)


def adam_numbers(lr: float, beta1: float, beta2: float, epsilon: float, step: int) -> tuple[float, ...]:
    """The numbers of Adam's rules. sqrt(v') = sqrt(v) / c with c = sqrt(1 - beta2^step), so the rate becomes
    lr * c / (1 - beta1^step) and epsilon becomes epsilon * c."""
    correction = math.sqrt(1 - beta2**step)
    return lr * correction / (1 - beta1**step), beta1, 1 - beta1, beta2, 1 - beta2, epsilon * correction


def warm_up() -> None:
    """Compile (or load from the cache) the usual loop, for float32; the others compile when first used."""
    for size in (1, PARALLEL_FROM):
        p, g, m, v = torch.zeros(4, size)
        adam_step([p], [g], [m], [v], 0.1, 0.9, 0.999, 1e-8, 1)
