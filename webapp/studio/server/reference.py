"""The API reference, as `make docs` wrote it: read-only files under /studio/docs."""

from __future__ import annotations

from collections.abc import Awaitable

from tornado import web

from studio.paths import documentation

from .base import StudioPage


class Reference(StudioPage, web.StaticFileHandler):
    """A file of the reference; if it has not been built, a page that says how to build it."""

    section = "docs"

    @property
    def content_security_policy(self) -> str:
        # Sphinx's pages carry style attributes. The hash is that of their theme's one inline script, which reads whether
        # the reader has chosen light or dark.
        return (
            "default-src 'none'; script-src 'self' 'sha256-ySvT2PEZeueHGC1y2crNuNTfphBynFPP7i+U21fEgX0='; style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        )

    # Tornado's own takes the folder; here it is looked up at each request, since SAMPAN_DOCS may change it.
    def initialize(self) -> None:  # type: ignore[override]  # takes no path
        super().initialize(path=str(documentation()))

    def compute_etag(self) -> str | None:
        # our own page is not a file
        return super().compute_etag() if hasattr(self, "absolute_path") else None

    # `authenticated` returns a function of any arguments, which does not match the signature of Tornado's handler.
    @web.authenticated
    async def get(  # type: ignore[override]  # `authenticated` takes any function
        self, path: str | None, include_body: bool = True
    ) -> None:
        if not (documentation() / "index.html").is_file():
            self.set_status(404 if path else 200)  # the front page then says how to build the rest
            self.show("reference.html")
        elif not path:
            self.redirect(self.address("docs", "index.html"))
        else:
            await super().get(path, include_body)

    @web.authenticated
    # `authenticated` takes any function.
    def head(self, path: str | None) -> Awaitable[None] | None:  # type: ignore[override]
        return self.get(path, include_body=False)
