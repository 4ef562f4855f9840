"""How large a request's body may be, decided before any of it is read.

Tornado keeps a body in memory until it is complete, and only then runs the handler that checks the login. Without
this limit, a visitor who is not signed in could fill hundreds of megabytes of memory.
"""

from __future__ import annotations

import inspect
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from tornado import httputil, web

# The login form and the choice of a language take a few hundred bytes.
ANONYMOUS_BYTES = 64 * 1024


class BoundedBodies(httputil.HTTPServerConnectionDelegate):
    """Passes requests on to `application`; the bodies of visitors who are not signed in are limited."""

    def __init__(self, application: web.Application) -> None:
        self.application = application

    def start_request(
        self, server_conn: object, request_conn: httputil.HTTPConnection
    ) -> httputil.HTTPMessageDelegate:
        delegate = self.application.start_request(server_conn, request_conn)
        return _Message(delegate, self.application, request_conn)

    def on_close(self, server_conn: object) -> None:
        self.application.on_close(server_conn)


class _Message(httputil.HTTPMessageDelegate):
    """One request. Everything goes to `delegate`; the limit is set when the headers are known."""

    def __init__(
        self, delegate: httputil.HTTPMessageDelegate, application: web.Application, connection: Any
    ) -> None:
        self.delegate = delegate
        self.application = application
        self.connection = connection

    async def headers_received(
        self,
        start_line: httputil.RequestStartLine | httputil.ResponseStartLine,
        headers: httputil.HTTPHeaders,
    ) -> None:
        if "Content-Length" in headers or "Transfer-Encoding" in headers:
            assert isinstance(start_line, httputil.RequestStartLine)
            request = httputil.HTTPServerRequest(
                connection=self.connection, start_line=start_line, headers=headers
            )
            if not await _signed_in(self.application, request):
                self.connection.set_max_body_size(ANONYMOUS_BYTES)
        answer = self.delegate.headers_received(start_line, headers)
        if answer is not None:
            await answer

    def data_received(self, chunk: bytes) -> Any:
        return self.delegate.data_received(chunk)

    def finish(self) -> None:
        self.delegate.finish()

    def on_connection_close(self) -> None:
        self.delegate.on_connection_close()


async def _signed_in(application: web.Application, request: httputil.HTTPServerRequest) -> bool:
    """Whether the server's identity provider recognises the sender of this request, by cookie, header or address."""
    user = application.settings["identity_provider"].get_user(JupyterHandler(application, request))
    return (await user if inspect.isawaitable(user) else user) is not None
