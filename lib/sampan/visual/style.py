"""One look for all figures, and the one place that imports plotly (late: the library works without it)."""

from types import ModuleType
from typing import Any

INK = "#1f2a37"
MUTED = "#8a94a3"
EMPTY = "#e6e9ee"
# Colours that stay apart for the common kinds of colour blindness (Okabe and Ito, 2008).
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7A5195")


def plotly() -> ModuleType:
    """`plotly.graph_objects`. Raises `ImportError` naming the extra that brings plotly."""
    try:
        import plotly.graph_objects as graph_objects
    except ImportError as error:
        raise ImportError("sampan.visual draws with plotly: pip install 'sampan[course]'") from error
    module: ModuleType = graph_objects
    return module


def figure(title: str, height: int, **layout: Any) -> Any:
    """An empty figure in the common look; its width follows the page."""
    made = plotly().Figure()
    font = {"family": "system-ui, sans-serif", "size": 13, "color": INK}
    head = {"text": title, "font": {"size": 15}}
    made.update_layout(title=head, template="plotly_white", font=font, height=height, autosize=True, **layout)
    made.update_layout(margin={"l": 20, "r": 20, "t": 48, "b": 20})
    return made


def bare_axes(made: Any, x: tuple[float, float], y: tuple[float, float], square: bool = False) -> None:
    """Axes as a mere sheet of paper: no ticks, no grid, y downwards when y[0] > y[1]."""
    made.update_xaxes(visible=False, range=list(x), fixedrange=True)
    scaled = {"scaleanchor": "x"} if square else {}
    made.update_yaxes(visible=False, range=list(y), fixedrange=True, **scaled)
