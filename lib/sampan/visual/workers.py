"""Workers in a ring, step by step: which gradients each chunk holds. Used by notebook 13."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..distributed import ring as workers
from .style import COLORS, EMPTY, INK, figure, plotly

MOST = 8  # workers: with more, a cell has no room for their numbers


class _Watched(workers.Links):
    """Links that note the state of a vector before each message."""

    def __init__(self, links: workers.Links, values: torch.Tensor) -> None:
        super().__init__(links.rank, links.world)
        self.links, self.values = links, values
        self.states: list[np.ndarray] = []

    def note(self) -> None:
        self.states.append(self.values.numpy().astype(np.int64))

    def _put(self, values: torch.Tensor) -> None:
        self.note()
        self.links.send(values)

    def _take(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        return self.links.receive(count, dtype)


def ring_states(world: int) -> np.ndarray:
    """What each chunk of each worker holds after each step of `distributed.ring.all_reduce`, which is run:
    [steps + 1, workers, chunks].

    A value is a set of workers as a number: worker r adds 2 to the power of r.
    """

    def work(links: workers.ThreadLinks) -> list[np.ndarray]:
        values = torch.full((world,), 2.0**links.rank)
        watched = _Watched(links, values)
        workers.all_reduce(values, watched)
        watched.note()
        return watched.states

    return np.stack(workers.run(world, work, timeout=10.0), 1)


def ring(
    world: int = 4, title: str = "", words: tuple[str, str, str] = ("worker", "chunk", "after step")
) -> Any:
    """Figure of `distributed.ring.all_reduce` with a slider for its steps: a row for each worker, a cell for
    each of its chunks, with the numbers of the workers whose values are in it. Cells that the step has
    changed have a frame, complete sums are green.

    words: the titles of rows and columns, and the label of the slider. Raises ValueError for fewer than 2 or
    more than 8 workers.
    """
    if not 2 <= world <= MOST:
        raise ValueError(f"ring: world: expected 2 to {MOST} workers, got {world}")
    states = ring_states(world)
    made = figure(title, height=150 + 62 * world, showlegend=False)
    bits = states[..., None] >> np.arange(world) & 1
    look = {"xgap": 6, "ygap": 10, "zmin": 0, "zmax": world, "showscale": False, "hoverinfo": "skip"}
    edge = 1 - 0.5 / world
    look["colorscale"] = [[0, EMPTY], [edge, COLORS[5]], [edge, COLORS[2]], [1, COLORS[2]]]
    look |= {"texttemplate": "%{text}", "textfont": {"color": INK, "size": 15}}
    for step, held in enumerate(bits):
        texts = [["+".join(map(str, cell.nonzero()[0])) for cell in row] for row in held]
        made.add_trace(plotly().Heatmap(z=held.sum(-1), text=texts, visible=step == 0, **look))
        changed = np.argwhere(states[step] != states[max(0, step - 1)])
        made.add_trace(_frames(changed, step == 0))
    shown = [[place // 2 == step for place in range(2 * len(states))] for step in range(len(states))]
    steps = [
        {"label": str(step), "method": "update", "args": [{"visible": list_}]}
        for step, list_ in enumerate(shown)
    ]
    made.update_layout(
        sliders=[{"steps": steps, "currentvalue": {"prefix": f"{words[2]} "}, "pad": {"t": 30}}]
    )
    for axes, word in ((made.update_yaxes, words[0]), (made.update_xaxes, words[1])):
        names = [f"{word} {number}" for number in range(world)]
        axes(tickvals=list(range(world)), ticktext=names, showgrid=False, zeroline=False)
    made.update_yaxes(autorange="reversed")
    made.update_xaxes(side="top")
    return made


def _frames(cells: np.ndarray, visible: bool) -> Any:
    """A trace with a frame around each of the cells [(row, column)]."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row, column in cells.tolist():
        left, right, top, bottom = column - 0.48, column + 0.48, row - 0.42, row + 0.42
        x += [left, right, right, left, left, None]
        y += [top, top, bottom, bottom, top, None]
    line = {"color": COLORS[4], "width": 3}
    return plotly().Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", visible=visible)
