"""Pictures that move, step by step, beside code that is hard to imagine: `pictures.show("counting_sort")` in a notebook.

A picture is HTML without a script: its buttons are radio buttons (arrow keys move among them), one of which plays, and a
style shows the chosen step. It also works where scripts are not allowed, and its steps follow each other where styles
are not. The steps are made from a small computation, `steps.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from sampan.learn.language import say

Text = tuple[str, str]  # English, Chinese
SECONDS = 2.2  # of a step while it plays
CELL, GAP, ROW, LEFT = (
    46,
    4,
    64,
    118,
)  # pixels: a cell, between cells, between rows of cells, for the name of a row


@dataclass(frozen=True)
class Row:
    """An array: its name, and its numbers as texts. hot: the cells that this step writes; read: those that it reads."""

    name: str
    cells: Sequence[str]
    hot: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Step:
    """What is seen and said. link: a line from the cell (row, place) to another one."""

    rows: Sequence[Row]
    said: Text
    link: tuple[tuple[int, int], tuple[int, int]] | None = None


@dataclass(frozen=True)
class Picture:
    """Steps under a title. In a notebook it is HTML in the language of the lesson."""

    name: str
    title: Text
    steps: Sequence[Step]

    def _repr_html_(self) -> str:
        count = len(self.steps)
        frames = "".join(
            f'<div class="pc-step">{drawing(step)}<p><b>{number}/{count}</b> {escape(say(step.said))}</p></div>'
            for number, step in enumerate(self.steps, 1)
        )
        # A form of its own: the radio buttons of two copies of this picture stay apart. It cannot be sent.
        buttons = "".join(
            f'<label><input type="radio" name="step" value="{number}"{" checked" if number == 1 else ""}>'
            f'<span class="pc-button">{number}</span></label>'
            for number in range(1, count + 1)
        )
        play = (
            f'<label class="pc-motion"><input type="radio" name="step" value="play"><span class="pc-button">{say(PLAY)}</span></label>'
            f'<label class="pc-motion pc-pause"><input type="checkbox"><span class="pc-button">{say(PAUSE)}</span></label>'
        )
        title = escape(say(self.title))
        return (
            f'<figure class="pc pc-{self.name}" data-lm-suppress-shortcuts="true"><style>{style(self.name, count)}</style>'
            f'<figcaption>{title}</figcaption><div class="pc-steps">{frames}</div><form method="dialog"><fieldset>'
            f"<legend>{say(STEPS)}</legend>{buttons}{play}</fieldset></form></figure>"
        )

    def __repr__(self) -> str:
        return f"{say(self.title)} ({len(self.steps)})"


PLAY: Text = ("Play", "播放")
PAUSE: Text = ("Pause", "暂停")
STEPS: Text = ("Step", "步骤")

_STYLE = """
.pc{margin:0;max-width:46rem;color:var(--jp-ui-font-color1,inherit);font-family:var(--jp-ui-font-family,sans-serif)}
.pc figcaption{font-weight:600}
.pc-steps{display:grid}.pc-step{grid-area:1/1;visibility:hidden}.pc-step p{margin:.2rem 0 .5rem;min-height:3em}
.pc svg{max-width:100%;height:auto;display:block}
.pc svg text{font:14px var(--jp-ui-font-family,sans-serif);fill:currentColor;text-anchor:middle}
.pc svg .pc-name{text-anchor:end;font-style:italic}.pc svg .pc-at{font-size:10px;opacity:.75}
.pc svg rect{fill:none;stroke:currentColor;stroke-opacity:.45}
.pc svg .is-read{fill:#2a9d8f;fill-opacity:.25;stroke:#2a9d8f;stroke-opacity:1;stroke-width:2}
.pc svg .is-hot{fill:#e07a1f;fill-opacity:.3;stroke:#e07a1f;stroke-opacity:1;stroke-width:2.5}
.pc svg path{fill:none;stroke:#e07a1f;stroke-width:2;marker-end:none}
.pc fieldset{border:0;padding:0;margin:0;display:flex;flex-wrap:wrap;gap:4px;align-items:center}
.pc legend{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.pc label{position:relative;cursor:pointer}
.pc input{position:absolute;opacity:0;inset:0;margin:0;width:100%;height:100%;cursor:pointer}
.pc-button{display:inline-block;min-width:1.6rem;text-align:center;padding:.25rem .5rem;border:1px solid currentColor;border-radius:6px}
.pc input:checked+.pc-button{background:#0a6a6a;color:#fff;border-color:#0a6a6a}
.pc input:focus-visible+.pc-button{outline:3px solid #e07a1f;outline-offset:1px}
.pc:not(:has([value=play]:checked)) .pc-pause{display:none}
@media (prefers-reduced-motion:reduce){.pc .pc-motion{display:none}}
@media print{.pc .pc-step{visibility:visible;grid-area:auto}.pc form{display:none}}
"""


def style(name: str, count: int) -> str:
    """The style of one picture: which step is seen, and for how long while it plays."""
    chosen = ",".join(
        f".pc-{name}:has([value='{k}']:checked) .pc-step:nth-child({k})" for k in range(1, count + 1)
    )
    delays = "".join(
        f".pc-{name} .pc-step:nth-child({k}){{animation-delay:{(k - 1) * SECONDS:g}s}}"
        for k in range(1, count + 1)
    )
    plays = f".pc-{name}:has([value=play]:checked) .pc-step"
    return (
        f"{_STYLE}{chosen}{{visibility:visible}}"
        f"@keyframes pc-{name}{{0%{{visibility:visible}}{100 / count:.4f}%,100%{{visibility:hidden}}}}"
        f"{plays}{{animation:pc-{name} {count * SECONDS:g}s step-end infinite backwards}}{delays}"
        f".pc-{name}:has([type=checkbox]:checked) .pc-step{{animation-play-state:paused}}"
    ).replace("\n", "")


def drawing(step: Step) -> str:
    """The arrays of a step as SVG, one below the other."""
    width = LEFT + max(len(row.cells) for row in step.rows) * (CELL + GAP)
    parts = []
    for at, row in enumerate(step.rows):
        y = at * ROW
        parts.append(f'<text class="pc-name" x="{LEFT - 10}" y="{y + 28}">{escape(row.name)}</text>')
        for place, text in enumerate(row.cells):
            x = LEFT + place * (CELL + GAP)
            mark = ' class="is-hot"' if place in row.hot else ' class="is-read"' if place in row.read else ""
            parts.append(f'<rect{mark} x="{x}" y="{y + 6}" width="{CELL}" height="34" rx="4"/>')
            parts.append(f'<text x="{x + CELL / 2:g}" y="{y + 28}">{escape(text)}</text>')
            parts.append(f'<text class="pc-at" x="{x + CELL / 2:g}" y="{y + 52}">{place}</text>')
    if step.link is not None:
        (upper, place), (lower, to_place) = step.link
        begin, end = (LEFT + p * (CELL + GAP) + CELL / 2 for p in (place, to_place))
        top, bottom = upper * ROW + 40, lower * ROW + 6
        parts.append(
            f'<path d="M{begin:g} {top}C{begin:g} {top + 18} {end:g} {bottom - 18} {end:g} {bottom}"/>'
        )
    height = len(step.rows) * ROW
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true">{"".join(parts)}</svg>'


def show(name: str) -> Picture:
    """The picture of that name. Raises `ValueError` that lists the names."""
    from . import steps

    made: dict[str, Callable[[], Picture]] = steps.PICTURES
    if name not in made:
        raise ValueError(f"show: there is no picture {name!r}; there are {', '.join(sorted(made))}")
    return made[name]()
