"""The handler of each address."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import FileFindHandler
from jupyter_server.utils import url_path_join

from studio.attempts import Attempts
from studio.compute import here
from studio.compute.culling import Culler
from studio.compute.room import WaitingRoom
from studio.compute.sessions import Sessions
from studio.course import Course
from studio.data.shelf import Shelf
from studio.grading.checker import LocalChecker
from studio.grading.desk import CheckDesk
from studio.hub.member import RemoteChecker, membership
from studio.model_answers import ModelAnswers
from studio.paths import NOTEBOOKS, PAGES, STATIC, state_folder
from studio.uploads.places import Uploads

from . import (
    admin,
    assignments,
    base,
    competitions,
    courses,
    datasets,
    fleet,
    frontend,
    grading,
    handing_in,
    home,
    journal,
    models,
    notebooks,
    pages,
    reference,
    sessions,
    uploads,
    waiting,
)

_ID = "(?P<session_id>[0-9a-f]{32})"
_JOB = r"(?P<job_id>[0-9a-f\-]+)"
_MODEL = "(?P<origin>shipped|saved)/(?P<name>[^/]+)"
_SET = "(?P<name>[a-z0-9_]+)/(?P<version>[0-9a-f]{12})"
_LESSON = r"(?P<lesson_id>[A-Za-z0-9_\-]+)"


def add_routes(server: Any) -> None:
    """Add the Studio's pages to a jupyter_server ServerApp."""
    app = server.web_app
    home_folder = Path(server.root_dir)
    member = membership()
    course = Course(NOTEBOOKS if member is None else member.released, home_folder)
    remote = None if member is None else RemoteChecker(member)
    shared = {
        "course": course,
        "desk": CheckDesk(),
        "checker": remote or LocalChecker(NOTEBOOKS),
        "handing_in": remote,
        "attempts": Attempts(state_folder(home_folder) / "attempts"),
        "model_answers": ModelAnswers(state_folder(home_folder) / "model-answers"),
    }
    app.settings["studio_member"] = member is not None
    app.settings["studio_pages"] = pages.PageShelf(PAGES)
    app.settings["studio_room"] = room = WaitingRoom(here.store())
    running = {"sessions": Sessions(here.store(), here.state(), server.kernel_manager)}
    app.settings["studio_culler"] = Culler(running["sessions"], server.kernel_manager)

    contests = competitions.Desk.at(home_folder)
    if member is None:
        app.settings["studio_competitions"] = contests
    for name in ("asyncio", "studio"):  # what these write goes where the server writes
        logging.getLogger(name).parent = server.log
    journal.keep(state_folder(home_folder), [server.log], [getattr(server.identity_provider, "token", "")])
    places = Uploads(home_folder)
    places.announce()
    data = {"shelf": Shelf(state_folder(home_folder) / "looks"), "uploads": places}
    kept = {"uploads": places, "remote": remote}

    routes: list[tuple[Any, ...]] = [
        ("", home.Home, {"course": course, "attempts": shared["attempts"], **running}),
        ("/health", home.Health),
        ("/preferences", home.Preferences),
        ("/courses", courses.Courses, shared),
        ("/courses/progress", courses.Progress, shared),
        (f"/courses/{_LESSON}/open", courses.OpenCopy, shared),
        (f"/courses/{_LESSON}/restart", courses.StartAgain, shared),
        (f"/courses/{_LESSON}/translate", courses.Translate, shared),
        (f"/courses/{_LESSON}/copy", courses.MyCopy, shared),
        (f"/courses/{_LESSON}/restore", courses.Restore, shared),
        (f"/courses/{_LESSON}/panel", courses.Panel, shared),
        (f"/courses/{_LESSON}/check", courses.Check, shared),
        (f"/courses/{_LESSON}/check/cancel", courses.CancelCheck, shared),
        (f"/courses/{_LESSON}/answer", courses.OpenAnswer, shared),
        ("/datasets", datasets.Overview, data),
        ("/datasets/(?P<live>live)", datasets.Overview, data),
        (r"/datasets/(?P<name>[a-z0-9_]+)", datasets.DataSet, data),
        (r"/datasets/(?P<name>[a-z0-9_]+)/(?P<live>live)", datasets.DataSet, data),
        ("/uploads", uploads.Upload, kept),
        ("/uploads/room", uploads.Room, kept),
        (f"/uploads/{_SET}/edit", uploads.Edit, kept),
        (f"/uploads/{_SET}/remove", uploads.Remove, kept),
        (f"/uploads/{_SET}/share", uploads.Share, kept),
        ("/models", models.Overview, {"workspace": home_folder}),
        (f"/models/{_MODEL}", models.Card, {"workspace": home_folder}),
        (f"/models/{_MODEL}/download", models.Download, {"workspace": home_folder}),
        (f"/courses/{_LESSON}/hand-in", handing_in.HandIn, shared),
        ("/courses/handed-in", handing_in.HandedIn, shared),
        *assignments.routes(shared),
        *(
            grading.routes(home_folder, course)
            if member is None
            else grading.routes_elsewhere(member.address)
        ),
        *(competitions.routes(contests) if member is None else competitions.routes_elsewhere(member.address)),
        *admin.routes(home_folder, "workspace", here.store()),
        ("/static/(.*)", FileFindHandler, {"path": [str(STATIC), frontend.plotly_folder()]}),
        (r"/docs(?:/(?P<path>.+?))?", reference.Reference),
        ("/open/(?P<kind>page|lab)/(?P<path>.+?)", waiting.Open, {"room": room, **running}),
        ("/sessions", sessions.Overview, running),
        ("/sessions/(?P<live>live)", sessions.Overview, running),
        (r"/sessions/line/(?P<kernel>[0-9a-f\-]+)", sessions.Line, running),
        (rf"/sessions/{_ID}/stop", sessions.Stop, running),
        (rf"/sessions/{_ID}/extend", sessions.Extend, running),
        (rf"/sessions/{_ID}/keep", sessions.Keep, running),
        (rf"/jobs/{_JOB}/cancel", sessions.CancelJob, running),
        (rf"/jobs/{_JOB}/remove", sessions.RemoveJob, running),
        (rf"/jobs/{_JOB}/files/(?P<path>.+?)", sessions.JobFile, running),
        *fleet.routes(),
        *pages.routes(server),
        ("/(.*)", base.NotFound),
    ]
    prefix = url_path_join(server.base_url, "studio")
    app.add_handlers(".*$", [(prefix + path + "/?", *rest) for path, *rest in routes])
    app.add_handlers(".*$", [*frontend.routes(server), *notebooks.routes(server)])
