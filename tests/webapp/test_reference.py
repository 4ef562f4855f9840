"""The Studio shows the API reference that `make docs` has written, and says how to build it where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from studio import i18n
from tests.webapp.running import Studio, free_port, start_studio


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def studio(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    person = tmp_path_factory.mktemp("person")
    started = start_studio(
        person / "sampan", "--port", str(free_port()), HOME=str(person), SAMPAN_DOCS=str(built)
    )
    yield started
    started.stop()


def get(studio: Studio, path: str, **headers: str) -> requests.Response:
    return requests.get(studio.url + path, headers={**studio.headers, **headers}, timeout=60)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_before_it_is_built(studio: Studio, lang: str) -> None:
    for path in ("studio/docs", "studio/docs/", "studio/docs/reference/sampan.html"):
        reply = get(studio, path, **{"Accept-Language": lang})
        assert reply.status_code == (404 if path.endswith(".html") else 200)
        assert i18n.t("reference.missing", lang) in reply.text and "make docs" in reply.text


def test_once_it_is_built(studio: Studio, built: Path) -> None:
    (built / "reference").mkdir()
    (built / "index.html").write_text("<h1>Front</h1>")
    (built / "reference" / "sampan.html").write_text("<h1>Names</h1>")
    (built.parent / "secret.html").write_text("not yours")
    reply = get(studio, "studio/docs")
    assert reply.url == f"{studio.url}studio/docs/index.html" and reply.text == "<h1>Front</h1>"
    reply = get(studio, "studio/docs/reference/sampan.html")
    assert reply.text == "<h1>Names</h1>" and reply.headers["Content-Type"].startswith("text/html")
    assert (
        "'unsafe-inline'" not in reply.headers["Content-Security-Policy"].split("script-src")[1].split(";")[0]
    )
    for path in ("nothing.html", "reference", "..%2fsecret.html", "%2e%2e/secret.html", "/etc/passwd"):
        reply = get(studio, f"studio/docs/{path}")
        assert reply.status_code in (403, 404) and "not yours" not in reply.text, path
    for method in ("POST", "PUT", "DELETE"):
        address = f"{studio.url}studio/docs/index.html"
        assert requests.request(method, address, headers=studio.headers, timeout=60).status_code == 405


def test_it_is_for_whoever_is_in(studio: Studio) -> None:
    reply = requests.get(f"{studio.url}studio/docs/index.html", timeout=60)
    assert reply.url.startswith(f"{studio.url}login")


def test_pages_link_to_it(studio: Studio) -> None:
    for path in ("studio", "studio/courses"):
        assert 'href="/studio/docs"' in get(studio, path).text
