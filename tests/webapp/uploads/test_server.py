"""Uploading to a running Studio: versions, refusals, a connection that is cut, and the server's memory."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import requests

from studio import i18n
from tests.webapp.running import Studio, until
from tests.webapp.uploads import files

pytestmark = pytest.mark.servers


def put(studio: Studio, name: str, content: bytes, file: str = "a.csv", **words: str) -> requests.Response:
    return requests.put(
        f"{studio.url}studio/uploads",
        params={"name": name, "file": file, **words},
        data=content,
        headers=studio.headers,
        timeout=120,
    )


def form(visitor: requests.Session, page: str, action: str, **fields: str) -> requests.Response:
    """Send a form of ours as a browser does."""
    html = visitor.get(page).text
    token = re.search(r'name="_xsrf" value="([^"]+)"', html)
    assert token is not None and action in html, html
    host = page.split("/studio")[0]
    return visitor.post(host + action, data={"_xsrf": token[1], **fields}, headers={"Referer": page})


def kept(studio: Studio) -> list[Path]:
    return [path for path in (studio.home / "datasets" / ".incoming").iterdir() if path.is_file()]


def test_an_upload_its_versions_and_its_page(studio: Studio, visitor: requests.Session) -> None:
    assert put(studio, "people", files.CSV, licence="CC0").json() == {
        "refused": "",
        "address": "/studio/datasets/people",
    }
    assert put(studio, "people", files.CSV + b"<b>,1,2\n").json()["refused"] == ""
    page = f"{studio.url}studio/datasets/people"
    html = visitor.get(page).text
    versions = re.findall(r"\?version=([0-9a-f]{12})", html)
    assert len(versions) == 2 and f"load(&#34;people&#34;, version=&#34;{versions[0]}&#34;)" in html
    assert "&lt;b&gt;" not in html.split("<table")[0] and "<b>" not in html
    old = visitor.get(page, params={"version": versions[1]}).text
    assert "CC0" in old and "3 items" in old
    assert visitor.get(page, params={"version": "0" * 12}).status_code == 404
    script = (
        f"import os; os.environ['SAMPAN_HOME'] = {str(studio.home)!r}\n"
        f"from sampan import datasets; print(len(datasets.load('people', version={versions[1]!r})))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "3\n"
    action = f"/studio/uploads/people/{versions[0]}"
    assert form(visitor, page, f"{action}/edit", title="People of <x>", source="us").status_code == 200
    assert "People of &lt;x&gt;" in visitor.get(page).text
    assert "studio/datasets/people" in visitor.get(f"{studio.url}studio/datasets").text
    assert form(visitor, page, f"{action}/remove").url == page
    assert (
        form(visitor, page, f"/studio/uploads/people/{versions[1]}/remove").url
        == f"{studio.url}studio/datasets"
    )
    assert visitor.get(page).status_code in (200, 404)  # 200 while the cards of the other sets are read
    assert not (studio.home / "datasets" / "people").exists()


def test_refusals_are_said_in_the_visitors_language(studio: Studio) -> None:
    studio_cookies = {i18n.LANGUAGE_COOKIE: "zh"}
    reply = requests.put(
        f"{studio.url}studio/uploads",
        params={"name": "evil", "file": "e.zip"},
        data=files.zipped(("../evil.csv", files.CSV)),
        headers=studio.headers,
        cookies=studio_cookies,
        timeout=120,
    )
    assert reply.status_code == 422
    assert reply.json() == {"refused": i18n.t("uploads.refused.traversal", "zh", name="../evil.csv")}
    assert put(studio, "digits", files.CSV).status_code == 413
    room = {"name": "x", "bytes": str(1 << 40)}
    asked = requests.get(f"{studio.url}studio/uploads/room", params=room, headers=studio.headers, timeout=60)
    assert "bytes are free" in asked.json()["refused"]
    room = {"name": "x", "bytes": "10", "title": "t" * 300}
    asked = requests.get(f"{studio.url}studio/uploads/room", params=room, headers=studio.headers, timeout=60)
    assert "title has 300 characters" in asked.json()["refused"]
    assert kept(studio) == []


def begun(studio: Studio, size: int, name: str = "half") -> http.client.HTTPConnection:
    """An upload of which only the headers were sent."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=240)
    connection.putrequest("PUT", f"/studio/uploads?name={name}&file=a.npy")
    for key, value in {**studio.headers, "Content-Length": str(size)}.items():
        connection.putheader(key, value)
    connection.endheaders()
    return connection


def test_a_connection_that_is_cut_leaves_nothing(studio: Studio) -> None:
    connection = begun(studio, 1_000_000)
    connection.send(bytes(500_000))
    (path,) = until(lambda: kept(studio))
    assert path.stat().st_size == 1_000_000  # its room is reserved
    connection.close()
    until(lambda: not kept(studio))


def test_the_size_is_decided_before_the_body(studio: Studio) -> None:
    connection = begun(studio, 1 << 40)
    reply: Any = connection.getresponse()
    assert reply.status == 413 and b"bytes are free" in reply.read()
    connection.close()


def test_a_large_file_goes_to_the_disk(studio: Studio) -> None:
    """The server's memory does not grow by the file's size."""
    values = np.random.default_rng(0).integers(0, 256, 100 << 20, np.uint8)
    content, server = files.npy(values), psutil.Process(studio.process.pid)
    before, most = server.memory_info().rss, 0
    connection = begun(studio, len(content), "large")
    for place in range(0, len(content), 1 << 20):
        connection.send(content[place : place + (1 << 20)])
        most = max(most, server.memory_info().rss)
    reply: Any = connection.getresponse()
    assert b'"refused": ""' in reply.read()
    connection.close()
    assert most - before < 50 << 20
    (version,) = (studio.home / "datasets" / "large").iterdir()
    requests.post(
        f"{studio.url}studio/uploads/large/{version.name}/remove", headers=studio.headers, timeout=60
    ).raise_for_status()
    assert not version.exists()
