"""Every address that the server answers, from its own routing table: who gets what without being let in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import pytest
import requests

from studio.server.pages import PAGE_POLICY
from tests.webapp.running import Studio

pytestmark = pytest.mark.servers

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
Ask = Callable[..., requests.Response]
FOREIGN = "http://evil.example"

# What every user of this machine may see, and why it reveals nothing.
PUBLIC = {
    "LoginHandler": "the way in",
    "LogoutHandler": "the way out: it only forgets a cookie",
    "PublicStaticFileHandler": "the favicon and logos of Jupyter",
    "TrailingSlashHandler": "redirects to the same address without its last slash",
    "Preferences": "language and theme of the login page: POST only, with its token against forgery",
    "RedirectWithParams": "redirects to the Studio's home, which asks",
    "NotebooksRedirectHandler": "redirects to an address that asks",
    "APIVersionHandler": "the version of Jupyter",
    "/favicon.ico": "a picture",
    "/robots.txt": "that robots are not welcome",
    "Template404": "nothing is there",
}
# Styles and scripts of the open-source front ends: a missing one gives 404 before the login is checked.
FILES = ("FileFindHandler", "ThemesHandler")
# Browsers report there what a policy has stopped, without a form's token; it is logged.
REPORTS = "CSPReportHandler"
# Refused as all the others, but JupyterLab (jupyterlab_server 2.28) stumbles over saying so, and says nothing.
UNANSWERED = "LicensesHandler"

_TABLE = """
import json, sys
from pathlib import Path
from studio.launch import alone, base, jupyter_folders
home = Path(sys.argv[1])
jupyter_folders(home)
from studio.server.app import StudioServer
settings = base(home)
settings.merge(alone(int(sys.argv[2]), "x", False))
app = StudioServer.instance(config=settings, state=home)
app.initialize(argv=[], find_extensions=False, new_httpserver=False)
def walk(router):
    for rule in router.rules:
        if hasattr(rule.target, "rules"):
            yield from walk(rule.target)
        elif hasattr(rule.matcher, "regex"):
            yield rule.matcher.regex.pattern, rule.target.__name__
routers = (app.web_app.default_router, app.web_app.wildcard_router)
print(json.dumps([row for router in routers for row in walk(router)]))
"""


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """(a path that the pattern takes, the handler's name) of every route."""
    home = tmp_path_factory.mktemp("table")
    run = subprocess.run(
        [sys.executable, "-c", _TABLE, str(home), "0"],
        env={**os.environ, "SAMPAN_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    table = json.loads(run.stdout.splitlines()[-1])
    return sorted({(_example(pattern), name) for pattern, name in table if name != UNANSWERED})


def _example(pattern: str) -> str:
    """A path that the pattern takes: every repeated part once, or as often as it must be."""

    def text(parsed: Any) -> str:
        return "".join(letters(str(op), argument) for op, argument in parsed)

    def letters(op: str, argument: Any) -> str:
        if op == "LITERAL":
            return chr(argument)
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inside = argument
            return text(inside) * max(least, min(most, 1))
        if op == "SUBPATTERN":
            return text(argument[-1])
        if op == "BRANCH":
            return text(argument[1][0])
        if op == "IN":  # a range, a letter, or a kind of letters
            kind, value = argument[0]
            return chr(value[0] if str(kind) == "RANGE" else value if str(kind) == "LITERAL" else ord("w"))
        return {"ANY": "x", "NOT_LITERAL": "x", "AT": ""}[op]

    path = text(re._parser.parse(pattern))  # type: ignore[attr-defined]
    assert re.fullmatch(pattern, path), (pattern, path)
    return path if path.startswith("/") else f"/{path}"


@pytest.fixture(scope="module")
def ask(studio: Studio) -> Iterator[Ask]:
    """`ask(method, path, **options)`: each time as a new client, without cookies of earlier answers."""
    with requests.Session() as session:
        session.trust_env = False
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))

        def once(method: str, path: str, **options: Any) -> requests.Response:
            return session.request(
                method, studio.url.rstrip("/") + path, allow_redirects=False, **{"timeout": 60, **options}
            )

        yield once


@pytest.fixture(scope="module")
def cookie(ask: Ask, studio: Studio) -> str:
    """What a browser has after logging in, without the value that a form of ours would send along."""
    reply = ask("GET", "/studio/health", params={"token": studio.token})
    pairs = [header.split(";")[0] for header in reply.raw.headers.getlist("Set-Cookie")]
    return "; ".join(pair for pair in pairs if not pair.startswith("_xsrf"))


OUTSIDERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "wrong token": {"headers": {"Authorization": "token wrong"}},
    "wrong address": {"params": {"token": "wrong"}},
    "wrong cookie": {"headers": {"Cookie": "username-127-0-0-1=2|1:0|10:1|8:username|4:abcd|00"}},
    "from elsewhere": {"headers": {"Origin": FOREIGN, "Referer": FOREIGN}},
}


@pytest.mark.parametrize("credentials", OUTSIDERS.values(), ids=OUTSIDERS)
def test_nobody_gets_in(ask: Ask, endpoints: list[tuple[str, str]], credentials: dict[str, Any]) -> None:
    let_in = []
    # Jupyter answers another site's call as if nothing were there.
    refused = (401, 403, 404, 405) if "Origin" in credentials.get("headers", {}) else (401, 403, 405)
    for path, handler in endpoints:
        for method in METHODS if not credentials else ("GET", "POST", "DELETE"):
            reply = ask(method, path, **credentials)
            if reply.status_code == 404 and handler in FILES:
                continue
            to_login = reply.status_code == 302 and "/login" in reply.headers["Location"]
            preflight = method == "OPTIONS" and not reply.content
            if (
                reply.status_code not in refused
                and not to_login
                and not preflight
                and not {handler, path} & PUBLIC.keys()
            ):
                let_in.append((method, path, handler, reply.status_code))
            assert "Access-Control-Allow-Origin" not in reply.headers, (method, path)
    assert let_in == []


def test_the_one_without_an_answer_gives_nothing(ask: Ask) -> None:
    with pytest.raises(requests.ReadTimeout):
        ask("GET", "/lab/api/licenses/", timeout=1)


def test_no_other_site_can_act_for_somebody_who_is_in(
    ask: Ask, studio: Studio, cookie: str, endpoints: list[tuple[str, str]]
) -> None:
    """As a form or a script of another site would: the cookie may go along, the value against forgery cannot."""
    assert ask("GET", "/studio/health", headers={"Cookie": cookie}).ok  # the cookie itself is good
    acted = []
    for path, handler in endpoints:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for origin in ({"Origin": FOREIGN, "Referer": FOREIGN}, {}):
                reply = ask(method, path, headers={"Cookie": cookie, **origin})
                if reply.status_code < 400 and handler != REPORTS:
                    acted.append((method, path, handler, reply.status_code))
    assert acted == []
    assert studio.process.poll() is None


def test_every_page_of_ours_says_what_it_may_do(
    ask: Ask, studio: Studio, endpoints: list[tuple[str, str]]
) -> None:
    """Whatever it answers, an error too: no script but the server's own, no other site's frame, nothing kept."""
    seen = []
    for path, handler in endpoints:
        if not path.startswith("/studio") or handler in FILES or handler in PUBLIC:
            continue
        for method in ("GET", "POST"):
            reply = ask(method, path, headers=studio.headers)
            where = (method, path, handler, reply.status_code)
            policy = reply.headers["Content-Security-Policy"]
            rules = dict((part.strip() + " ").split(" ", 1) for part in policy.split(";"))
            assert rules["default-src"].strip() == "'none'", where
            assert "'unsafe-inline'" not in rules.get("script-src", ""), where
            assert rules["frame-ancestors"].strip() in ("'none'", "'self'"), where
            assert "*" not in policy and "http" not in policy, where
            assert reply.headers.get("X-Content-Type-Options") == "nosniff", where
            assert reply.headers.get("Cache-Control") == "no-store", where
            seen.append(handler)
    assert {
        "Home",
        "Check",
        "CancelJob",
        "JobFile",
        "Stop",
        "RunPage",
        "Return",
        "WorkNotebook",
        "Open",
    } <= set(seen)


def test_the_cookies_stay_with_this_site(ask: Ask, studio: Studio) -> None:
    reply = ask("GET", "/studio/courses", params={"token": studio.token})
    given = reply.raw.headers.getlist("Set-Cookie") + ask(
        "POST", "/studio/preferences", data={"theme": "dark", "_xsrf": "x"}, headers={"Cookie": "_xsrf=x"}
    ).raw.headers.getlist("Set-Cookie")
    assert {cookie.partition("=")[0].rstrip("0123456789") for cookie in given} >= {
        *("sampan_theme", "username-127-0-0-1-"),
    }
    for cookie in given:
        assert "samesite=strict" in cookie.lower(), cookie
        assert "httponly" in cookie.lower(), cookie


def test_no_other_site_can_read_for_somebody_who_is_in(ask: Ask, cookie: str) -> None:
    for path in ("/studio", "/api/contents", "/api/kernels", "/lab/api/settings"):
        reply = ask("GET", path, headers={"Cookie": cookie, "Origin": FOREIGN})
        assert "Access-Control-Allow-Origin" not in reply.headers


@pytest.mark.parametrize("path", ["/api/kernels/{kernel}/channels", "/api/events/subscribe"])
def test_a_socket_of_another_site_is_refused(ask: Ask, studio: Studio, cookie: str, path: str) -> None:
    kernel = ask("POST", "/api/kernels", json={"name": "sampan"}, headers=studio.headers).json()["id"]
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    try:
        address = path.format(kernel=kernel)
        for headers in (
            {},
            {"Cookie": cookie, "Origin": FOREIGN},
            {"Origin": studio.url.rstrip("/")},
        ):
            assert ask("GET", address, headers={**upgrade, **headers}).status_code in (302, 403)
        own = {**upgrade, "Cookie": cookie, "Origin": studio.url.rstrip("/")}
        with requests.get(studio.url.rstrip("/") + address, headers=own, stream=True, timeout=60) as reply:
            assert reply.status_code == 101
    finally:
        assert ask("DELETE", f"/api/kernels/{kernel}", headers=studio.headers).ok


@pytest.mark.parametrize("address", ["files/evil.html", "files/evil.svg", "nbconvert/html/evil.ipynb"])
def test_what_a_learner_has_written_is_not_a_page_of_ours(ask: Ask, studio: Studio, address: str) -> None:
    """It may run its scripts, but without rights: not with the reader's cookie, and not from within the Studio's site."""
    (studio.home / "evil.html").write_text("<script>alert(1)</script>")
    (studio.home / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (studio.home / "evil.ipynb").write_text(
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}'
    )
    reply = ask("GET", f"/{address}", headers=studio.headers)
    assert reply.status_code == 200
    sandbox = re.search(r"sandbox[^;]*", reply.headers["Content-Security-Policy"])
    assert sandbox is not None and "allow-same-origin" not in sandbox[0]
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_runs_only_scripts_of_this_server(ask: Ask, studio: Studio) -> None:
    """No inline script: what a notebook prints into a page cannot become one."""
    policy = PAGE_POLICY
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'" and "'unsafe-inline'" not in directives["script-src"]
    assert "http" not in policy and "*" not in policy
    page = ask("GET", "/studio/page/tape", headers=studio.headers)
    assert page.headers["Content-Security-Policy"].startswith(policy)
    scripts = re.findall(r"<script([^>]*)>", page.text)
    assert scripts and all("src=" in script or "json" in script for script in scripts)
    assert not re.search(r"\son\w+=", re.sub(r"<script.*?</script>", "", page.text, flags=re.S))
