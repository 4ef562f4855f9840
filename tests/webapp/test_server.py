"""The Studio over HTTP: who gets in, what is served and what never is, in which words, how fast."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psutil
import pytest
import requests

from tests.webapp.running import Studio

pytestmark = pytest.mark.servers

PAGES = ["studio", "studio/courses", "studio/health", "studio/sessions", "studio/sessions/live"]
LIGHT_S = 0.3


@pytest.fixture
def stranger(studio: Studio) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


def xsrf(session: requests.Session) -> dict[str, str]:
    return {"_xsrf": session.cookies["_xsrf"]}


def test_the_token_opens_and_leaves_the_address(stranger: requests.Session, studio: Studio) -> None:
    reply = stranger.get(f"{studio.url}?token={studio.token}")
    assert reply.url == f"{studio.url}studio"
    assert studio.token not in reply.text
    assert stranger.get(f"{studio.url}studio").url == f"{studio.url}studio"  # the cookie is enough now


def test_cookies_stay_with_this_site(stranger: requests.Session, studio: Studio) -> None:
    reply = stranger.get(f"{studio.url}studio", params={"token": studio.token}, allow_redirects=False)
    cookies = reply.headers["Set-Cookie"]
    assert "SameSite=Strict" in cookies and "HttpOnly" in cookies
    reply = stranger.get(f"{studio.url}studio")
    assert "SameSite=Strict" in reply.headers["Set-Cookie"]  # _xsrf


@pytest.mark.parametrize(
    "path", ["", *PAGES[:2], "studio/page/train", "studio/nowhere", "lab", "voila", "voila/tree/x"]
)
def test_without_the_token_there_is_only_the_login(
    stranger: requests.Session, studio: Studio, path: str
) -> None:
    reply = stranger.get(studio.url + path)
    assert reply.url.startswith(f"{studio.url}login")
    assert 'name="password"' in reply.text


@pytest.mark.parametrize("path", ["studio/health", "api/contents", "api/kernels", "api/kernelspecs"])
def test_without_the_token_no_answer(stranger: requests.Session, studio: Studio, path: str) -> None:
    assert stranger.get(studio.url + path).status_code == 403


def test_a_wrong_token_is_refused(stranger: requests.Session, studio: Studio) -> None:
    assert stranger.get(f"{studio.url}studio?token=wrong").url.startswith(f"{studio.url}login")
    reply = stranger.post(f"{studio.url}login", data={"password": "wrong", **xsrf(stranger)})
    assert reply.status_code == 401 and "not the token" in reply.text


def test_the_login_form_takes_the_token(stranger: requests.Session, studio: Studio) -> None:
    stranger.get(f"{studio.url}studio/courses")
    reply = stranger.post(
        f"{studio.url}login?next=/studio/courses", data={"password": studio.token, **xsrf(stranger)}
    )
    assert reply.url == f"{studio.url}studio/courses"


@pytest.mark.parametrize(
    "target", ["http://[evil.example", "//[::1", "//evil.example", "javascript:alert(1)"]
)
def test_the_login_sends_nobody_elsewhere(stranger: requests.Session, studio: Studio, target: str) -> None:
    stranger.get(f"{studio.url}studio/courses")
    sent = {"params": {"next": target}, "allow_redirects": False}
    form = {"password": studio.token, **xsrf(stranger)}
    reply = stranger.post(f"{studio.url}login", data=form, **sent)
    assert (reply.status_code, reply.headers["Location"]) == (302, "/")
    # who is in already
    reply = stranger.get(f"{studio.url}login", **sent)
    assert (reply.status_code, reply.headers["Location"]) == (302, "/")


@pytest.mark.parametrize("path", ["studio/preferences", "studio/courses/x/open", "studio/courses/x/check"])
def test_a_form_of_another_site_is_refused(visitor: requests.Session, studio: Studio, path: str) -> None:
    reply = visitor.post(studio.url + path, data={"theme": "dark"})
    assert reply.status_code == 403
    reply = visitor.post(studio.url + path, data=xsrf(visitor), headers={"Origin": "http://evil.example"})
    assert reply.status_code in (403, 404)


@pytest.mark.parametrize("path", PAGES)
def test_pages_without_a_kernel_are_light(visitor: requests.Session, studio: Studio, path: str) -> None:
    """Processor time of the server, which a busy machine does not stretch; the clock is in benchmarks/studio.py."""
    server, spent = psutil.Process(studio.process.pid), []
    for _ in range(5):
        before = sum(server.cpu_times()[:2])
        assert visitor.get(studio.url + path).status_code == 200
        spent.append(sum(server.cpu_times()[:2]) - before)
    assert min(spent) < LIGHT_S


@pytest.mark.parametrize("path", [*PAGES[:2], "studio/nowhere", "login"])
def test_the_strict_policy(visitor: requests.Session, studio: Studio, path: str) -> None:
    reply = visitor.get(studio.url + path, allow_redirects=False)
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert (
        "microphone=()" in reply.headers["Permissions-Policy"]
    )  # Speech alone has it: views/speech/test_browser.py
    # Inline code would not run under it.
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", reply.text)


@pytest.mark.parametrize(
    "path",
    [
        "voila/files/notebooks/x.ipynb",
        "voila/api/contents",
        "voila/files/train.ipynb",
        "studio/static/../paths.py",
        "studio/static/%2e%2e/paths.py",
        "voila/templates/sampan/static/../conf.json",
        "studio/page/..%2f..%2fnotebooks%2f00_orientation",
        "studio/page/nothing",
        "studio/page/train.ipynb",
        "api/contents/train.ipynb",
        "api/contents/.studio",
        "files/.studio/jupyter",
        "api/terminals",
        "nowhere",
    ],
)
def test_never_served(visitor: requests.Session, studio: Studio, path: str) -> None:
    request = requests.Request("GET", studio.url + path).prepare()
    request.url = studio.url + path  # as written: no tidying of dots
    assert visitor.send(visitor.prepare_request(requests.Request("GET", studio.url))).ok
    request.headers["Cookie"] = "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.cookies)
    assert visitor.send(request).status_code in (403, 404)


@pytest.mark.parametrize(
    "path", ["voila", "voila/", "voila/tree", "voila/tree/notebooks", "voila/render/x.ipynb", ""]
)
def test_addresses_of_voila_lead_to_the_studio(visitor: requests.Session, studio: Studio, path: str) -> None:
    assert visitor.get(studio.url + path).url == f"{studio.url}studio"


def test_only_the_studios_kernel_is_offered(visitor: requests.Session, studio: Studio) -> None:
    specs = visitor.get(f"{studio.url}api/kernelspecs").json()
    assert list(specs["kernelspecs"]) == ["sampan"] and specs["default"] == "sampan"
    reply = visitor.post(
        f"{studio.url}api/kernels", json={"name": "python3"}, headers={"X-XSRFToken": xsrf(visitor)["_xsrf"]}
    )
    assert reply.status_code >= 400


def test_language_follows_the_browser_then_the_choice(visitor: requests.Session, studio: Studio) -> None:
    chinese = visitor.get(f"{studio.url}studio", headers={"Accept-Language": "zh-CN"})
    assert '<html lang="zh-Hans"' in chinese.text and "工作台" in chinese.text
    reply = visitor.post(
        f"{studio.url}studio/preferences",
        data={"lang": "en", "next": "/studio/courses", **xsrf(visitor)},
        headers={"Accept-Language": "zh-CN"},
    )
    assert reply.url == f"{studio.url}studio/courses" and '<html lang="en"' in reply.text


def test_theme_is_remembered(visitor: requests.Session, studio: Studio) -> None:
    assert "data-theme=" not in visitor.get(f"{studio.url}studio").text
    reply = visitor.post(f"{studio.url}studio/preferences", data={"theme": "dark", **xsrf(visitor)})
    assert reply.url == f"{studio.url}studio" and 'data-theme="dark"' in reply.text


@pytest.mark.parametrize("data", [{"lang": "fr"}, {"theme": "neon"}])
def test_a_preference_that_is_none(visitor: requests.Session, studio: Studio, data: dict[str, str]) -> None:
    reply = visitor.post(f"{studio.url}studio/preferences", data={**data, **xsrf(visitor)})
    assert reply.status_code == 400


OUTSIDE = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example",
    "/\\evil.example",
    "evil",
    "http:evil.example",
    "http://[evil.example",
    "//[::1",
]
SMUGGLED = [
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r\n/evil.example",
    "\\\\evil.example",
    "/\t\\evil.example",
]


@pytest.mark.parametrize("target", [*OUTSIDE, *SMUGGLED])
def test_preferences_send_nobody_elsewhere(visitor: requests.Session, studio: Studio, target: str) -> None:
    reply = visitor.post(
        f"{studio.url}studio/preferences",
        data={"theme": "dark", "next": target, **xsrf(visitor)},
        allow_redirects=False,
    )
    assert reply.headers["Location"] == "/studio"


def test_errors_are_pages_in_both_languages(visitor: requests.Session, studio: Studio) -> None:
    english = visitor.get(f"{studio.url}studio/nowhere", headers={"Accept-Language": "en"})
    chinese = visitor.get(f"{studio.url}studio/courses/nothing/open", headers={"Accept-Language": "zh"})
    assert english.status_code == 404 and "no page at this address" in english.text
    assert chinese.status_code == 405 and "不接受这种请求" in chinese.text


def test_a_lesson_that_is_none(visitor: requests.Session, studio: Studio) -> None:
    for action in ("open", "restart", "translate", "check", "check/cancel"):
        reply = visitor.post(f"{studio.url}studio/courses/nothing/{action}", data=xsrf(visitor))
        assert reply.status_code == 404


def test_no_page_names_another_host(visitor: requests.Session, studio: Studio) -> None:
    for path in ("studio", "studio/courses", "studio/nowhere", "login"):
        text = visitor.get(studio.url + path).text.replace(studio.url, "/")
        assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", text)


def test_assets_may_be_kept(visitor: requests.Session, studio: Studio) -> None:
    text = visitor.get(f"{studio.url}studio").text
    address = re.search(r'href="(/studio/static/studio\.css\?v=\w+)"', text)
    assert address is not None
    reply = visitor.get(studio.url.rstrip("/") + address.group(1))
    assert reply.headers["Content-Type"] == "text/css"
    assert "max-age" in reply.headers["Cache-Control"] or "Expires" in reply.headers
