"""The Hub's own pages in both languages, rendered as JupyterHub renders them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from studio import i18n
from studio.hub import front

HTML = {"login.html", "home.html", "spawn_pending.html", "stop_pending.html", "not_running.html"}
HTML |= {"logout.html", "error.html", "404.html"}


VARS = front.template_vars("7b-teachers", "/services/7b/")


def member(group: str) -> SimpleNamespace:
    return SimpleNamespace(name="ada", escaped_name="ada", groups=[SimpleNamespace(name=f"7b-{group}")])


class Handler:
    """The part of JupyterHub's handler that templates reach."""

    def __init__(self, accepted: str) -> None:
        self.request = SimpleNamespace(headers={"Accept-Language": accepted})

    def static_url(self, path: str) -> str:
        return path


def rendered(name: str, accepted: str, **more: Any) -> str:
    given = {
        **{key: value(None) if callable(value) else value for key, value in VARS.items()},
        **{
            "static_url": Handler(accepted).static_url,
            "base_url": "/hub/",
            "xsrf": "value",
            "url": "/hub/spawn",
        },
        **{"user": member("learners")},
        **{"login_url": "/hub/login", "logout_url": "/hub/logout", "authenticator_login_url": "/hub/login"},
        **{"custom_html": "", "login_service": "", "login_error": "", "username": "<b>", "message": ""},
        **{"authenticator": SimpleNamespace(request_otp=False), "progress_url": "/hub/api/progress"},
        **{
            "default_server": SimpleNamespace(active=True, pending=None),
            "failed": False,
            "failed_message": "",
        },
        **{"spawn_url": "/hub/spawn/ada", "status_code": 404, "message_html": "", "extra_error_html": ""},
        **more,
    }
    environment = Environment(
        loader=FileSystemLoader(front.PAGES), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(name).render(**given)


def words(html: str) -> str:
    return re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", html, flags=re.S)


@pytest.mark.parametrize("name", sorted(HTML))
def test_in_the_language_of_the_browser(name: str) -> None:
    english, chinese = rendered(name, "en-GB,en;q=0.9"), rendered(name, "zh-CN,zh;q=0.9,en;q=0.5")
    assert '<html lang="en">' in english and '<html lang="zh-Hans">' in chinese
    assert not re.search(r"[\u4e00-\u9fff]", words(english))
    assert set(re.findall(r"[A-Za-z]+", words(chinese))) <= {"Sampan", "Studio", "ada"}
    assert "<b>" not in english and not re.search(r"(src|href)=.https?://", english)


def test_every_page_of_a_member_is_ours() -> None:
    assert {path.name for path in front.PAGES.glob("*.html")} == HTML | {"class_page.html"}


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_wrong_password_in_both_languages(lang: str) -> None:
    html = rendered("login.html", lang, login_error="Invalid username or password", user=None)
    assert i18n.t("hub.wrong", lang) in html


def test_a_studio_that_is_stopping_is_not_offered() -> None:
    html = rendered("home.html", "en", default_server=SimpleNamespace(active=True, pending="stop"))
    assert i18n.t("hub.stopping", "en") in html and 'id="stop"' not in html and "location.reload" in html


def test_the_way_to_grading_is_shown_to_teachers() -> None:
    shown = {group: rendered("home.html", "en", user=member(group)) for group in ("learners", "teachers")}
    assert "/services/7b/" in shown["teachers"] and "/services/7b/" not in shown["learners"]
