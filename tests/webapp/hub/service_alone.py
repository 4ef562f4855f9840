"""The grading service of a class without a Hub: the real application, and a server that answers for the Hub who a token is."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests
from jupyterhub.services.auth import HubOAuth
from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from studio.compute.sql import SqlStore
from studio.gradebook.classroom import Classroom
from studio.hub import serve, service
from studio.hub.desk import ServiceDesk
from studio.hub.folder import ClassFolder
from studio.hub.member import Membership, RemoteChecker
from studio.paths import NOTEBOOKS
from studio.server.bodies import BoundedBodies
from tests.webapp.running import Studio, free_port, start_studio

NOTEBOOK = "00_orientation"
PREFIX = "/services/sampan-7b/"
PEOPLE = {
    "ada-token": ("ada", "sampan-7b-learners"),
    "bob-token": ("bob", "sampan-7b-learners"),
    "tia-token": ("tia", "sampan-7b-teachers"),
}


class WhoIs(web.RequestHandler):
    """As the Hub's REST API at /user."""

    def get(self) -> None:
        found = PEOPLE.get(self.request.headers.get("Authorization", "").removeprefix("token "))
        if found is None:
            raise web.HTTPError(403)
        name, group = found
        scopes = ["access:services!service=sampan-7b"]
        self.finish({"kind": "user", "name": name, "groups": [group], "admin": False, "scopes": scopes})


@dataclass
class Alone:
    """A running service; `run` runs a coroutine in its loop."""

    url: str
    desk: ServiceDesk
    loop: asyncio.AbstractEventLoop

    @property
    def classroom(self) -> Classroom:
        return self.desk.classroom

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(300)

    def member(self, name: str) -> RemoteChecker:
        """The client in that person's own server."""
        return RemoteChecker(
            Membership("7b", self.url + PREFIX, PREFIX, self.desk.folder.released, f"{name}-token")
        )

    def studio(self, name: str, home: Path) -> Studio:
        """That person's own server, as the Hub would start it, but with a token of its own in place of the Hub's login."""
        environment = {
            **{
                "SAMPAN_CLASS": "7b",
                "SAMPAN_CLASS_SERVICE": self.url + PREFIX,
                "SAMPAN_CLASS_ADDRESS": PREFIX,
            },
            "SAMPAN_CLASS_RELEASED": str(self.desk.folder.released),
            **{"JUPYTERHUB_API_TOKEN": f"{name}-token", "HOME": str(home)},
        }
        return start_studio(home / "sampan", "--port", str(free_port()), **environment)

    def as_teacher(self, path: str, **options: Any) -> requests.Response:
        """Sends a form of the class's page, as tia."""
        with requests.Session() as session:
            session.trust_env = False
            return session.post(
                f"{self.url}{PREFIX}studio/grading/7b/{path}",
                headers={"Authorization": "token tia-token"},
                allow_redirects=False,
                timeout=60,
                **options,
            )


@contextmanager
def serving_alone(root: Path) -> Iterator[Alone]:
    """A class with one course notebook, in `root`/7b. Nothing is graded."""
    folder, course = ClassFolder(root / "7b"), root / "course"
    (course / "checks").mkdir(parents=True)
    for name in (f"{NOTEBOOK}.ipynb", f"checks/{NOTEBOOK}.py"):
        shutil.copyfile(NOTEBOOKS / name, course / name)
    for place in (folder.grading, folder.released):
        place.mkdir(parents=True)
    serve.hand_out(course, folder, [])
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    trial = patch.dict(
        os.environ, {"SAMPAN_CLASS_ACCOUNTS": "trial"}
    )  # all of them are this account of the machine
    with trial, SqlStore(f"sqlite:///{root / 'compute.sqlite3'}") as store:
        desk = ServiceDesk(folder, store, workers=2)

        async def start() -> tuple[HTTPServer, HTTPServer, str]:
            (at,) = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
            hub = HTTPServer(web.Application([("/hub/api/user", WhoIs)]))
            hub.add_sockets([at])
            auth = HubOAuth(
                api_token="x",
                oauth_client_id="service-sampan-7b",
                api_url=f"http://127.0.0.1:{at.getsockname()[1]}/hub/api",
                access_scopes={"access:services!service=sampan-7b"},
                cache_max_age=0,
            )
            app = service.application(desk, auth, PREFIX)
            server = HTTPServer(app, max_buffer_size=service.MOST_BODY, max_body_size=service.MOST_BODY)
            server.request_callback = BoundedBodies(app)
            (here,) = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
            server.add_sockets([here])
            return hub, server, f"http://127.0.0.1:{here.getsockname()[1]}"

        hub, server, url = asyncio.run_coroutine_threadsafe(start(), loop).result(300)

        async def stop() -> None:
            for one in (server, hub):
                one.stop()
                await one.close_all_connections()
            await desk.close()

        try:
            yield Alone(url, desk, loop)
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result(300)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
