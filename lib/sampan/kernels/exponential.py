"""e^x that vectorises: for loops that cannot wait for the machine's own, which is called number by number."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload


def exp(x: Any) -> Any:
    """e^x: where the compiler is off."""
    return np.exp(x)


def _exp_float32(x):
    """e^x within 2 ulp by 2^n times a polynomial (Cephes), without branches, so that a loop over it
    vectorises."""
    bounded = min(max(x, np.float32(-87.0)), np.float32(88.0))
    n = np.floor(bounded * np.float32(1.4426950408889634) + np.float32(0.5))
    f = bounded - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * f + np.float32(1.3981999507e-3)
    p = p * f + np.float32(8.3334519073e-3)
    p = p * f + np.float32(4.1665795894e-2)
    p = p * f + np.float32(1.6666665459e-1)
    p = p * f + np.float32(5.0000001201e-1)
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return x if x != x else (p * f * f + f + np.float32(1.0)) * power


@overload(exp)
def _overload_exp(x):
    return _exp_float32 if x == types.float32 else lambda x: np.exp(x)
