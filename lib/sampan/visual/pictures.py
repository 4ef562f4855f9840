"""Many small images on one sheet."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .style import INK, bare_axes, figure, plotly

GAP = 0.15  # of an image's side, between two images
CAPTION = 0.28  # of an image's side, for the line under it


def images(pictures: Any, captions: Sequence[Any] | None = None, columns: int = 10, title: str = "") -> Any:
    """Figure of images [number, height, width] in rows of `columns`, dark on light, each with its caption
    under it.

    Values are stretched from the smallest to the largest of all. Raises `ValueError` for other shapes, or
    when there are not as many captions as images.
    """
    sheet = np.asarray(pictures if isinstance(pictures, np.ndarray) else getattr(pictures, "data", pictures))
    if sheet.ndim != 3 or not sheet.size:
        raise ValueError(f"images: pictures must be [number, height, width], got {list(sheet.shape)}")
    count, height, width = sheet.shape
    if captions is not None and len(captions) != count:
        raise ValueError(f"images: {count} pictures need {count} captions, got {len(captions)}")
    if columns < 1:
        raise ValueError(f"images: columns must be at least 1, got {columns}")
    columns = min(columns, count)
    rows = -(-count // columns)
    step_x = width + max(1, round(GAP * width))
    step_y = height + max(1, round((GAP if captions is None else CAPTION) * height))
    canvas = np.full((rows * step_y, columns * step_x), np.nan)
    made = figure(title, height=int(60 + 90 * rows * step_y / height), showlegend=False)
    for number, picture in enumerate(sheet):
        top, left = number // columns * step_y, number % columns * step_x
        canvas[top : top + height, left : left + width] = picture
        if captions is not None:
            x, y, font = left + width / 2 - 0.5, top + height + 0.1 * height, {"size": 11, "color": INK}
            made.add_annotation(x=x, y=y, text=str(captions[number]), showarrow=False, font=font)
    made.add_trace(plotly().Heatmap(z=canvas, colorscale="Greys", showscale=False, hoverinfo="skip"))
    bare_axes(made, (-0.5, canvas.shape[1] - 0.5), (canvas.shape[0] - 0.5, -0.5), square=True)
    return made
