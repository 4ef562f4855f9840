"""Arguments that several tables have, checked by name."""

import math
from typing import Any

import numpy as np

from ..kernels.cpu_embedding_hash import KINDS


def whole(name: str, value: Any, least: int = 1, otherwise: str = "") -> None:
    """A whole number of at least `least`; TypeError or ValueError for another."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected a whole number{otherwise}, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected {least} or more{otherwise}, got {value}")


def size(name: str, value: Any, otherwise: str = "") -> int:
    """A length of 1 or more as an int: a float is taken where it is whole, as 1e8 is."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    whole(name, value, otherwise=otherwise)
    return int(value)


def drawing(initializer: Any, seed: Any) -> tuple[tuple[str, float], int]:
    """How rows are drawn: (kind, finite number) and a seed of 64 bits; TypeError or ValueError for others."""
    if not isinstance(initializer, tuple | list) or len(initializer) != 2:
        raise TypeError(
            f"initializer: expected a kind and a number, such as ('normal', 0.01), got {initializer!r}"
        )
    kind, scale = initializer
    if kind not in KINDS:
        raise ValueError(f"initializer: expected one of {', '.join(KINDS)}, got {kind!r}")
    if isinstance(scale, bool) or not isinstance(scale, int | float | np.number) or not math.isfinite(scale):
        raise ValueError(f"initializer: expected a finite number beside {kind!r}, got {scale!r}")
    whole("seed", seed, 0)
    if seed >= 1 << 64:
        raise ValueError(f"seed: expected less than 2**64, got {seed}")
    return (kind, float(scale)), int(seed)


def numbers(name: str, ids: Any) -> np.ndarray:
    """An array of int32 or int64; TypeError for anything else."""
    found = np.asarray(ids)
    if found.dtype not in (np.int32, np.int64):
        raise TypeError(f"{name}: expected int32 or int64, got {found.dtype}")
    return found
