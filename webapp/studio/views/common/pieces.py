"""Layout of pages that compute: fields, buttons, cards, a form beside its results. The styles are in
`static/sparse.css`, those of a card in the Studio's own sheet.

The page passes the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from studio.i18n import t

from .curves import Curve
from .figures import notice

PLOT_WORDS = ("left", "right", "nearer", "farther", "spin", "stop", "reset", "keys", "failed")


def choice(label: str, options: Sequence[tuple[str, Any]], value: Any) -> widgets.Dropdown:
    """A dropdown with its label above it."""
    return _labelled(widgets.Dropdown(options=options, value=value, description=label))


def offer(field: widgets.Dropdown, options: Sequence[tuple[str, Any]], value: Any) -> None:
    """Other choices of a dropdown, and the chosen one. Both reach the page in one message, after all that observes the
    field: a visitor who saw the choices before could choose one, and `value` would replace it."""
    with field.hold_sync():
        field.options = options
        field.value = value


def text_field(label: str, value: str = "", hint: str = "") -> widgets.Text:
    """A text field. Its value changes when the visitor presses Enter or leaves it."""
    return _labelled(widgets.Text(value=value, description=label, placeholder=hint, continuous_update=False))


def number_field(label: str, value: int, least: int, most: int) -> widgets.BoundedIntText:
    field = _labelled(widgets.BoundedIntText(value=value, min=least, max=most, description=label))
    field.add_class("is-number")
    return field


def _labelled(field: Any) -> Any:
    field.style.description_width = "initial"
    field.add_class("sx-field")
    return field


def facts() -> widgets.HTML:
    """What will be said about a data set: its height is reserved, so that the form does not jump when it comes."""
    made = widgets.HTML()
    made.add_class("sp-facts-place")
    return made


def button(text: str, action: Callable[[], Any], style: str = "", disabled: bool = False) -> widgets.Button:
    """style: "primary" and "danger" as ipywidgets has them."""
    made = widgets.Button(description=text, button_style=style, disabled=disabled)
    made.on_click(lambda _: action())
    return made


def card(children: Sequence[widgets.Widget], *classes: str) -> widgets.VBox:
    """A card."""
    made = widgets.VBox(list(children))
    for name in ("sp-card", *classes):
        made.add_class(name)
    return made


def pair(*children: widgets.Widget) -> widgets.GridBox:
    """Side by side if the window is wide enough."""
    made = widgets.GridBox(list(children))
    made.add_class("sx-pair")
    return made


def beside(form: widgets.Widget, work: Sequence[widgets.Widget]) -> widgets.Box:
    """A form, and the cards of its results."""
    column = widgets.VBox(list(work))
    column.add_class("sx-work")
    made = widgets.Box([form, column])
    made.add_class("sx-columns")
    return made


def section(heading: str, lead: str, root: widgets.Widget) -> widgets.VBox:
    """A part of a page under its heading."""
    made = widgets.VBox([widgets.HTML(f"<h2>{heading}</h2><p>{lead}</p>"), root])
    made.add_class("sx-section")
    return made


def begin_each(parts: Sequence[Any], refused: str, lang: str) -> None:
    """Start each part of a page; one that fails shows `refused` and the reason in its `status`."""
    for part in parts:
        try:
            part.begin()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            part.status.value = notice(refused, bad=True, detail=detail, lang=lang)


def plot_words(lang: str) -> dict[str, str]:
    """The sentences of a Plot's controls."""
    return {word: t(f"plot.{word}", lang) for word in PLOT_WORDS}


def line(name: str, run: str, slot: int, kind: str, curve: Curve) -> dict[str, Any]:
    """A series of a LiveChart: `name` is its id, `run` what the legend says, `slot` 1..5 its colour, `kind` "train" or "test"."""
    x, y = curve.points()
    return {
        "id": name, "run": run, "slot": slot, "kind": kind,
        "x": [round(v, 4) for v in x], "y": [float(f"{v:.4g}") for v in y],
    }  # fmt: skip
