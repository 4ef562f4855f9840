"""A shard that counts, for the tests of transports."""

import os
import time
from typing import Any

import numpy as np


class Counting:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def note(self, value: Any) -> int:
        """How many values there are now."""
        self.calls.append(value)
        return len(self.calls)

    def all(self) -> list[Any]:
        """The values, in their order."""
        return self.calls

    def doubled(self, array: np.ndarray) -> np.ndarray:
        """Twice an array."""
        return 2 * array

    def fail(self, kind: str) -> None:
        """Raise an error of this kind."""
        raise {"ValueError": ValueError, "ZeroDivisionError": ZeroDivisionError}[kind]("no")

    def end(self) -> None:
        """End the process without an answer."""
        os._exit(3)

    def sleep(self, seconds: float) -> None:
        """Answer later."""
        time.sleep(seconds)
