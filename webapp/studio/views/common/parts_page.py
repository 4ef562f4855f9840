"""A page of several parts, each under its heading: below each other, or behind tabs. The library takes seconds to load, so it is loaded
in a thread after the page is shown."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from .pieces import begin_each, section
from .widgets import Tabs, put_up


class PartsPage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it.

    name: the beginning of the keys of the page's sentences, `<name>.heading.<part>` and so on. parts: by name, each has a
    `root`, a `status` and `begin()`. styles: files of static/. contents: whether links to the parts stand at the top.
    tabs: whether only one part is shown at a time, and begins when it is.
    """

    def __init__(
        self,
        lang: str,
        name: str,
        parts: Mapping[str, Any],
        styles: Sequence[str],
        contents: bool = False,
        tabs: bool = False,
    ) -> None:
        self.lang, self.name = lang, name
        self.parts = list(parts.values())
        self._named, self._begun, self._loaded = dict(parts), set[str](), False
        self._lock = threading.Lock()
        self.tabs: Tabs | None = None
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
        if tabs:
            self.tabs = Tabs(
                title=self._t("tabs"),
                names=list(parts),
                labels=list(headings.values()),
                selected=next(iter(parts)),
            )
            self.tabs.observe(lambda _: self._opened(), "selected")
            for part, made in zip(parts, sections, strict=True):
                made.add_class(f"sx-tab-{part}")
        self.root = widgets.VBox([opening, *([self.tabs] if self.tabs else []), *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and starts each part, or shows the error in it, because the visitor does not see the
        kernel's log. Runs in a thread after the page is shown."""
        with self._lock:
            self._loaded = True
        if self.tabs is None:
            begin_each(self.parts, self._t("error.library"), self.lang)
        else:
            self._begin_selected()

    def _opened(self) -> None:
        """Another tab was chosen: its part begins in a thread, because the front end waits for this call."""
        if self._loaded:
            threading.Thread(target=self._begin_selected, name="tab", daemon=True).start()

    def _begin_selected(self) -> None:
        assert self.tabs is not None
        with self._lock:
            name = self.tabs.selected
            if name in self._begun or name not in self._named:
                return
            self._begun.add(name)
        begin_each([self._named[name]], self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"{self.name}.{key}", self.lang)
