"""What must be right before a class is served, and what is said where it is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from studio import cli
from studio.course import Course
from studio.grading import release
from studio.hub import roster, settings
from studio.hub.folder import ClassFolder
from studio.hub.roster import Person
from studio.hub.serve import Options, _check_network, closed_folder, hand_out, readable_by_others
from studio.paths import NOTEBOOKS

NOTEBOOK = "00_orientation"
PEOPLE = [Person("ada"), Person("tia", role="teacher"), Person("max", role="admin")]


def course(folder: Path) -> Path:
    (folder / "checks").mkdir(parents=True)
    for name in (f"{NOTEBOOK}.ipynb", f"checks/{NOTEBOOK}.py"):
        shutil.copyfile(NOTEBOOKS / name, folder / name)
    return folder


def test_a_class_needs_a_roster_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["class", "serve", str(tmp_path / "7b")]) == 2
    assert "has no roster yet: sampan class roster" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
def test_a_trial_is_not_for_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "7b").mkdir()
    roster.save(tmp_path / "7b" / "roster.json", PEOPLE)
    assert cli.main(["class", "serve", str(tmp_path / "7b"), "--trial"]) == 2
    assert "another account than root" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
def test_everyone_needs_an_account(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "7b").mkdir()
    roster.save(tmp_path / "7b" / "roster.json", [Person("no-such-account-here"), Person("daemon")])
    assert cli.main(["class", "serve", str(tmp_path / "7b")]) == 2
    told = capsys.readouterr().err
    assert (
        "no account on this machine: no-such-account-here" in told and "system" in told and "daemon" in told
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"ip": "0.0.0.0"}, "plain text on 0.0.0.0"),
        ({"certificate": "a.pem"}, "belong together"),
        ({"ip": "0.0.0.0", "trial": True}, "a trial listens on this machine only"),
    ],
)
def test_passwords_do_not_cross_the_network_in_plain_text(options: dict[str, Any], problem: str) -> None:
    given = Options(Path("7b"), **options)
    with pytest.raises(ValueError, match=problem):
        _check_network(given, "trial" if given.trial else "system")


def test_encrypted_or_local_is_fine() -> None:
    for options in ({}, {"ip": "0.0.0.0", "behind_tls": True}, {"ip": "::", "certificate": "a", "key": "b"}):
        _check_network(Options(Path("7b"), **options), "system")  # type: ignore[arg-type]  # a table of cases


def test_a_course_that_others_can_read_is_found(tmp_path: Path) -> None:
    place = course(tmp_path / "open" / "course")
    for folder in (tmp_path / "open", place, place / "checks"):
        folder.chmod(0o755)
    closed = closed_folder(place)  # pytest's own folders are closed on most machines
    found = readable_by_others(place)
    assert found == (None if closed else place / f"{NOTEBOOK}.ipynb")
    place.chmod(0o700)
    assert closed_folder(place) in (closed, place) and readable_by_others(place) is None


def test_learners_get_copies_and_the_grader_the_checks(tmp_path: Path) -> None:
    folder = ClassFolder(tmp_path / "7b")
    for path in (folder.released, folder.grading):
        path.mkdir(parents=True)
    (folder.released / "en").mkdir()
    (folder.released / "en" / "99_former.ipynb").write_text("{}")
    hand_out(course(tmp_path / "source"), folder, PEOPLE)
    assert sorted(p.relative_to(folder.released).as_posix() for p in folder.released.rglob("*.*")) == [
        f"en/{NOTEBOOK}.ipynb",
        f"zh/{NOTEBOOK}.ipynb",
    ]
    instructor = release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb")
    for lang in ("en", "zh"):
        path = folder.released / lang / f"{NOTEBOOK}.ipynb"
        assert release.leaks(instructor, release.read(path)) == []
        assert path.stat().st_mode & 0o777 == 0o644
    assert (folder.course / "checks" / f"{NOTEBOOK}.py").is_file()
    # The Studio's course, from these copies alone.
    (lesson,) = Course(folder.released, tmp_path / "home").lessons()
    (whole,) = (one for one in Course(NOTEBOOKS, tmp_path / "home").lessons() if one.id == NOTEBOOK)
    assert (lesson.titles, lesson.points, lesson.minutes) == (whole.titles, whole.points, whole.minutes)
    for lang in ("en", "zh"):
        assert lesson.handed_out(lang).cells == whole.handed_out(lang).cells


def configured(tmp_path: Path, **options: Any) -> Config:
    folder = ClassFolder(tmp_path / "7b")
    folder.hub.mkdir(parents=True)
    roster.save(folder.roster, PEOPLE)
    given = {
        **{"root": str(folder.root), "accounts": "system", "address": "http://127.0.0.1:8000", "hub_port": 1},
        **{"proxy_port": 2, "service_port": 3, "proxy": "/bin/proxy", **options},
    }
    made = settings.Settings(**given)
    made.save()
    assert settings.load(folder.root) == made
    c = Config()
    settings.configure(c, made)
    return c


def test_only_the_roster_may_log_in_and_roles_are_small(tmp_path: Path) -> None:
    c = configured(tmp_path)
    assert c.Authenticator.allowed_users == {"ada", "tia", "max"} and c.Authenticator.allow_all is False
    assert (
        c.Authenticator.allow_existing_users is False
    )  # who has left the roster is in the Hub's database still
    assert c.Authenticator.admin_users == {"max"}
    assert c.JupyterHub.load_groups == {
        "sampan-7b-teachers": {"users": ["tia"]},
        "sampan-7b-learners": {"users": ["ada"]},
    }
    (role,) = c.JupyterHub.load_roles
    assert role["scopes"] == ["access:services!service=sampan-7b"]
    assert c.JupyterHub.services[0]["user"] == "sampan-grader"
    assert c.JupyterHub.authenticator_class == "pam"


def test_no_password_is_in_a_learners_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPAN_STORE", "postgresql://me:hush@host/db")
    monkeypatch.setenv("MY_TOKEN", "hush")
    c = configured(tmp_path, accounts="trial", learners_password="x" * 12, teachers_password="y" * 32)
    told = str(c.Spawner.environment) + str(c.JupyterHub.services)
    assert "hush" not in told and "x" * 12 not in told and "y" * 32 not in told
    assert c.Authenticator.admin_users == {
        "max",
        "tia",
    }  # in a trial, JupyterHub has no other password for them


def test_with_subdomains_the_service_has_its_own_address(tmp_path: Path) -> None:
    c = configured(tmp_path, subdomains="https://class.example.org")
    assert c.JupyterHub.subdomain_host == "https://class.example.org"
    assert c.Spawner.environment["SAMPAN_CLASS_ADDRESS"].startswith(
        "https://services.class.example.org/services/"
    )
