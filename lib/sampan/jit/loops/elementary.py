"""Functions of float32 numbers for generated loops: polynomials without branches, so that a loop over them
becomes vector code. The machine's own exp and tanh are called number by number.

Errors against float64, in units of the last place: exp 2, sigmoid 4, tanh 5, erf 6. Each holds for all of
float32, infinities and NaN too; sigmoid is 0 below x = -88.7, where e^-x is infinite.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

_ONE, _ROUNDS = np.float32(1.0), np.float32(12582912.0)
_ROUNDS_BITS = np.int32(0x4B400000)


def _inlined(function: Any) -> Any:
    """Compiled. A product and a sum may become one instruction here, which a user's own may not."""
    return numba.njit(cache=True, error_model="numpy", fastmath={"contract"})(function)


def _emit_wide_vectors(typingctx: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # llvmlite's own `add` knows no attributes with a value.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


def _as_python() -> None:
    """Where the compiler is off."""


# In a loop: its vectors are as wide as the machine's registers. LLVM halves them on processors that run
# slower while they use the widest ones, but the long formulas of these loops are faster even so.
wide_vectors: Any = _as_python if vars(numba.config)["DISABLE_JIT"] else intrinsic(_emit_wide_vectors)


@_inlined
def exp(x: Any) -> Any:
    """e^x = 2^n e^f: n is the nearest integer to x / log 2, e^f a polynomial (Cephes, expf).

    A sum with 1.5 2^23 rounds to an integer, which its last bits are. 2^n is two factors, because 2^128 and
    2^-150 are no normal numbers.
    """
    low = np.float32(-104.0) if x < np.float32(-104.0) else x
    bounded = np.float32(89.0) if low > np.float32(89.0) else low
    rounded = np.float32(bounded * np.float32(1.4426950408889634) + _ROUNDS)
    n = rounded - _ROUNDS
    f = bounded - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * f + np.float32(1.3981999507e-3)
    p = p * f + np.float32(8.3334519073e-3)
    p = p * f + np.float32(4.1665795894e-2)
    p = p * f + np.float32(1.6666665459e-1)
    p = p * f + np.float32(5.0000001201e-1)
    whole = np.int32(rounded.view(np.int32) - _ROUNDS_BITS)
    first = np.int32(whole >> np.int32(1))
    one = np.int32((first + np.int32(127)) << np.int32(23)).view(np.float32)
    other = np.int32((whole - first + np.int32(127)) << np.int32(23)).view(np.float32)
    return (p * f * f + f + _ONE) * one * other


@_inlined
def tanh(x: Any) -> Any:
    """x P(x^2) / Q(x^2), fitted to the smallest relative error (7e-9) on |x| < 9.02; beyond it is 1 or -1."""
    x = np.float32(9.02) if x > np.float32(9.02) else x
    x = np.float32(-9.02) if x < np.float32(-9.02) else x
    z = x * x
    p = np.float32(-8.436060552376168e-14)
    p = p * z + np.float32(5.2578143228121377e-11)
    p = p * z + np.float32(-2.018411038307022e-08)
    p = p * z + np.float32(1.1144306881760713e-05)
    p = p * z + np.float32(0.003103007096797228)
    p = p * z + np.float32(0.13083162903785706)
    p = p * z + _ONE
    q = np.float32(0.00025447591906413436)
    q = q * z + np.float32(0.024491405114531517)
    q = q * z + np.float32(0.4641648828983307)
    q = q * z + _ONE
    made = x * p / q
    made = _ONE if made > _ONE else made
    return -_ONE if made < -_ONE else made


@_inlined
def erf(x: Any) -> Any:
    """x P(x^2) / Q(x^2), fitted to the smallest relative error (2e-8) on |x| < 3.95; beyond it is 1 or -1."""
    x = np.float32(3.95) if x > np.float32(3.95) else x
    x = np.float32(-3.95) if x < np.float32(-3.95) else x
    z = x * x
    p = np.float32(2.025750291068107e-06)
    p = p * z + np.float32(0.00028467169613577425)
    p = p * z + np.float32(0.0038080348167568445)
    p = p * z + np.float32(0.052875030785799026)
    p = p * z + np.float32(0.19154922664165497)
    p = p * z + np.float32(1.1283791065216064)
    q = np.float32(3.7829311622772366e-05)
    q = q * z + np.float32(0.0011706699151545763)
    q = q * z + np.float32(0.01505485363304615)
    q = q * z + np.float32(0.11455892771482468)
    q = q * z + np.float32(0.5030887722969055)
    q = q * z + _ONE
    made = x * p / q
    made = _ONE if made > _ONE else made
    return -_ONE if made < -_ONE else made


@_inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return _ONE / (_ONE + exp(-x))
