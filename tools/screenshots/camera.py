"""What takes a picture, and what is photographed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

WIDTHS = {"wide": 1280, "narrow": 390}
HEIGHT = 900
LOCALES = {"en": "en-US", "zh": "zh-CN"}
TALLEST = 2200  # pixels of a picture; what is below is left out
QUALITY = 30
DRAWN_MS = 800  # figures are drawn anew at another width


@dataclass(frozen=True)
class Subject:
    """A page: its name in file names, title and sentence in pages.md, and what a visitor does there before the picture.
    `act(camera, lang)` calls `camera.take`."""

    name: str
    title: str
    about: str
    act: Callable[[Camera, str], None]


class Camera:
    """Opens browsers and writes pictures into the folder `docs`. `url`, `token` and `home` are those of the
    Studio that is photographed."""

    def __init__(self, browser: Any, docs: Path, url: str, token: str, home: Path) -> None:
        self.browser, self.docs = browser, docs
        self.url, self.token, self.home = url, token, home
        (docs / "pages").mkdir(parents=True, exist_ok=True)

    def open(self, lang: str, **options: Any) -> Any:
        """A page in a browser of its own, not logged in."""
        size = {"width": WIDTHS["wide"], "height": HEIGHT}
        settings = {"viewport": size, "locale": LOCALES[lang], "reduced_motion": "reduce", **options}
        page = self.browser.new_context(**settings).new_page()
        page.set_default_timeout(120_000)
        return page

    @contextmanager
    def visitor(self, lang: str, path: str = "", **options: Any) -> Iterator[Any]:
        """A page that is logged in. In the end it is empty: so a kernel gives its place back."""
        page = self.open(lang, **options)
        page.context.request.get(f"{self.url}studio?token={self.token}")
        try:
            if path:
                page.goto(self.url + path)
            yield page
            page.goto("about:blank")
        finally:
            page.context.close()

    def take(self, page: Any, name: str, lang: str) -> None:
        """At both widths."""
        for width in WIDTHS:
            self.shoot(page, name, lang, width)
        page.set_viewport_size({"width": WIDTHS["wide"], "height": HEIGHT})
        page.wait_for_timeout(DRAWN_MS)

    def shoot(self, page: Any, name: str, lang: str, width: str, whole: bool = True) -> None:
        """At one width; `whole`: with what is below the window. Nothing follows the pointer or the window."""
        page.mouse.move(0, 0)
        page.evaluate("document.querySelectorAll('.sp-save').forEach(bar => bar.style.position = 'static')")
        page.set_viewport_size({"width": WIDTHS[width], "height": HEIGHT})
        page.wait_for_timeout(DRAWN_MS)
        if whole:
            page.evaluate("scrollTo(0, 0)")
        picture = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
        picture.save(self.docs / "pages" / f"{name}-{lang}-{width}.webp", quality=QUALITY, method=6)

    def front(self, page: Any, name: str, lang: str) -> None:
        """An English picture of the README: the window, with a palette, which takes a third of the space."""
        if lang == "en":
            page.mouse.move(0, 0)
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.quantize(128).save(self.docs / f"{name}.png", optimize=True)
