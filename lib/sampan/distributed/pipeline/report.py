"""When the processes of a pipeline computed in a step, and how long they waited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .schedule import Action, Timed, bubble, formula, simulate

__all__ = ["Report", "Use"]

FORWARD, BACKWARD = "#2b6ca3", "#d9822b"


class Use(NamedTuple):
    """Seconds of a step in which a process computed, and in which it waited or sent."""

    busy: float
    idle: float


class Report:
    """The passes of one step, by process.

    timed: when they ran. micros: micro-batches. chunks: stages of each process. The step lasts from the first
    pass of any process to the last of any. Clocks of different machines differ, so `idle` and the figure hold
    for processes of one machine.
    """

    def __init__(self, timed: Sequence[Sequence[Timed]], micros: int, chunks: int = 1) -> None:
        self.micros, self.chunks = micros, chunks
        first = min(each.start for done in timed for each in done)
        self.timed = [
            [each._replace(start=each.start - first, end=each.end - first) for each in done] for done in timed
        ]

    @property
    def seconds(self) -> float:
        """How long the step lasted."""
        return max(each.end for done in self.timed for each in done)

    @property
    def stages(self) -> list[Use]:
        """What each process did with this time."""
        busy = [sum(each.end - each.start for each in done) for done in self.timed]
        return [Use(used, self.seconds - used) for used in busy]

    @property
    def bubble(self) -> float:
        """The share of the time of all processes in which they did not compute."""
        return bubble(self.timed)

    @property
    def formula(self) -> float:
        """That share where all stages take equally long and messages no time."""
        return formula(len(self.timed), self.micros, self.chunks)

    @property
    def replayed(self) -> float:
        """That share if each pass took the seconds in which its thread ran, and messages no time: so other
        programs on the machine add little to it."""
        cpu = {Action(*each[:3]): each.cpu for done in self.timed for each in done}
        orders = [[Action(*each[:3]) for each in done] for done in self.timed]
        return bubble(simulate(orders, cpu.__getitem__))

    def __repr__(self) -> str:
        rows = [
            f"  process {rank}: computes {use.busy * 1e3:.1f} ms, waits {use.idle * 1e3:.1f} ms"
            for rank, use in enumerate(self.stages)
        ]
        told = f"{self.seconds * 1e3:.1f} ms, bubble {self.bubble:.1%}, by the formula {self.formula:.1%}"
        return "\n".join(
            [f"Pipeline of {len(self.timed)} processes, {self.micros} micro-batches: {told}", *rows]
        )

    def figure(self) -> Any:
        """The passes as bars, a row for each process (plotly): forward blue, backward orange, with the
        numbers of the micro-batches."""
        import plotly.graph_objects as go

        drawn = go.Figure()
        for kind, name, color in (("F", "forward", FORWARD), ("B", "backward", BACKWARD)):
            bars = [
                (rank, each) for rank, done in enumerate(self.timed) for each in done if each.kind == kind
            ]
            drawn.add_bar(
                y=[f"process {rank}" for rank, _ in bars],
                x=[(each.end - each.start) * 1e3 for _, each in bars],
                base=[each.start * 1e3 for _, each in bars],
                text=[str(each.micro) for _, each in bars],
                customdata=[each.stage for _, each in bars],
                hovertemplate=f"{name} %{{text}}, stage %{{customdata}}: %{{x:.2f}} ms<extra></extra>",
                orientation="h",
                name=name,
                marker={"color": color, "line": {"color": "white", "width": 1}},
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
            )
        title = f"bubble {self.bubble:.1%}, by the formula {self.formula:.1%}"
        drawn.update_layout(
            barmode="overlay",
            title=title,
            height=120 + 50 * len(self.timed),
            xaxis_title="ms",
            yaxis={"autorange": "reversed"},
            plot_bgcolor="white",
            legend={"orientation": "h", "y": 1.15, "x": 1, "xanchor": "right"},
        )
        return drawn
