"""The widgets that this Studio draws itself: one ES module each in `static/`, no build, nothing from the net.

They know nothing of training or of languages: sentences come in as traits.
"""

from __future__ import annotations

import anywidget
import traitlets

from ..paths import STATIC


class LiveChart(anywidget.AnyWidget):
    """Lines that grow while something runs (`static/live_chart.js`).

    `finished` and `live` hold series {id, run, slot, kind, x, y}; `kind` is "train" or "test", `slot` 1..5 the
    colour. `summary` is for screen readers: change it when there is something to say, not with every point.
    """

    _esm = STATIC / "live_chart.js"
    title = traitlets.Unicode().tag(sync=True)
    format = traitlets.Enum(("number", "percent"), "number").tag(sync=True)
    x_label = traitlets.Unicode().tag(sync=True)
    x_max = traitlets.Float(1.0).tag(sync=True)
    kinds = traitlets.Dict({"train": "train", "test": "test"}).tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    finished = traitlets.List(traitlets.Dict()).tag(sync=True)
    live = traitlets.List(traitlets.Dict()).tag(sync=True)


class DigitPad(anywidget.AnyWidget):
    """A pad to draw on (`static/digit_pad.js`): `pixels` are side x side bytes, 255 is ink.

    Sends {"clear": true} when the visitor cleared it. Setting `picture` (bytes of a square picture) shows it on the pad.
    """

    _esm = STATIC / "digit_pad.js"
    side = traitlets.Int(140).tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    hint = traitlets.Unicode().tag(sync=True)
    clear_label = traitlets.Unicode().tag(sync=True)
    # Buffers arrive as memoryviews, which the trait would refuse.
    pixels = traitlets.Bytes(b"").tag(sync=True, from_json=lambda value, _widget: bytes(value))
    picture = traitlets.Bytes(b"").tag(sync=True)


class RunTable(anywidget.AnyWidget):
    """The runs that are compared (`static/run_table.js`); sends {"show": id} and {"remove": id}."""

    _esm = STATIC / "run_table.js"
    columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class TapeWalk(anywidget.AnyWidget):
    """A program on the tape, walked step by step (`static/tape_walk.js`).

    `data` holds boxes, lines, steps and sources as `Walk` makes them; new data begins at the first step. `words` are
    the sentences of its controls.
    """

    _esm = STATIC / "tape_walk.js"
    data = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
