"""Voilà's front end in our pages: how it is configured, and the addresses its scripts are fetched from.

Voilà serves its hundred scripts under names that do not change between versions, so a browser requests each of them
at every visit. Here their address contains a hash of all versions, and they may be cached.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from jupyter_server.base.handlers import APIHandler, FileFindHandler
from jupyter_server.utils import url_path_join
from jupyterlab_server.themes_handler import ThemesHandler
from tornado import web
from voila import __version__
from voila.configuration import VoilaConfiguration
from voila.paths import collect_static_paths
from voila.utils import get_data_dir, get_voila_labextensions_path

from . import kernels
from .base import StudioPage

TEMPLATE = "sampan"
# Without Voilà's own widget manager no widget is drawn, and it uses Jupyter's controls. Any other extension costs
# time and requests modules that Voilà does not have. Plotly's (5 MB) is for figures that are not widgets: the
# Studio's own widget asks for Plotly when a figure becomes visible (static/plot.js).
EXTENSIONS = ["@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager", "anywidget"]


def plotly_folder() -> str:
    """The path of `plotly.min.js` in the Python package, without importing it, which takes a second."""
    found = find_spec("plotly")
    assert found is not None and found.submodule_search_locations is not None
    return str(Path(found.submodule_search_locations[0]) / "package_data")


@cache
def fingerprint() -> str:
    """A hash of the versions of Voilà and of all extensions."""
    digest = sha256(__version__.encode())
    for folder in get_voila_labextensions_path():
        for about in sorted(Path(folder).glob("**/package.json")):
            digest.update(about.read_bytes())
    return digest.hexdigest()[:12]


def kept(base_url: str) -> str:
    """Under this address a file never changes (`ServerApp.static_immutable_cache`)."""
    return url_path_join(base_url, "voila", "kept")


def configuration(server: Any, prelaunch_hook: Any) -> VoilaConfiguration:
    configuration = VoilaConfiguration(parent=server)
    configuration.template = TEMPLATE
    configuration.theme = "light"  # our variables override its own, and support light and dark
    configuration.allow_template_override = "NO"
    configuration.allow_theme_override = "NO"
    configuration.strip_sources = True
    configuration.show_tracebacks = False
    configuration.file_allowlist = []
    configuration.extension_allowlist = EXTENSIONS
    configuration.prelaunch_hook = prelaunch_hook
    configuration.page_config_hook = _page_config
    # Its heartbeat: an inline script, which our policy would refuse. PageHandler removes it.
    configuration.http_keep_alive_timeout = 1
    return configuration


def _page_config(page_config: dict[str, Any], base_url: str, **_kwargs: Any) -> dict[str, Any]:
    here = url_path_join(kept(base_url), fingerprint())
    return {
        **page_config,
        "fullStaticUrl": url_path_join(here, "static"),
        "fullLabextensionsUrl": url_path_join(here, "labextensions"),
        # Voilà loads MathJax from a CDN unless both are null: then it uses the bundled one.
        "fullMathjaxUrl": None,
        "mathjaxConfig": None,
    }


class ToStudio(StudioPage):
    """/voila, its tree and its render addresses: there is no tree here."""

    @web.authenticated
    def get(self, *_parts: str) -> None:
        self.redirect(self.address())


class LeavePage(APIHandler):
    """The request of a page when it is closed, at any moment and perhaps twice: so unlike in Voilà's handler, a
    kernel that starts, ends or is gone is not an error."""

    making: ClassVar[set[str]] = (
        set()
    )  # kernels of pages that are being sent; the sender ends those that are not needed

    @web.authenticated
    async def post(self, kernel_id: str) -> None:
        if kernel_id in self.making:
            self.making.discard(kernel_id)
        else:
            await kernels.end(self.kernel_manager, kernel_id)
        self.set_status(204)
        self.finish()


def routes(server: Any) -> list[tuple[Any, ...]]:
    """The fixed addresses that the front end requests: its scripts, styles, widgets; and to stop its kernel."""
    extensions = get_voila_labextensions_path()
    themes = {
        "themes_url": "/voila/api/themes",
        "path": os.path.join(get_data_dir(), "themes"),
        "labextensions_path": extensions,
        "no_cache_paths": [],
    }
    statics = {"path": collect_static_paths(["voila", "nbconvert"], TEMPLATE)}
    table: list[tuple[Any, ...]] = [
        (r"/voila/kept/\w+/static/(.*)", FileFindHandler, statics),
        (r"/voila/kept/\w+/labextensions/(.*)", FileFindHandler, {"path": extensions}),
        (r"/voila/api/themes/(.*)", ThemesHandler, themes),
        (r"/voila/api/shutdown/(.*)", LeavePage),
        (r"/voila(?:/(?:tree|render)(?:/.*)?)?/?", ToStudio),
    ]
    return [(url_path_join(server.base_url, path), *rest) for path, *rest in table]
