"""A page of several parts below each other, each under its heading. The library takes seconds to load, so it is loaded
in a thread after the page is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from .pieces import begin_each, section
from .widgets import put_up


class PartsPage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it.

    name: the beginning of the keys of the page's sentences, `<name>.heading.<part>` and so on. parts: by name, each has a
    `root`, a `status` and `begin()`. styles: files of static/. contents: whether links to the parts stand at the top.
    """

    def __init__(
        self, lang: str, name: str, parts: Mapping[str, Any], styles: Sequence[str], contents: bool = False
    ) -> None:
        self.lang, self.name = lang, name
        self.parts = list(parts.values())
        headings = {part: self._t(f"heading.{part}") for part in parts}
        links = ""
        if contents:
            items = "".join(
                f'<li><a href="#{name}-{part}">{text}</a></li>' for part, text in headings.items()
            )
            links = f'<nav aria-label="{self._t("contents")}"><ul class="gr-contents">{items}</ul></nav>'
            headings = {part: f'<span id="{name}-{part}">{text}</span>' for part, text in headings.items()}
        style = "".join((STATIC / file).read_text("utf-8") for file in styles)
        opening = widgets.HTML(f'<style>{style}</style><p class="sp-lead">{self._t("lead")}</p>{links}')
        sections = [
            section(headings[part], self._t(f"lead.{part}"), made.root) for part, made in parts.items()
        ]
        self.root = widgets.VBox([opening, *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and starts each part, or shows the error in it, because the visitor does not see the
        kernel's log. Runs in a thread after the page is shown."""
        begin_each(self.parts, self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"{self.name}.{key}", self.lang)
