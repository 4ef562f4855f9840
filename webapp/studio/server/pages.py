"""Pages that compute: listed notebooks, run for this visitor and shown by Voilà without their source.

Voilà's own extension is not loaded. It would serve every notebook of the workspace, a file tree and a contents
API; here only what a listed page needs has an address. A page runs in the workspace, but lies in a folder of
its own, which no other handler can read from or write to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jupyter_server.base.handlers import FileFindHandler
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyter_server.utils import url_path_join
from jupyterlab_server.themes_handler import ThemesHandler
from nbformat import NotebookNode
from tornado import web
from voila.configuration import VoilaConfiguration
from voila.paths import collect_static_paths, collect_template_paths
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.utils import get_data_dir, get_voila_labextensions_path

from .base import StudioPage

TEMPLATE = "sampan"
# Measured: Voilà's front end and anywidgets evaluate code, import modules from blob: addresses and style inline.
PAGE_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' ws: wss:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Page:
    """A listed page: `name` is its address, the words come from its notebook's `sampan` metadata."""

    name: str
    titles: dict[str, str]
    summaries: dict[str, str]

    def title(self, lang: str) -> str:
        return self.titles[lang]

    def summary(self, lang: str) -> str:
        return self.summaries[lang]


class PageShelf:
    """The notebooks of one folder that say in their metadata that they are pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pages = {page.name: page for page in self._read()}

    def _read(self) -> Iterator[Page]:
        found = {
            path: json.loads(path.read_text("utf-8"))["metadata"].get("sampan")
            for path in sorted(self.folder.glob("*.ipynb"))
        }
        listed = {path: about for path, about in found.items() if about is not None}
        for path, about in sorted(listed.items(), key=lambda item: int(item[1].get("place", 0))):
            try:
                titles = {"en": about["title"], "zh": about["title_zh"]}
                summaries = {"en": about["summary"], "zh": about["summary_zh"]}
            except KeyError as error:
                raise ValueError(f"page {path.name}: its metadata 'sampan' lacks {error}") from error
            yield Page(path.stem, titles, summaries)

    def listed(self) -> list[Page]:
        return list(self._pages.values())

    def page(self, name: str) -> Page | None:
        return self._pages.get(name)


class PageContents(AsyncLargeFileManager):
    """Reads the pages' notebooks; whatever kernel they were written with, they run in the Studio's."""

    async def get(self, path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        model: dict[str, Any] = await super().get(path, *args, **kwargs)
        if isinstance(model.get("content"), NotebookNode):
            spec = {"name": "sampan", "display_name": "Sampan", "language": "python"}
            model["content"].metadata.kernelspec = NotebookNode(spec)
        return model

    def mark_trusted_cells(self, nb: NotebookNode, path: str = "") -> None:
        """They are the Studio's own files, and are run again before anything of them is shown."""


class PageHandler(StudioPage, TornadoVoilaHandler):
    """/studio/page/<name>: starts a kernel for the visitor and sends the page while it computes."""

    section = "page"

    def initialize(self, shelf: PageShelf, contents: PageContents, **kwargs: Any) -> None:
        TornadoVoilaHandler.initialize(self, **kwargs)
        self.shelf = shelf
        self.contents = contents

    @property
    def content_security_policy(self) -> str:
        return PAGE_POLICY

    @property
    def contents_manager(self) -> PageContents:
        return self.contents

    @web.authenticated
    async def get(self, name: str) -> None:
        page = self.shelf.page(name)
        if page is None:
            raise web.HTTPError(404)
        self.section = f"page/{name}"
        self.waiting_page = self.address("open/page", name)
        ticket = self.get_query_argument("ticket", "")
        # Voilà hands the query string to the kernel: language and theme go in, and the ticket, which goes no further
        # than the kernel's provisioner. Anything else stays out.
        query = {"lang": self.language, "theme": self.theme} | ({"ticket": ticket} if ticket else {})
        self.request.query = urlencode(query)
        self.request.arguments = {}
        async for html in self.get_generator(path=f"{name}.ipynb"):
            self.write(html)
            await self.flush()


def frame_of(handler: PageHandler, notebook: NotebookNode, cwd: str) -> NotebookNode:
    """Voilà's prelaunch hook: gives the template the Studio's header and words through the metadata."""
    page = handler.shelf.page(handler.request.path.rstrip("/").rsplit("/", 1)[-1])
    if page is None:  # the handler has checked; this is the second lock on the same door
        raise web.HTTPError(404)
    notebook.metadata["title"] = page.title(handler.language)
    notebook.metadata["studio"] = {
        "head": handler.fill("page_head.html", title=page.title(handler.language)),
        "body": handler.fill("page_body.html", title=page.title(handler.language)),
        "styles": handler.fill("page_styles.html"),
        "footer": handler.fill("footer.html"),
    }
    return notebook


def _configuration(server: Any) -> VoilaConfiguration:
    configuration = VoilaConfiguration(parent=server)
    configuration.template = TEMPLATE
    configuration.theme = "light"  # its variables are overridden by ours, which know light and dark
    configuration.allow_template_override = "NO"
    configuration.allow_theme_override = "NO"
    configuration.strip_sources = True
    configuration.show_tracebacks = False
    configuration.file_allowlist = []
    # Without Voilà's own widget manager no widget is drawn; every other extension costs time and asks for
    # modules that Voilà does not have.
    configuration.extension_allowlist = [
        "@voila-dashboards/widgets-manager8",
        "@jupyter-widgets/jupyterlab-manager",
        "anywidget",
        "jupyterlab-plotly",
    ]
    configuration.prelaunch_hook = frame_of
    configuration.page_config_hook = _with_bundled_mathjax
    return configuration


def _with_bundled_mathjax(page_config: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Voilà asks a content network for MathJax unless both settings are null: then it takes the bundled one."""
    return {**page_config, "fullMathjaxUrl": None, "mathjaxConfig": None}


def routes(server: Any) -> list[tuple[Any, ...]]:
    """Addresses under /studio."""
    shelf: PageShelf = server.web_app.settings["studio_pages"]
    return [
        (
            r"/page/(?P<name>[A-Za-z0-9_\-]+)",
            PageHandler,
            {
                "shelf": shelf,
                "contents": PageContents(root_dir=str(shelf.folder), parent=server),
                "config": server.config,
                "template_paths": collect_template_paths(["voila", "nbconvert"], TEMPLATE),
                "voila_configuration": _configuration(server),
            },
        )
    ]


class ToStudio(StudioPage):
    """/voila, its tree and its render addresses: there is no tree here."""

    @web.authenticated
    def get(self, *_parts: str) -> None:
        self.redirect(self.address())


def voila_routes(server: Any) -> list[tuple[Any, ...]]:
    """What Voilà's front end asks for by fixed addresses: its scripts, styles, widgets; and to stop its kernel."""
    extensions = get_voila_labextensions_path()
    themes = {
        "themes_url": "/voila/api/themes",
        "path": os.path.join(get_data_dir(), "themes"),
        "labextensions_path": extensions,
        "no_cache_paths": [],
    }
    statics = {"path": collect_static_paths(["voila", "nbconvert"], TEMPLATE)}
    table: list[tuple[Any, ...]] = [
        (rf"/voila/templates/{TEMPLATE}/static/(.*)", FileFindHandler, statics),
        (r"/voila/static/(.*)", FileFindHandler, statics),
        (r"/voila/labextensions/(.*)", FileFindHandler, {"path": extensions}),
        (r"/voila/api/themes/(.*)", ThemesHandler, themes),
        (r"/voila/api/shutdown/(.*)", VoilaShutdownKernelHandler),
        (r"/voila(?:/(?:tree|render)(?:/.*)?)?/?", ToStudio),
    ]
    return [(url_path_join(server.base_url, path), *rest) for path, *rest in table]
