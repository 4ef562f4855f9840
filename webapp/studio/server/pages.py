"""Pages that compute: listed notebooks, run for this visitor and shown by Voilà without their source.

Voilà's own extension is not loaded. It would serve every notebook of the workspace, a file tree and a contents API;
here only the needs of listed pages have addresses. A page runs in the workspace, but its file is in a separate
folder that no other handler can read or write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat import NotebookNode
from tornado import web
from tornado.iostream import StreamClosedError
from voila.paths import collect_template_paths
from voila.tornado.handler import TornadoVoilaHandler

from studio import i18n

from . import frontend, kernels
from .base import StudioPage

# Tested in a browser: JupyterLab's front end compiles its settings' schemas to code ('unsafe-eval') and puts style
# elements into the page; anywidgets are modules of blob: addresses. No inline script is needed: none runs.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

SIGN_OF_LIFE = "voila_heartbeat"  # in the text that Voilà sends every second while the kernel is silent


@dataclass(frozen=True)
class Page:
    """A listed page: `name` is its address, the rest is from its notebook's `sampan` metadata. plains: what it is for,
    in a few words without terms. microphone: whether the browser may ask the visitor for it. inside: whether only
    another page has a link to it."""

    name: str
    titles: dict[str, str]
    summaries: dict[str, str]
    plains: dict[str, str]
    microphone: bool = False
    inside: bool = False

    def title(self, lang: str) -> str:
        return self.titles[lang]

    def summary(self, lang: str) -> str:
        return self.summaries[lang]

    def plain(self, lang: str) -> str:
        return self.plains[lang]


class PageShelf:
    """The notebooks of one folder whose metadata declare them as pages."""

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
                titles, summaries, plains = (
                    {"en": about[key], "zh": about[f"{key}_zh"]} for key in ("title", "summary", "plain")
                )
            except KeyError as error:
                raise ValueError(f"page {path.name}: its metadata 'sampan' lacks {error}") from error
            flags = (bool(about.get(key, False)) for key in ("microphone", "inside"))
            yield Page(path.stem, titles, summaries, plains, *flags)

    def listed(self) -> list[Page]:
        """Those with a place in the menu."""
        return [page for page in self._pages.values() if not page.inside]

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
        """They are the Studio's own files, and are run before their outputs are shown."""


class _OwnNumber:
    """The server's kernel manager, for one kernel whose id is chosen before it starts, because the page begins with
    it."""

    def __init__(self, manager: Any, kernel_id: str) -> None:
        self._manager, self._kernel_id = manager, kernel_id

    async def start_kernel(self, **kwargs: Any) -> str:
        started: str = await self._manager.start_kernel(kernel_id=self._kernel_id, **kwargs)
        return started

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)


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
    def kernel_manager(self) -> Any:
        return _OwnNumber(super().kernel_manager, self.kernel_id)

    @property
    def contents_manager(self) -> PageContents:
        return self.contents

    @web.authenticated
    async def get(self, name: str) -> None:
        page = self.shelf.page(name)
        if page is None:
            raise web.HTTPError(404)
        self.section = f"page/{name}"
        if page.microphone:
            nothing = self.settings["headers"]["Permissions-Policy"]  # of every other page
            self.set_header("Permissions-Policy", nothing.replace("microphone=()", "microphone=(self)"))
        self.kernel_id = str(uuid4())
        self.waiting_page = self.address("open/page", name)
        ticket = self.get_query_argument("ticket", "")
        # Voilà passes the query string to the kernel: language, theme, engine and the ticket, which only the kernel's
        # provisioner reads. Everything else is removed.
        query = {"lang": self.language, "theme": self.theme, "engine": self.engine}
        query |= {"ticket": ticket} if ticket else {}
        self.request.query = urlencode(query)
        self.request.arguments = {}
        making = frontend.LeavePage.making
        making.add(self.kernel_id)
        try:
            await self._send(f"{name}.ipynb")
        finally:
            left = self.kernel_id not in making
            making.discard(self.kernel_id)
        if left:
            await kernels.end(super().kernel_manager, self.kernel_id)

    async def _send(self, path: str) -> None:
        """The page while it is generated. A visitor who leaves or reloads before it is complete has no script yet
        that reports this."""
        async for html in self.get_generator(path=path):
            if SIGN_OF_LIFE in html:
                if self.kernel_id in super().kernel_manager:
                    continue
                self.finish(self.fill("page_unmade.html"))  # else Voilà would wait for the kernel for ever
                return
            self.write(html)
            try:
                await self.flush()
            except StreamClosedError:
                frontend.LeavePage.making.discard(self.kernel_id)


def frame_of(handler: PageHandler, notebook: NotebookNode, cwd: str) -> NotebookNode:
    """Voilà's prelaunch hook: passes the Studio's header and texts to the template through the metadata."""
    page = handler.shelf.page(handler.request.path.rstrip("/").rsplit("/", 1)[-1])
    if page is None:  # the handler has checked this already; check it again
        raise web.HTTPError(404)
    notebook.metadata["title"] = page.title(handler.language)
    notebook.metadata["studio"] = {
        "head": handler.fill("page_head.html", title=page.title(handler.language)),
        "body": handler.fill("page_body.html", title=page.title(handler.language), cells=len(notebook.cells)),
        "styles": handler.fill("page_styles.html"),
        "footer": handler.fill("footer.html"),
        "failed": i18n.t("frame.page_failed", handler.language),
        "kernel_id": handler.kernel_id,
    }
    return notebook


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
                "template_paths": collect_template_paths(["voila", "nbconvert"], frontend.TEMPLATE),
                "voila_configuration": frontend.configuration(server, prelaunch_hook=frame_of),
            },
        )
    ]
