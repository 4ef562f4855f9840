"""The Hub's own pages, such as the login, in the Studio's look and languages: values for templates/hub."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from studio import i18n
from studio.paths import STATIC, TEMPLATES, stylesheet

PAGES = TEMPLATES / "hub"


def _language(context: Context) -> str:
    """The browser's language. JupyterHub gives templates no request, but a method of the handler that has it."""
    request = context["static_url"].__self__.request
    return i18n.negotiate(None, request.headers.get("Accept-Language", ""))


@pass_context
def _t(context: Context, key: str, **values: object) -> str:
    return i18n.t(key, _language(context), **values)


@pass_context
def _html_lang(context: Context) -> str:
    return i18n.HTML_LANGUAGE[_language(context)]


def template_vars(teachers: str, grading: str) -> dict[str, Any]:
    """For `c.JupyterHub.template_vars`, which calls each function with the user for the value of a name. `teachers` is
    the name of their group, `grading` the address of their page."""
    return {
        "teachers": teachers,
        "grading": grading,
        "t": lambda _user: _t,
        "html_lang": lambda _user: _html_lang,
        "styles": stylesheet(),
        "icon": b64encode((STATIC / "icon.svg").read_bytes()).decode(),
    }
