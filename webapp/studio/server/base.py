"""What every page of the Studio shares: language and theme, templates, security headers, error pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from http.client import responses
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jupyter_server.auth.login import LoginFormHandler
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from studio import figures, i18n, identity
from studio.compute.lease import Ask
from studio.compute.provisioner import NoSession
from studio.paths import STATIC, STYLES, TEMPLATES
from studio.trouble import Trouble, trouble

from . import navigation

# No 'unsafe-*': these pages carry no inline script and no inline style.
STRICT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# The HTTP status for each problem of the machine: 507 is "insufficient storage".
_TROUBLE: dict[Trouble, int] = {"full": 507, "locked": 503, "read_only": 507}


@cache
def environment() -> Environment:
    """The Jinja environment of the Studio's own pages. An undefined name is an error, not an empty string."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _fingerprint(name: str) -> str:
    return sha256((STATIC / name).read_bytes()).hexdigest()[:12]


class StudioPage(JupyterHandler):
    """A page for people, in the visitor's language and theme, with readable errors."""

    section = ""  # which entry of the navigation is the current one
    waiting_page = ""  # the waiting page, if there was no place

    @property
    def content_security_policy(self) -> str:
        return STRICT_POLICY

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Referrer-Policy", "same-origin")
        # The next user of the browser must not see it by going back.
        self.set_header("Cache-Control", "no-store")

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if self.request.method == "GET" and self.current_user and self.get_query_argument("token", ""):
            # The token is in a cookie now: keep it out of the address bar, the history and screenshots.
            parts = urlsplit(self.request.uri or "/")
            query = [pair for pair in parse_qsl(parts.query) if pair[0] != "token"]
            self.redirect(parts._replace(query=urlencode(query)).geturl())

    @property
    def user(self) -> identity.User:
        """Who makes this request; nobody before the login."""
        return identity.of_request(self.current_user)

    @property
    def language(self) -> str:
        return i18n.negotiate(
            self.get_cookie(i18n.LANGUAGE_COOKIE), self.request.headers.get("Accept-Language", "")
        )

    @property
    def theme(self) -> str:
        chosen = self.get_cookie(i18n.THEME_COOKIE)
        return chosen if chosen in i18n.THEMES else "system"

    @property
    def engine(self) -> str:
        """Whose functions the pages run on: the library's, or "mine"."""
        chosen = self.get_cookie(i18n.ENGINE_COOKIE)
        return chosen if chosen in i18n.ENGINES else i18n.ENGINES[0]

    def address(self, *parts: str) -> str:
        """A path under /studio, with the server's base URL."""
        return url_path_join(self.base_url, "studio", *parts)

    def asset(self, name: str) -> str:
        """The address of a file in static/; it changes with the content, so browsers may cache it for ever."""
        return f"{self.address('static', name)}?v={_fingerprint(name)}"

    def fill(self, template: str, **values: Any) -> str:
        """The template's HTML in the visitor's language."""
        lang = self.language
        return (
            environment()
            .get_template(template)
            .render(
                t=partial(_translate, lang),
                lang=lang,
                html_lang=i18n.HTML_LANGUAGE[lang],
                theme=self.theme,
                engine=self.engine,
                languages=i18n.NAMES,
                html_languages=i18n.HTML_LANGUAGE,
                here=self.request.uri,
                section=self.section,
                address=self.address,
                asset=self.asset,
                styles=STYLES,
                lab=url_path_join(self.base_url, "lab"),
                voila_base=url_path_join(self.base_url, "voila/"),
                nav_pages=self.settings["studio_pages"].listed(),
                menus=navigation.menus(self) if self.current_user else [],
                xsrf=self.xsrf_token.decode(),
                signed_in=bool(self.current_user),
                admin=self.user.admin,
                teaches=self.user.teaches,
                member=self.settings.get("studio_member", False),  # of a class under JupyterHub
                my_studio=self.settings.get("studio_hub", ""),
                leave=self.settings.get("studio_leave")
                or (url_path_join(self.base_url, "logout") if identity.under_hub() else ""),
                who=self.user.name,
                session_title=self.session_title,
                duration=partial(_swapped, figures.duration, lang),
                ordinal=partial(_swapped, figures.ordinal, lang),
                size=figures.size,
                brief=figures.brief,
                version=version("sampan"),
                **values,
            )
        )

    def session_title(self, ask: Ask) -> str:
        """The name of a session for people: its page's title, or the path of its notebook or script in the
        workspace."""
        page = self.settings["studio_pages"].page(ask.title) if ask.purpose == "page" else None
        if page is not None:
            return str(page.title(self.language))
        root = f"{Path(self.settings['server_root_dir']).expanduser()}/"
        return ask.title.removeprefix(root) or i18n.t("sessions.untitled", self.language)

    def show(self, template: str, **values: Any) -> None:
        """Answer with a page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self.fill(template, **values))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """An error page in the visitor's language; `reason` of a web.HTTPError may be a sentence for the visitor."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        reason = getattr(error, "reason", None) or ""
        key = f"error.{status_code}" if status_code in (403, 404, 405, 409, 503) else "error.other"
        found = trouble(error)
        if found is not None:
            status_code, key, reason = _TROUBLE[found], f"error.{found}", ""
            self.set_status(status_code)
        if reason == responses.get(status_code):
            reason = ""
        if isinstance(error, NoSession) and self.language == "zh":
            reason = error.sentence_zh
        waiting = self.waiting_page if isinstance(error, NoSession) else ""
        self.show("error.html", status=status_code, sentence=key, reason=reason, waiting=waiting)


def _translate(lang: str, key: str, **values: object) -> str:
    return i18n.t(key, lang, **values)


def _swapped(say: Callable[[Any, str], str], lang: str, value: Any) -> str:
    return say(value, lang)


class LoginHandler(StudioPage, LoginFormHandler):
    """Jupyter's login in the Studio's words. Everything except the look is jupyter_server's."""

    def _render(self, message: dict[str, str] | None = None) -> None:
        self.show("login.html", next=self.get_argument("next", default=self.address()), wrong=bool(message))

    def _redirect_safe(self, url: str, default: str | None = None) -> None:
        try:
            super()._redirect_safe(url, default)
        except ValueError:  # half an IPv6 address
            self.redirect(default or self.base_url)


class NotFound(StudioPage):
    """Unknown addresses under /studio."""

    @web.authenticated
    def get(self, _path: str) -> None:
        raise web.HTTPError(404)
