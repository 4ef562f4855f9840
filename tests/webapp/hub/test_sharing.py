"""A teacher's data set for a class: it goes through the service, and its members load it by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

import sampan
from studio.grading.client import GradingError
from studio.uploads import store

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")

from studio.hub import sharing
from tests.webapp.hub.service_alone import PREFIX, Alone, serving_alone

pytestmark = pytest.mark.servers
FILMS, MORE = b"title,year\nStalker,1979\n", b"title,year\nStalker,1979\nSolaris,1972\n"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with serving_alone(tmp_path_factory.mktemp("alone")) as running:
        running.desk.folder.shared.mkdir()  # as `sampan class serve` does
        yield running


def card(name: str = "films", file: str = "films.csv") -> dict[str, Any]:
    return {"name": name, "file": file, "title": "Films", "source": "made", "licence": "CC0", "about": ""}


def call(alone: Alone, who: str, method: str, path: str, **options: Any) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        headers = {"Authorization": f"token {who}-token"}
        url = f"{alone.url}{PREFIX}api/datasets/{path}"
        return session.request(method, url, headers=headers, timeout=60, **options)


def test_members_load_what_a_teacher_shares(alone: Alone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPAN_UPLOADS", str(alone.desk.folder.shared))
    teacher = alone.member("tia")
    alone.run(teacher.share(card(), FILMS))
    assert sampan.datasets.load("films").columns["year"].tolist() == [1979]
    alone.run(teacher.share(card(), MORE))
    newest, first = sharing.shared(alone.desk).sets()["films"]
    assert (newest["by"], newest["licence"]) == ("tia", "CC0") and newest["version"] != first["version"]
    assert sampan.datasets.load("films").columns["year"].tolist() == [1979, 1972]
    assert len(sampan.datasets.load("films", version=first["version"])) == 1
    place = alone.desk.folder.shared / "films" / newest["version"] / newest["file"]
    assert place.stat().st_mode & 0o777 == 0o644  # learners have accounts of their own
    alone.run(teacher.withdraw(newest))
    assert sampan.datasets.load("films").columns["year"].tolist() == [1979]
    alone.run(teacher.withdraw(first))
    with pytest.raises(ValueError, match="films"):
        sampan.datasets.load("films")


def test_only_teachers_share_and_only_what_the_examiner_takes(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(alone, "ada", "POST", "films?file=films.csv", data=FILMS).status_code == 403
    assert call(alone, "ada", "DELETE", f"films/{'0' * 12}").status_code == 403
    assert call(alone, "nobody", "POST", "films?file=films.csv", data=FILMS).status_code == 403
    assert call(alone, "tia", "DELETE", f"films/{'0' * 12}").status_code == 404
    teacher = alone.member("tia")
    for what, content in (
        (card(file="films.npy"), FILMS),
        (card("mnist"), FILMS),
        (card("film"), b"MZ" + bytes(60)),
    ):
        with pytest.raises(GradingError) as refused:
            alone.run(teacher.share(what, content))
        assert refused.value.words("en") != refused.value.words("zh")
    alone.run(teacher.share(card("first"), FILMS))
    monkeypatch.setattr(store, "quota", lambda: len(FILMS) + 10)
    with pytest.raises(GradingError, match=r"free|room|quota"):
        alone.run(teacher.share(card("second"), MORE))
    assert list(sharing.shared(alone.desk).sets()) == ["first"]


def test_a_teacher_shares_from_the_own_studio(alone: Alone, tmp_path: Path) -> None:
    studio = alone.studio("tia", tmp_path)
    try:
        with requests.Session() as session:
            session.trust_env = False
            page = f"{studio.url}studio/datasets/seas"
            session.get(f"{studio.url}studio/datasets", params={"token": studio.token}, timeout=60)
            xsrf = {"_xsrf": str(session.cookies["_xsrf"])}
            put = session.put(
                f"{studio.url}studio/uploads",
                params={"name": "seas", "file": "seas.csv", "title": "Seas"},
                headers={"X-XSRFToken": xsrf["_xsrf"]},
                data=FILMS,
                timeout=120,
            )
            assert put.ok and not put.json()["refused"], put.text
            english = {"Accept-Language": "en"}
            assert "Share with the class" in session.get(page, headers=english, timeout=60).text
            (mine,) = store.Store(studio.home / "datasets").sets()["seas"]
            share = f"{studio.url}studio/uploads/seas/{mine['version']}/share"
            said = session.post(share, data=xsrf, headers=english, timeout=120)
            assert said.ok and "Shared with the class" in said.text
            (given,) = sharing.shared(alone.desk).sets()["seas"]
            assert (given["version"], given["title"], given["by"]) == (mine["version"], "Seas", "tia")
            assert (
                "Shared with the class"
                in session.get(f"{studio.url}studio/datasets", headers=english, timeout=60).text
            )
            assert session.post(share, data={**xsrf, "withdraw": "1"}, timeout=120).ok
            assert "seas" not in sharing.shared(alone.desk).sets()
    finally:
        studio.stop()
