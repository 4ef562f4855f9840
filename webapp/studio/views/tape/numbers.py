"""The numbers of a run: a small sample of each value and of each gradient, taken when it is computed.

Independent of widgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 8, 12  # of a sample at most
DIGITS = 4  # significant ones
Table = dict[str, Any]


def table(buffer: Any) -> Table | None:
    """A sample of a tensor [..., columns] as rows and columns, the leading axes one after the other; None for complex
    numbers, which have no sign to colour by.

    {shape, height, rows, columns, values, least, greatest}: `height` is the number of rows of the tensor, `rows` and
    `columns` the sampled ones, evenly spaced. A number that is not finite is "nan", "inf" or "-inf". `least` and
    `greatest` are of all finite numbers, 0 where there are none.
    """
    if buffer.is_complex():
        return None
    shape = [int(length) for length in buffer.shape]
    width = shape[-1] if shape else 1
    height = math.prod(shape[:-1])
    numbers = buffer.detach().double().cpu().numpy().reshape(height, width)
    rows, columns = _spread(height, ROWS), _spread(width, COLUMNS)
    finite = numbers[np.isfinite(numbers)]
    return {
        "shape": shape,
        "height": height,
        "rows": rows,
        "columns": columns,
        "values": [[_plain(numbers[row, column]) for column in columns] for row in rows],
        "least": _plain(finite.min()) if finite.size else 0,
        "greatest": _plain(finite.max()) if finite.size else 0,
    }


def _spread(length: int, most: int) -> list[int]:
    """All of `length` places, or `most` evenly spaced ones with the first and the last."""
    if length <= most:
        return list(range(length))
    return [round(place * (length - 1) / (most - 1)) for place in range(most)]


def _plain(number: float) -> float | str:
    """Rounded, as JSON has it."""
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(float(number))


class Watch:
    """An observer of calls that leaves the recording to a `sampan.trace` and keeps samples of the numbers.

    values: for each record of the trace, by its position, one table per output. gradients: by Node, one table per
    output, None where none arrives.
    """

    def __init__(self, seen: Any) -> None:
        self.trace = seen
        self.values: dict[int, list[Table | None]] = {}
        self.gradients: dict[Any, list[Table | None]] = {}

    def forward(self, operator: Any, args: Any, buffers: list[Any], settings: dict[str, Any]) -> Any:
        before = len(self.trace)
        result = self.trace.forward(operator, args, buffers, settings)
        if len(self.trace) > before:  # a nested call is a part of its operator
            self.values[before] = _tables(result[0] if operator.saves else result)
        return result

    def backward(self, node: Any, gradient: Any, run: Callable[[], Any]) -> Any:
        self.gradients[node] = _tables(gradient)
        return self.trace.backward(node, gradient, run)


def _tables(value: Any) -> list[Table | None]:
    return [of(one) for one in (value if isinstance(value, (list, tuple)) else [value])]


def of(value: Any) -> Table | None:
    """The table of a buffer, a Tensor or a gradient of rows; None for None."""
    from sampan.trace import flat

    buffers = flat(value)
    return table(buffers[0]) if buffers else None


def drawn_again(numbers: NDArray[Any], seed: int) -> NDArray[Any]:
    """Other random numbers with the mean and the standard deviation of these; with deviation 1 where all are equal."""
    spread = float(numbers.std()) or 1.0
    return (
        np.random.default_rng(seed).normal(float(numbers.mean()), spread, numbers.shape).astype(numbers.dtype)
    )
