"""The page "Admin" of a running Studio, backups made there, and no secret in any log of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests

from studio import i18n
from studio.backup import archive
from studio.server import journal
from tests.webapp.running import Studio, until

pytestmark = pytest.mark.servers


def press(visitor: requests.Session, studio: Studio, action: str) -> requests.Response:
    page = f"{studio.url}studio/admin"
    token = re.search(r'name="_xsrf" value="([^"]+)"', visitor.get(page).text)
    assert token is not None
    return visitor.post(f"{studio.url}studio/{action}", data={"_xsrf": token[1]}, headers={"Referer": page})


def test_the_state_and_a_backup_with_its_download(
    visitor: requests.Session, studio: Studio, tmp_path: Path
) -> None:
    page = visitor.get(f"{studio.url}studio/admin").text
    assert ".studio/compute.sqlite3" in page and str(studio.home) in page
    assert press(visitor, studio, "admin/backup").url == f"{studio.url}studio/admin"

    def made() -> str | None:
        html = visitor.get(f"{studio.url}studio/admin/live").text
        assert "is-bad" not in html.split("<h2")[1], html
        found = re.search(r"/studio/admin/backups/([\w.-]+)", html)
        return found[1] if found and "data-active" not in html else None

    name = until(made, 120)
    reply = visitor.get(f"{studio.url}studio/admin/backups/{name}")
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    (tmp_path / "b").write_bytes(reply.content)
    told = archive.check(tmp_path / "b")
    assert told.kind == "workspace" and ".studio/compute.sqlite3" in told.files
    assert not any("studio-" in file or "runtime" in file for file in told.files)
    assert (
        visitor.get(f"{studio.url}studio/admin/backups/workspace-20200101-000000.sampan").status_code == 404
    )
    press(visitor, studio, f"admin/backups/{name}/remove")
    assert name not in visitor.get(f"{studio.url}studio/admin/live").text
    visitor.cookies.set(i18n.LANGUAGE_COOKIE, "zh")
    assert i18n.t("admin.title", "zh") in visitor.get(f"{studio.url}studio/admin").text


def test_no_secret_is_in_any_log_of_a_run(studio: Studio) -> None:
    secret = "hunter2-not-in-a-log"
    with requests.Session() as session:
        session.trust_env = False
        session.get(f"{studio.url}studio", params={"token": studio.token})
        cookies = dict(session.cookies)
        assert any(name.startswith("username-") for name in cookies) and "_xsrf" in cookies
        session.post(f"{studio.url}login", data={"password": secret, "_xsrf": cookies["_xsrf"]})
        for method, path in (
            *(("GET", "studio/nowhere"), ("GET", f"studio/datasets/nothing?password={secret}")),
            *(("POST", "studio/admin/backup"), ("GET", f"api/contents/none?api_key={secret}")),
            *(("GET", "studio/admin"), ("GET", "studio/courses"), ("PUT", "studio/uploads?name=x")),
        ):
            session.request(method, studio.url + path, timeout=60)
        for headers in ({"Authorization": f"token {secret}"}, {"Cookie": f"_xsrf={secret}"}, studio.headers):
            requests.get(f"{studio.url}api/sessions/nothing", headers=headers, timeout=60)
            requests.get(f"{studio.url}files/nothing?token={studio.token}", headers=headers, timeout=60)
            requests.post(f"{studio.url}api/kernels", headers=headers, data=b"{", timeout=60)
    secrets = [secret, studio.token, *(value for name, value in cookies.items() if "sampan" not in name)]
    logs = [studio.log, *(studio.home / ".studio").rglob("*.log*")]
    assert (studio.home / ".studio" / journal.FILE) in logs
    seen = 0
    for log in logs:
        # The address with the token is printed at the start, for the person at the terminal.
        lines = [
            line for line in log.read_text(errors="replace").splitlines() if "/studio?token=" not in line
        ]
        seen += len(lines)
        assert [line for line in lines for word in secrets if word in line] == [], log
    assert seen > 5
    assert journal.HIDDEN in studio.log.read_text(errors="replace")
