"""A Program as a picture: a dot for each call in the order of the run, lines for the values, in columns from the left.

Every call keeps its place from pass to pass; where one is gone, a ring stays. Independent of widgets and of plotly: the
figure is its JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from ..common.figures import size
from .part import known, words

ROWS, ROW = 28, 22  # calls of a column, pixels of a call
ROOMY = 1  # columns up to which a label has the shape too
KINDS = {
    "convolution": ("convol", "conv2d"),
    "product": ("mm", "matmul", "linear", "affine", "attention", "bmm"),
    "norm": ("normalize", "norm"),
    "activation": ("relu", "gelu", "sigmoid", "tanh", "softmax", "silu", "swish", "elu"),
    "shape": ("reshape", "transpose", "expand", "flatten", "squeeze", "permute", "assign", "concat", "split", "cast"),
}  # fmt: skip  # a table
SLOTS = {"convolution": 1, "product": 2, "norm": 3, "activation": 4, "other": 5, "shape": 6}
INPUT, GONE = "var(--sp-ink)", "var(--sp-edge)"


def kind_of(name: str) -> str:
    """The kind of a call, by the name of its operator."""
    return next((kind for kind, parts in KINDS.items() if any(part in name for part in parts)), "other")


def colour(kind: str) -> str:
    """The colour of a kind, as static/graph.css has its legend."""
    slot = SLOTS[kind]
    return "var(--sp-soft)" if slot == 6 else f"var(--sp-run-{slot})"


def places(recorded: Any) -> dict[Any, int]:
    """The place of each value of a recorded Program by its Ref: inputs first, then results in the order of the calls."""
    from sampan.jit.program import Ref, refs

    read = sorted({ref for call in recorded.program.calls for ref in refs(call.args) if ref.kind == "x"})
    order: list[Ref] = [*read]
    found = {ref: i for i, ref in enumerate(order)}
    for call in recorded.program.calls:
        place = len(set(found.values()))
        found |= {ref: place for ref in refs(call.result)}
    return found


def joined(recorded: Any, stage: Any) -> list[Any]:
    """The calls of a stage that stand for several recorded ones: another function makes the same value."""
    before = {repr(call.result): call.name for call in recorded.program.calls}
    return [call for call in stage.program.calls if before.get(repr(call.result), call.name) != call.name]


def picture(recorded: Any, stage: Any, lang: str) -> str:
    """The figure's JSON of a Program after a pass, with the places of the recorded one."""
    from sampan.jit.program import refs

    place = places(recorded)
    total = len(set(place.values()))
    rows = min(ROWS, total)
    columns = -(-total // rows)
    rows = -(-total // columns)

    def at(number: int) -> tuple[float, float]:
        return float(number // rows), -float(number % rows)

    fused = {repr(call.result) for call in joined(recorded, stage)}
    present = {place[ref] for ref in place if ref.kind == "x"}
    present |= {place[ref] for call in stage.program.calls for ref in refs(call.result) if ref in place}
    dots: list[dict[str, Any]] = []
    lines: tuple[list[float | None], list[float | None]] = ([], [])
    for ref in (ref for ref in place if ref.kind == "x"):
        dots.append(
            _dot(at(place[ref]), words("program.input", lang), INPUT, "square", stage, ref, _fact(stage, ref))
        )
    for call in stage.program.calls:
        made = next((ref for ref in refs(call.result) if ref in place), None)
        if made is None:
            continue
        symbol = "diamond" if repr(call.result) in fused else "circle"
        dots.append(
            _dot(
                at(place[made]),
                call.name,
                colour(kind_of(call.name)),
                symbol,
                stage,
                made,
                _hover(stage, call, lang),
            )
        )
        for ref in dict.fromkeys(refs([call.args, call.settings])):
            if ref in place and place[ref] < place[made]:
                past = any(number in present for number in range(place[ref] + 1, place[made]))
                _join(lines, at(place[ref]), at(place[made]), columns if past else 0)
    gone = [at(number) for number in range(total) if number not in present]
    traces = [
        _trace("lines", lines[0], lines[1], line={"color": "#8a94a3", "width": 1}, hoverinfo="skip"),
        _trace(
            "markers", [x for x, _ in gone], [y for _, y in gone], hoverinfo="text",
            hovertext=[words("program.gone", lang)] * len(gone),
            marker={"size": 9, "symbol": "circle-open", "color": GONE},
        ),
        _trace(
            "markers+text", [dot["x"] for dot in dots], [dot["y"] for dot in dots], text=[dot["name"] if columns > ROOMY else dot["label"] for dot in dots],
            textposition="middle right", textfont={"size": 11, "color": "#1f2a37"},
            hovertext=[dot["hover"] for dot in dots], hoverinfo="text",
            marker={"size": 11, "symbol": [dot["symbol"] for dot in dots], "color": [dot["colour"] for dot in dots]},
        ),
    ]  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    layout = {
        "height": ROW * rows + 24, "showlegend": False, "hovermode": "closest", "margin": {"l": 4, "r": 4, "t": 8, "b": 8},
        "xaxis": {"visible": False, "range": [-0.04 * columns, columns - 0.1]}, "yaxis": {"visible": False, "range": [0.7 - rows, 0.7]},
    }  # fmt: skip  # a figure: an entry of plotly to a place, not to a line
    return json.dumps({"data": traces, "layout": layout})


def legend(stage: Any, lang: str) -> str:
    """The colours of the kinds that the Program has."""
    seen = dict.fromkeys(kind_of(call.name) for call in stage.program.calls)
    items = "".join(
        f'<li><span class="gr-swatch is-{slot}"></span>{escape(words(f"program.kind.{kind}", lang))}</li>'
        for kind, slot in SLOTS.items()
        if kind in seen
    )
    return f'<ul class="gr-legend">{items}<li>◆ {escape(words("program.joined", lang))}</li><li>○ {escape(words("program.gone", lang))}</li></ul>'


def listing(stage: Any) -> str:
    """The calls as text, for a screen reader and for reading."""
    return "\n".join(f"{call!r}" for call in stage.program.calls)


def pass_name(name: str, lang: str) -> str:
    """What a pass does, in a few words; "" is the Program as it was recorded."""
    return words("pass.recorded", lang) if not name else known(f"pass.{name}", lang, name.replace("_", " "))


# --- pieces of the picture ------------------------------------------------------------------------------------


def _trace(mode: str, x: Sequence[Any], y: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y), "cliponaxis": False, **more}


def _dot(
    at: tuple[float, float], name: str, colour: str, symbol: str, stage: Any, ref: Any, hover: str
) -> dict[str, Any]:
    """A call, or an input; `label` is its name with the shape of its value."""
    label = f"{name}  <i>{_shape(stage, ref)}</i>"
    return {
        "x": at[0],
        "y": at[1],
        "name": name,
        "label": label,
        "colour": colour,
        "symbol": symbol,
        "hover": hover,
    }


def _shape(stage: Any, ref: Any) -> str:
    return "×".join(map(str, stage.values[ref].shape)) or "·"


def _fact(stage: Any, ref: Any) -> str:
    value = stage.values.get(ref)
    return f"{ref!r}: {_shape(stage, ref)} {value.dtype}, {size(value.bytes)}" if value else repr(ref)


def _hover(stage: Any, call: Any, lang: str) -> str:
    from sampan.jit.program import refs

    given = [_fact(stage, ref) for ref in dict.fromkeys(refs([call.args, call.settings]))]
    lines = [f"<b>{escape(call.name)}</b>", *(escape(_fact(stage, ref)) for ref in refs(call.result))]
    if given:
        lines += [words("program.reads", lang), *map(escape, given)]
    return "<br>".join([*lines, escape(call.line)])


def _join(lines: Any, start: tuple[float, float], end: tuple[float, float], columns: int) -> None:
    """A line between two places: straight where nothing is between them (columns: 0) or in another column, else a curve on the
    left, of the same width in pixels for each number of columns."""
    (x0, y0), (x1, y1) = start, end
    bend = min(0.008 + 0.0025 * (y0 - y1), 0.033) * columns if x0 == x1 else 0.0
    points = [(x0, y0), (x1, y1)]
    if bend or x0 != x1:
        points = []
        for i in range(13):
            s = i / 12
            points.append((x0 + (x1 - x0) * s * s * (3 - 2 * s) - bend * 4 * s * (1 - s), y0 + (y1 - y0) * s))
    lines[0].extend([*(x for x, _ in points), None])
    lines[1].extend([*(y for _, y in points), None])
