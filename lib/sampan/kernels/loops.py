"""How a kernel picks its form: a serial and a parallel loop from one body, by size; every choice can be
watched."""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba

listeners: list[Callable[[str], None]] = []  # called with the name of each loop that runs: see trace
_loops: list["Loop"] = []


class Loop:
    """A body over flat arrays, compiled twice: serial below `parallel_from` elements of its last array, else
    parallel.

    A serial call costs about 1 µs, starting threads 20 to 100 µs. Both compile when first used and keep their
    machine code on disk. With NUMBA_DISABLE_JIT=1 the body runs as plain Python. `fastmath` is Numba's: a set
    such as {"reassoc"} lets a sum be reordered, so that it vectorises.
    """

    __slots__ = ("name", "parallel", "parallel_from", "serial")

    def __init__(
        self, body: Callable[..., None], parallel_from: int, name: str = "", fastmath: Any = False
    ) -> None:
        self.name = name or body.__name__.strip("_")
        self.parallel_from = parallel_from
        self.serial = _compiled(body, "serial", fastmath)
        self.parallel = _compiled(body, "parallel", fastmath)
        _loops.append(self)

    def __call__(self, *arrays: Any, size: int) -> None:
        parallel = size >= self.parallel_from
        if listeners:
            for listener in listeners:
                listener(f"{self.name} ({'parallel' if parallel else 'serial'})")
        (self.parallel if parallel else self.serial)(*arrays)


def in_both_forms() -> Iterator[None]:
    """Twice, to warm loops up: every loop is parallel at first and then serial, whatever the size."""
    usual = {loop: loop.parallel_from for loop in _loops}
    try:
        for parallel_from in (0, 1 << 62):
            for loop in usual:
                loop.parallel_from = parallel_from
            yield
    finally:
        for loop, parallel_from in usual.items():
            loop.parallel_from = parallel_from


def _compiled(body: Any, form: str, fastmath: Any) -> Callable[..., None]:
    """One form of a body, under a name of its own: Numba keeps machine code by name and would mistake one for
    the other."""
    copy = FunctionType(body.__code__, body.__globals__, f"{body.__name__}_{form}", None, body.__closure__)
    copy.__qualname__, copy.__module__ = copy.__name__, body.__module__
    return numba.njit(cache=True, parallel=form == "parallel", error_model="numpy", fastmath=fastmath)(copy)
