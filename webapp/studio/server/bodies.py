"""How large a request's body may be, decided before any of it is read.

Tornado keeps a body in memory until it is complete, and only then runs the handler that checks the login. Without
this limit, a visitor who is not signed in could fill hundreds of megabytes of memory.
"""

from __future__ import annotations

import inspect
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from tornado import httputil, web

from studio import identity

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
            most = _most(self.application, await _visitor(self.application, request))
            if most is not None:
                self.connection.set_max_body_size(most)
        answer = self.delegate.headers_received(start_line, headers)
        if answer is not None:
            await answer

    def data_received(self, chunk: bytes) -> Any:
        return self.delegate.data_received(chunk)

    def finish(self) -> None:
        self.delegate.finish()

    def on_connection_close(self) -> None:
        self.delegate.on_connection_close()


async def _visitor(application: web.Application, request: httputil.HTTPServerRequest) -> identity.User:
    """Whom the server's identity provider recognises in this request, by cookie, header or address."""
    user = application.settings["identity_provider"].get_user(JupyterHandler(application, request))
    return identity.of_request(await user if inspect.isawaitable(user) else user)


def _most(application: web.Application, visitor: identity.User) -> int | None:
    """Bytes; None: as the server says. In the grading service of a class only teachers send more than a notebook."""
    if not visitor.name:
        return ANONYMOUS_BYTES
    name = application.settings.get("studio_class")
    learners: int | None = application.settings.get("studio_learners_body")
    return None if name is None or visitor.teaches_in(name) else learners
