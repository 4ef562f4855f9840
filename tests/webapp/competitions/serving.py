"""The pages of the grading service in this process, for requests of named people."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import requests
from jupyter_server.auth import AllowAllAuthorizer, IdentityProvider, User
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

PREFIX = "/services/sampan-7b/"
GROUPS = {
    "tia": ["sampan-7b-teachers"],
    "other": ["sampan-7c-teachers"],
    "ada": ["sampan-7b-learners"],
    "bob": ["sampan-7b-learners"],
}


@dataclass
class Member(User):
    """As JupyterHub describes a user."""

    hub_user: dict[str, Any] = field(default_factory=dict)


class ByHeader(IdentityProvider):
    """Believes a header. What the Hub itself believes is tested in tests/webapp/hub."""

    def get_user(self, handler: Any) -> Member | None:
        name = handler.request.headers.get("X-Name", "")
        return Member(username=name, hub_user={"name": name, "groups": GROUPS[name]}) if name else None


class Person:
    """An HTTP client of one person; the name "" sends no login."""

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name = url, name
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["X-Name"] = name

    def get(self, path: str = "") -> requests.Response:
        return self.session.get(f"{self.url}competitions{path}", allow_redirects=False, timeout=60)

    def post(self, path: str = "", files: Any = None, **data: Any) -> requests.Response:
        form = re.search(
            r'name="_xsrf" value="([^"]*)"', self.get().text
        )  # as the forms of its pages have it
        return self.session.post(
            f"{self.url}competitions{path}",
            data={**data, "_xsrf": form[1] if form else ""},
            files=files,
            allow_redirects=False,
            timeout=60,
        )


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, Any]]:
    """(the address of the Studio's pages, the desk) of a class 7b in that folder."""
    from jupyterhub.services.auth import HubOAuth

    from studio.hub.folder import ClassFolder
    from studio.hub.service import application

    desk: Any = SimpleNamespace(folder=ClassFolder(folder / "7b"), store=None)
    auth = HubOAuth(api_token="x", oauth_client_id="service-sampan-7b", api_url="http://127.0.0.1:1/hub/api")
    app = application(desk, auth, PREFIX)
    app.settings |= {"identity_provider": ByHeader(), "authorizer": AllowAllAuthorizer()}
    (socket,) = bind_sockets(0, "127.0.0.1")
    started, loop = threading.Event(), asyncio.new_event_loop()
    contests = app.settings["studio_competitions"]

    async def run() -> None:
        server = HTTPServer(app, max_body_size=64 << 20)
        server.add_sockets([socket])
        end.append(asyncio.Event())
        started.set()
        await end[0].wait()
        server.stop()
        await contests.queue.close()
        await server.close_all_connections()

    end: list[asyncio.Event] = []
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}{PREFIX}studio/", contests
    finally:
        loop.call_soon_threadsafe(end[0].set)
        thread.join()
        loop.close()
