"""How a tensor is written: Paddle's layout, every entry as wide as the widest at the edges."""

from typing import Any

import numpy as np

# See set_printoptions.
options: dict[str, Any] = {
    "precision": 8,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 80,
    "sci_mode": False,
}


def _entry(value: Any) -> str:
    kind = f".{options['precision']}{'e' if options['sci_mode'] else 'f'}"
    if isinstance(value, np.complexfloating):
        return f"({value.real:{kind}}{'+' if value.imag >= 0 else ''}{value.imag:{kind}}j)"
    if not isinstance(value, np.floating):
        return str(value)
    return f"{value:.0f}." if np.ceil(value) == value and not options["sci_mode"] else f"{value:{kind}}"


def _layout(array: np.ndarray, indent: int, width: int, signed: bool, short: bool) -> str:
    if array.ndim == 0:
        text = _entry(array[()])
        if signed and not array < 0 and width > len(text):
            text = f" {text}"
        return text.ljust(width)
    edge, below = options["edgeitems"], indent + 1
    cut = short and len(array) > 2 * edge
    parts = [
        _layout(a, below, width, signed, short) for a in ([*array[:edge], *array[-edge:]] if cut else array)
    ]
    if cut:
        parts.insert(edge, "...")
    if array.ndim == 1:
        count = max(1, (options["linewidth"] - indent) // (width + 2))
        lines = [", ".join(parts[i : i + count]) for i in range(0, len(parts), count)]
        return "[" + (",\n" + " " * below).join(lines) + "]"
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * below).join(parts) + "]"


def layout(array: np.ndarray, indent: int = 0) -> str:
    """The entries of an array; beyond `threshold` of them only those at the edges."""
    shown = array
    for axis, length in enumerate(array.shape):
        edge = options["edgeitems"]
        if length > 2 * edge:
            shown = np.take(shown, [*range(edge), *range(length - edge, length)], axis)
    entries = list(shown.ravel())
    width, signed = max((len(_entry(e)) for e in entries), default=0), any(e < 0 for e in entries)
    return _layout(array, indent, width, signed, array.size > options["threshold"])
