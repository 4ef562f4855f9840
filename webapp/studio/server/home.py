"""Home, the visitor's preferences, and whether the Studio is well."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import APIHandler
from tornado import web

from studio import engine, i18n, kept_runs
from studio.attempts import Attempts
from studio.compute.sessions import Sessions
from studio.course import Course, Lesson
from studio.paths import STATIC

from .base import StudioPage
from .pages import Page

_YEAR_DAYS = 365


FIRST_PAGE = "train"  # the page to play with before the first notebook
FIRST_LESSONS = 2
_WORDS = {
    "label": "home.draw_label",
    "hint": "home.draw_hint",
    "clear": "home.draw_clear",
    "empty": "home.draw_empty",
    "answer": "home.draw_answer",
}


@dataclass(frozen=True)
class Step:
    """A step of the learner's path: a page or a lesson, one of `page` and `lesson` is empty. `next`: the first step that is not done."""

    title: str
    about: str
    action: str
    done: bool
    page: str = ""
    lesson: str = ""
    next: bool = False


class Home(StudioPage):
    """A digit to draw, the learner's path, the pages and the course."""

    section = "home"

    def initialize(self, course: Course, sessions: Sessions, attempts: Attempts) -> None:
        self.course = course
        self.sessions = sessions
        self.attempts = attempts

    @web.authenticated
    async def get(self) -> None:
        lessons = await asyncio.to_thread(self.course.lessons)
        standing = await asyncio.to_thread(self.sessions.standing)
        beyond = [lesson for lesson in lessons[FIRST_LESSONS:] if lesson.edited is not None]
        self.show(
            "home.html",
            path=await asyncio.to_thread(self._path, lessons[:FIRST_LESSONS]),
            words={word: i18n.t(key, self.language) for word, key in _WORDS.items()},
            card=_reader()["card"],
            lessons=lessons,
            latest=max(beyond, key=lambda lesson: lesson.edited or 0.0, default=None),
            slots=sum(len(lesson.slots) for lesson in lessons),
            own=await asyncio.to_thread(engine.mine, self.course.workspace),
            mine=[session for session in standing if session.lease.ask.owner == self.user.name],
            workspace=_short(self.course.workspace),
        )

    def _path(self, lessons: list[Lesson]) -> list[Step]:
        """Blocks: it reads the learner's attempts."""
        page = self.settings["studio_pages"].page(FIRST_PAGE)
        steps = [] if page is None else [self._play(page)]
        steps += [self._lesson(lesson) for lesson in lessons]
        first = next((step for step in steps if not step.done), None)
        return [replace(step, next=step is first) for step in steps]

    def _play(self, page: Page) -> Step:
        title, about = (i18n.t(key, self.language) for key in ("home.play", "home.play_about"))
        action = i18n.t("home.play_open", self.language, title=page.title(self.language))
        return Step(title, about, action, kept_runs.count(self.course.workspace) > 0, page=page.name)

    def _lesson(self, lesson: Lesson) -> Step:
        best = self.attempts.history(lesson.id).best
        passed = 0 if best is None else best.verdict.passed
        number = lesson.id.partition("_")[0]
        title = i18n.t("home.lesson", self.language, number=number, title=lesson.title(self.language))
        counts = {"minutes": lesson.minutes, "passed": passed, "count": lesson.exercises}
        about = i18n.t("home.lesson_about", self.language, **counts)
        action = i18n.t("home.lesson_open", self.language)
        return Step(title, about, action, passed >= lesson.exercises > 0, lesson=lesson.id)


@cache
def _reader() -> dict[str, Any]:
    """The file of the network on Home."""
    told: dict[str, Any] = json.loads((STATIC / "digit_reader.json").read_text("utf-8"))
    return told


def _short(folder: Path) -> str:
    """The path with ~ for the home folder."""
    home = Path.home()
    return f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else str(folder)


class Health(APIHandler):
    """Answers while the server works: another `sampan studio` checks this before it prints our address."""

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    @web.authenticated
    def get(self) -> None:
        self.finish({"name": "sampan-studio", "version": version("sampan")})


class Preferences(StudioPage):
    """Language, theme and engine, kept in a cookie of this browser. The login page offers the first two."""

    @allow_unauthenticated
    def post(self) -> None:
        for name, cookie, choices in (
            ("lang", i18n.LANGUAGE_COOKIE, i18n.LANGUAGES),
            ("theme", i18n.THEME_COOKIE, i18n.THEMES),
            ("engine", i18n.ENGINE_COOKIE, i18n.ENGINES),
        ):
            value = self.get_body_argument(name, None)
            if value is None:
                continue
            if value not in choices:
                raise web.HTTPError(400, f"{name} must be one of {', '.join(choices)}, got {value!r}")
            self.set_cookie(
                cookie, value, path=self.base_url, expires_days=_YEAR_DAYS, samesite="Strict", httponly=True
            )
        self.redirect(self._back(), status=303)

    def _back(self) -> str:
        """Where the visitor came from, if that is a path of this server; else Home."""
        given = self.get_body_argument("next", "")
        try:
            parts = urlsplit(given)
        except ValueError:  # half an IPv6 address
            return self.address()
        # Browsers drop tabs and line breaks and read a backslash as a slash, so "/<tab>/host" is another host to them.
        # urlsplit drops them too: so compare with the parsed address.
        inside = not parts.scheme and not parts.netloc and "\\" not in given and parts.geturl() == given
        return given if inside and given.startswith(self.base_url) else self.address()
