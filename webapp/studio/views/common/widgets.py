"""The Studio's own widgets: one ES module each in `static/`, without a build step and without network access. They
do not depend on training or languages: sentences are traits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import anywidget
import ipywidgets
import traitlets

from studio.paths import STATIC


class Arrival(anywidget.AnyWidget):
    """An invisible widget: `arrived` becomes True when `root` is completely shown in the visitor's page
    (`static/arrival.js`)."""

    _esm = STATIC / "arrival.js"
    root = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)
    arrived = traitlets.Bool(False).tag(sync=True)


def put_up(root: Any, begin: Callable[[], None]) -> None:
    """Displays a page, and calls `begin` in a thread once it is shown.

    Not before: the front end reads the state of the widgets at one moment and listens to changes from a later one,
    so changes in between would be lost. The library loads meanwhile.
    """
    from IPython.display import display

    arrival, there = Arrival(root=root), threading.Event()
    arrival.observe(lambda _: there.set(), "arrived")
    display(root, arrival)

    def work() -> None:
        with suppress(Exception):  # `begin` raises it again, and shows it on the page
            import sampan  # noqa: F401  loads it while the page waits
        there.wait()
        begin()

    threading.Thread(target=work, name="library", daemon=True).start()


class LivePart(anywidget.AnyWidget):
    """A part of the page that the server renders and refreshes (`static/live_part.js`): `path` is its address under
    /studio. Its buttons are forms that the server answers."""

    _esm = STATIC / "live_part.js"
    path = traitlets.Unicode().tag(sync=True)
    loading = traitlets.Unicode().tag(sync=True)


class LiveChart(anywidget.AnyWidget):
    """Lines that grow while something runs (`static/live_chart.js`).

    `finished` and `live` hold series {id, run, slot, kind, x, y}; `kind` is "train" or "test", `slot` 1..5 the
    colour. `most` is the highest share of a percent chart. With `axis_words` {linear, logarithmic, why} a button switches the axis
    of the losses, and `why` is shown where it is logarithmic. `summary` is for screen readers: change it only for
    news, not with every point.
    """

    _esm = STATIC / "live_chart.js"
    title = traitlets.Unicode().tag(sync=True)
    format = traitlets.Enum(("number", "percent"), "number").tag(sync=True)
    x_label = traitlets.Unicode().tag(sync=True)
    x_max = traitlets.Float(1.0).tag(sync=True)
    most = traitlets.Float(1.0).tag(sync=True)
    kinds = traitlets.Dict({"train": "train", "test": "test"}).tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    finished = traitlets.List(traitlets.Dict()).tag(sync=True)
    live = traitlets.List(traitlets.Dict()).tag(sync=True)
    logarithmic = traitlets.Bool(False).tag(sync=True)
    chosen = traitlets.Bool(False).tag(sync=True)  # whether the visitor has switched the axis
    axis_words = traitlets.Dict().tag(sync=True)


class DigitPad(anywidget.AnyWidget):
    """A pad to draw on (`static/digit_pad.js`): `pixels` are side x side bytes, 255 is ink.

    Sends {"clear": true} when the visitor cleared it. Setting `picture` (bytes of a square image) shows it on the
    pad; `strokes`, lists of points [x, y] in 0..1, are drawn as the visitor's would be.
    """

    _esm = STATIC / "digit_pad.js"
    side = traitlets.Int(140).tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    hint = traitlets.Unicode().tag(sync=True)
    clear_label = traitlets.Unicode().tag(sync=True)
    # Buffers are received as memoryviews, which the trait would refuse.
    pixels = traitlets.Bytes(b"").tag(sync=True, from_json=lambda value, _widget: bytes(value))
    picture = traitlets.Bytes(b"").tag(sync=True)
    strokes = traitlets.List(traitlets.List(traitlets.List(traitlets.Float()))).tag(sync=True)


class UnitView(anywidget.AnyWidget):
    """The units of a first layer (`static/unit_view.js`): `weights` int8 [units, height, width] with `shape`, each unit
    scaled to its largest; `activations` uint8 [units], or empty without a picture. `label` is for screen readers."""

    _esm = STATIC / "unit_view.js"
    shape = traitlets.List(traitlets.Int(), [0, 0, 0]).tag(sync=True)
    weights = traitlets.Bytes(b"").tag(sync=True)
    activations = traitlets.Bytes(b"").tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)


class ShareLink(anywidget.AnyWidget):
    """The page's settings in its address (`static/share_link.js`): `given` is the query that the page was opened with,
    `query` the present one, which a button copies as a link."""

    _esm = STATIC / "share_link.js"
    given = traitlets.Unicode().tag(sync=True)
    query = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class RunTable(anywidget.AnyWidget):
    """The compared runs (`static/run_table.js`); sends {"show": id} and {"remove": id}."""

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


class Plot(anywidget.AnyWidget):
    """A plotly figure in the page's theme, with buttons and keys to zoom or rotate it (`static/plot.js`).

    `figure` is its JSON, "" shows `empty`. `summary` is a text below it. 3D plots of one `group` share their
    camera. `words` are the sentences of its controls. Sends {"click": {"line": name, "x": value}} for a point of a 2D plot.
    """

    _esm = STATIC / "plot.js"
    figure = traitlets.Unicode().tag(sync=True)
    version = traitlets.Unicode(version("plotly")).tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    group = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class Slider(anywidget.AnyWidget):
    """A slider over `texts`; `index` is the present one (`static/slider.js`). `live`: also updated while it is
    being moved."""

    _esm = STATIC / "slider.js"
    label = traitlets.Unicode().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)


class Tabs(anywidget.AnyWidget):
    """Tabs over parts of a page (`static/tabs.js`): of `names` the part is the widget of class `sx-tab-<name>`, of which
    only the `selected` one is shown. `title` is for screen readers."""

    _esm = STATIC / "tabs.js"
    title = traitlets.Unicode().tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)


class GraphView(anywidget.AnyWidget):
    """A graph drawn by WebGL (`static/graph_view.js`), to be moved, zoomed and clicked.

    `points`: float32 [nodes, 2]; `ends`: uint32 [edges, 2]; `slots`, `radii`: uint8 [nodes], the colour of a node (0 to
    8, see there) and its width in pixels. `names` of nodes are shown when there is room. `marks`: nodes and edges
    that stand out. `selected`: the chosen node, -1 for none. `words` are the sentences of its controls.
    """

    _esm = STATIC / "graph_view.js"
    title = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    points = traitlets.Bytes(b"").tag(sync=True)
    ends = traitlets.Bytes(b"").tag(sync=True)
    slots = traitlets.Bytes(b"").tag(sync=True)
    radii = traitlets.Bytes(b"").tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    marks = traitlets.Dict().tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    choosable = traitlets.Bool(True).tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class FileField(anywidget.AnyWidget):
    """A file of the visitor (`static/file_field.js`): `content` and `name`, at most `most` bytes. Sends
    {"ready": true} for a file that was read, {"too_large": bytes} for one that was not."""

    _esm = STATIC / "file_field.js"
    label = traitlets.Unicode().tag(sync=True)
    accept = traitlets.Unicode().tag(sync=True)
    most = traitlets.Int(1_000_000).tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    content = traitlets.Bytes(b"").tag(sync=True, from_json=lambda value, _widget: bytes(value))


class SoundDevice(anywidget.AnyWidget):
    """The visitor's microphone and loudspeaker (`static/sound_device.js`), with a button that starts and stops recording.

    While it records it sends {"kind": "begin", "run"}, then pieces {"kind": "chunk", "run", "seq", "dtype", "samples",
    "lost"} with a buffer of int16 at 16 kHz, mono, then {"kind": "end", "run"}; {"kind": "trouble", "why"} where the
    browser gives no sound. Each piece must be answered by {"kind": "ack", "run", "seq"}: at most `window` pieces are
    unanswered, a few more wait in the browser, and then the oldest are lost. It takes {"kind": "stop"};
    {"kind": "play", "rate"} with a buffer of int16, and {"kind": "hush"}, which ends only what is played. `worklet`: the source of `static/sound_worklet.js`.
    """

    _esm = STATIC / "sound_device.js"
    worklet = traitlets.Unicode().tag(sync=True)
    window = traitlets.Int(20).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    recording = traitlets.Bool(False).tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class SoundView(anywidget.AnyWidget):
    """A sound's waveform and log-mel spectrogram (`static/sound_view.js`), scrolling while it goes on.

    Takes {"kind": "sound"} with the buffers uint8 [frames, bands] and int8 [blocks, 2], 10 ms each, and {"kind":
    "clear"}. `bands`: Hz, the centre of each. `still`: the whole sound at once, as wide as the picture. `words` are
    the sentences of its controls.
    """

    _esm = STATIC / "sound_view.js"
    title = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    bands = traitlets.List(traitlets.Float()).tag(sync=True)
    still = traitlets.Bool(False).tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class HeatMap(anywidget.AnyWidget):
    """Probabilities of tokens by frame, and a path through them (`static/heat_map.js`).

    `data`: {tokens, frames, start, step, path}; `levels`: uint8 [tokens, frames]. `words` are the sentences of its
    controls.
    """

    _esm = STATIC / "heat_map.js"
    title = traitlets.Unicode().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    levels = traitlets.Bytes(b"").tag(sync=True)
    words = traitlets.Dict().tag(sync=True)


class SpokenText(anywidget.AnyWidget):
    """Text while it is recognised (`static/spoken_text.js`): `lines` {number, text, note} are complete, `final` will not
    change, `partial` may. A screen reader reads complete lines."""

    _esm = STATIC / "spoken_text.js"
    title = traitlets.Unicode().tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    lines = traitlets.List(traitlets.Dict()).tag(sync=True)
    final = traitlets.Unicode().tag(sync=True)
    partial = traitlets.Unicode().tag(sync=True)
