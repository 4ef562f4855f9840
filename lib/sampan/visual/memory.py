"""A view and the memory under it: which cell of memory each element of a tensor reads."""

from itertools import product
from typing import Any

import torch

from .style import COLORS, EMPTY, INK, MUTED, bare_axes, figure, plotly

MOST_ELEMENTS = 256
ROW = 12  # cells of memory drawn in one row


def strides(tensor: Any, name: str = "the view") -> Any:
    """Figure of a view (above, in its shape) over its memory (below, in order of address).

    `tensor` is a Tensor or a buffer of 1 to 256 elements and at most 3 axes. Every element of the view
    carries the colour of the memory cell that it reads; cells that the view does not reach are grey. Hover
    over an element for offset = storage offset + sum(index * stride). Raises `TypeError` for anything else,
    `ValueError` for other sizes.
    """
    buffer = tensor if isinstance(tensor, torch.Tensor) else getattr(tensor, "data", None)
    if not isinstance(buffer, torch.Tensor):
        raise TypeError(f"strides: tensor must be a Tensor or a buffer, got {type(tensor).__name__}")
    if not 1 <= buffer.numel() <= MOST_ELEMENTS or buffer.ndim > 3:
        most = f"1 to {MOST_ELEMENTS} elements on at most 3 axes can be drawn"
        raise ValueError(f"strides: {most}, got shape {list(buffer.shape)}")
    buffer = buffer.detach().cpu()
    cells = buffer.untyped_storage().nbytes() // buffer.element_size()
    reads = _reads(buffer)
    first, last = min(reads.values()), max(reads.values())
    begin = first // ROW * ROW
    end = min(cells, (last // ROW + 1) * ROW)
    memory = buffer.as_strided((end - begin,), (1,), begin)

    facts = f"shape {list(buffer.shape)}, strides {list(buffer.stride())}, offset {buffer.storage_offset()}"
    seen = f"{len(reads)} elements read {len(set(reads.values()))} of {cells} cells"
    title = f"{name}: {facts}   ·   {seen}, {buffer.element_size()} bytes each"
    places, height_of_view = _places(tuple(buffer.shape))
    rows = (end - begin + ROW - 1) // ROW
    made = figure(title, height=max(240, 90 + 34 * int(height_of_view + rows + 2)), showlegend=False)
    values = [buffer[index].item() for index in reads]
    colors = [_color(at - first, last - first) for at in reads.values()]
    hover = [
        f"index {list(index)}<br>offset {_sum(index, buffer)} = <b>{at}</b><br>value {value:.6g}"
        for (index, at), value in zip(reads.items(), values, strict=True)
    ]
    made.add_trace(_squares([places[index] for index in reads], colors, values, hover))
    top = height_of_view + 1.2
    readers = {at: [list(i) for i, where in reads.items() if where == at] for at in set(reads.values())}
    slots = range(begin, end)
    cells_at = [((at - begin) % ROW, top + (at - begin) // ROW) for at in slots]
    colors = [_color(at - first, last - first) if at in readers else EMPTY for at in slots]
    read_by = [f"read by {_some(readers[at])}" if at in readers else "not in this view" for at in slots]
    hover = [f"cell {at}<br>{text}" for at, text in zip(slots, read_by, strict=True)]
    made.add_trace(_squares(cells_at, colors, [value.item() for value in memory], hover))
    for text, y in ((name, -0.85), ("its memory", top - 0.85)):
        made.add_annotation(x=-0.5, y=y, text=text, showarrow=False, xanchor="left", font={"color": MUTED})
    wide = max(ROW, max(x for x, _ in places.values()) + 1)
    bare_axes(made, (-0.7, wide - 0.3), (top + rows - 0.2, -1.3))
    return made


def _reads(buffer: torch.Tensor) -> dict[tuple[int, ...], int]:
    """The memory cell of every index, in order of the view."""
    steps, start = buffer.stride(), int(buffer.storage_offset())
    indices = product(*(range(n) for n in buffer.shape))
    return {index: start + sum(i * s for i, s in zip(index, steps, strict=True)) for index in indices}


def _places(shape: tuple[int, ...]) -> tuple[dict[tuple[int, ...], tuple[float, float]], float]:
    """Where each element is drawn: the last axis to the right, the one before it down, a third in panels to
    the right."""
    _, height, width = (1, 1, 1, *shape)[-3:]
    places = {}
    for index in product(*(range(n) for n in shape)):
        panel, row, column = (0, 0, 0, *index)[-3:]
        places[index] = (column + panel * (width + 0.6), float(row))
    return places, float(height)


def _squares(places: list[Any], colors: list[str], values: list[Any], hover: list[str]) -> Any:
    (x, y), shown = zip(*places, strict=True), [_short(value) for value in values]
    marker = {"symbol": "square", "size": 26, "color": colors, "line": {"color": "white", "width": 1}}
    texts = {"text": shown, "textfont": {"size": 11, "color": [_ink(color) for color in colors]}}
    about = {"hovertext": hover, "hoverinfo": "text"}
    return plotly().Scatter(x=x, y=y, mode="markers+text", marker=marker, **texts, **about)


def _color(position: int, span: int) -> str:
    """From blue to orange along the memory, so that the order of reading shows."""
    start, stop = (COLORS[0], COLORS[1])
    part = position / span if span else 0.0
    ends = ((int(start[i : i + 2], 16), int(stop[i : i + 2], 16)) for i in (1, 3, 5))
    mixed = (round(a * (1 - part) + b * part) for a, b in ends)
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _ink(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 150 else INK


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else str(value)


def _sum(index: tuple[int, ...], buffer: torch.Tensor) -> str:
    parts = [f"{i}·{s}" for i, s in zip(index, buffer.stride(), strict=True)]
    return " + ".join([str(buffer.storage_offset()), *parts])


def _some(indices: list[list[int]]) -> str:
    shown = ", ".join(map(str, indices[:4]))
    return shown if len(indices) <= 4 else f"{shown} and {len(indices) - 4} more"
