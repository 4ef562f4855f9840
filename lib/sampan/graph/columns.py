"""Features of nodes or edges that grow in number, and checks of what is written to them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.tensor import Tensor


def array(values: Any) -> np.ndarray:
    return values.numpy() if isinstance(values, Tensor) else np.asarray(values)


def moment(time: Any, what: str, bound: bool = False) -> float:
    """A time as a finite number; the bound of a window may be infinite. Raises TypeError and ValueError."""
    if type(time) is float and math.isfinite(time):
        return time
    if not hasattr(time, "__float__"):
        raise TypeError(f"{what}: expected a number, got {time!r}")
    found = float(time)
    if math.isnan(found) or (math.isinf(found) and not bound):
        raise ValueError(f"{what}: expected a {'number' if bound else 'finite number'}, got {found}")
    return found


def fitted(values: Any, column: np.ndarray, count: int, what: str) -> np.ndarray:
    """`count` rows of the shape and dtype of a column, as a copy. Raises ValueError for another shape and for
    whole numbers or texts that the dtype cannot hold, TypeError for another kind of dtype."""
    given = array(values)
    if given.shape != (count, *column.shape[1:]):
        expected = [count, *column.shape[1:]]
        raise ValueError(f"{what}: expected shape {expected}, got {list(given.shape)}")
    if given.dtype == column.dtype:
        return given.copy()
    if given.size and not np.can_cast(given.dtype, column.dtype, "same_kind"):
        raise TypeError(f"{what}: expected dtype {column.dtype}, got {given.dtype}")
    made = given.astype(column.dtype)  # NumPy warns where a float becomes infinite
    if column.dtype.kind in "iuSU" and (made != given).any():
        raise ValueError(f"{what}: expected values that fit {column.dtype}, got {given[made != given][0]!r}")
    return made


class Columns:
    """Features by name, an array [slots, ...] each, which grow, and are copied before a write that a snapshot
    would see."""

    def __init__(self, given: Mapping[str, Any] | None, count: int, what: str) -> None:
        self.what, self.arrays, self.versions = what, {}, {}
        for name, values in (given or {}).items():
            self.arrays[name] = array(values).copy()
            self.versions[name] = 0
            shape = list(self.arrays[name].shape)
            if shape[:1] != [count]:
                raise ValueError(
                    f"DynamicGraph: {what}: expected {count} rows in {name!r}, got shape {shape}"
                )

    def named(self, name: str, function: str) -> np.ndarray:
        """The array of a feature. Raises ValueError for a name without one."""
        if name not in self.arrays:
            raise ValueError(f"{function}: expected one of {sorted(self.arrays)}, got {name!r}")
        found: np.ndarray = self.arrays[name]
        return found

    def checked(self, given: Mapping[str, Any] | None, count: int, function: str) -> dict[str, np.ndarray]:
        """Rows for each feature, of its shape and dtype."""
        given = given or {}
        if given.keys() != self.arrays.keys():
            raise ValueError(
                f"{function}: {self.what}: expected {sorted(self.arrays)}, got {sorted(map(str, given))}"
            )
        return {
            name: fitted(given[name], column, count, f"{function}: {self.what}: {name!r}")
            for name, column in self.arrays.items()
        }

    def grow(self, size: int) -> None:
        for name, column in self.arrays.items():
            if len(column) < size:
                made = np.zeros((max(size, 2 * len(column)), *column.shape[1:]), column.dtype)
                made[: len(column)] = column
                self.arrays[name] = made

    def write(self, places: Any, values: Mapping[str, np.ndarray]) -> None:
        """To places that no snapshot sees."""
        for name, rows in values.items():
            self.arrays[name][places] = rows

    def update(self, name: str, places: np.ndarray, values: np.ndarray, version: int, visible: int) -> None:
        if self.versions[name] <= visible:
            self.arrays[name], self.versions[name] = self.arrays[name].copy(), version
        self.arrays[name][places] = values
