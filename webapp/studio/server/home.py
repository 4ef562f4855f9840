"""Home, the visitor's preferences, and whether the Studio is well."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import APIHandler
from tornado import web

from studio import engine, i18n
from studio.compute.sessions import Sessions
from studio.course import Course

from .base import StudioPage

_YEAR_DAYS = 365


class Home(StudioPage):
    """The pages, the course, and where to continue."""

    section = "home"

    def initialize(self, course: Course, sessions: Sessions) -> None:
        self.course = course
        self.sessions = sessions

    @web.authenticated
    async def get(self) -> None:
        lessons = await asyncio.to_thread(self.course.lessons)
        standing = await asyncio.to_thread(self.sessions.standing)
        started = [lesson for lesson in lessons if lesson.edited is not None]
        self.show(
            "home.html",
            lessons=lessons,
            started=len(started),
            latest=max(started, key=lambda lesson: lesson.edited or 0.0, default=None),
            minutes=sum(lesson.minutes for lesson in lessons),
            slots=sum(len(lesson.slots) for lesson in lessons),
            own=await asyncio.to_thread(engine.mine, self.course.workspace),
            mine=[session for session in standing if session.lease.ask.owner == self.user.name],
            workspace=_short(self.course.workspace),
        )


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
