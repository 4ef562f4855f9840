"""The roster: what a CSV file may say, and what is said about one that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio import cli
from studio.hub import accounts, roster
from studio.hub.folder import ClassFolder
from studio.hub.roster import Person, load, named, read_csv


def table(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "people.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_people_with_real_names(tmp_path: Path) -> None:
    text = "name,first_name,last_name,email,role\r\nada,Ada,Lovelace,a@example.org,\r\ntia,Tia,张,,teacher\r\n\r\n,,,,\r\n"
    people = read_csv(table(tmp_path, text, "utf-8-sig"))  # as a spreadsheet writes it
    assert people == [
        Person("ada", "Ada", "Lovelace", "a@example.org"),
        Person("tia", "Tia", "张", role="teacher"),
    ]
    assert named(people, "teacher", "admin") == ["tia"]
    roster.save(tmp_path / "roster.json", people)
    assert load(tmp_path / "roster.json") == people
    assert (tmp_path / "roster.json").stat().st_mode & 0o077 == 0


def test_columns_in_any_order_and_semicolons(tmp_path: Path) -> None:
    assert read_csv(table(tmp_path, "Role;NAME\nadmin;root-2\n")) == [Person("root-2", role="admin")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("first_name\nAda\n", "line 1: expected the columns .* got first_name"),
        ("name,mark\nada,5\n", "line 1: expected the columns"),
        ("name\nAda\n", "line 2: name: expected a lower-case letter"),
        ("name\n../ada\n", "line 2: name"),
        ("name\n-rf\n", "line 2: name"),
        ("name,role\nada,king\n", "line 2: role: expected one of learner, teacher, admin, got 'king'"),
        ("name\nada\nbob\nada\n", "line 4: ada is there twice"),
        ("name,email\nada,a,b\n", "line 2: expected 2 columns, got 3"),
        ("name,email\n,a@example.org\n", "line 2: "),
        ("name,first_name\nada,A\x07\n", "line 2: expected at most 200 printable characters"),
        ("name\n", "expected 1 to 1000 people, got 0"),
        ("", "line 1"),
    ],
)
def test_the_line_of_the_first_problem_is_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"people\.csv.*{problem}"):
        read_csv(table(tmp_path, text))


def test_another_encoding_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected UTF-8"):
        read_csv(table(tmp_path, "name,last_name\nbob,Müller\n", "latin-1"))


def test_accounts_of_the_system_are_nobodys(tmp_path: Path) -> None:
    """A roster cannot give a learner the account that runs the machine."""
    found = accounts.missing(["root", "no-such-account-here"])
    assert found is not None and found.system == ("root",) and found.without == ("no-such-account-here",)
    assert "an account of the system, which no learner may have: root" in str(found)


def test_the_command_says_who_is_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, "name,role\nada,\nbob,\ntia,teacher\n")
    assert cli.main(["class", "roster", str(tmp_path / "7b"), str(path)]) == 0
    assert "2 learners, 1 teachers" in capsys.readouterr().out
    assert named(load(ClassFolder(tmp_path / "7b").roster), "learner") == ["ada", "bob"]
    assert cli.main(["class", "roster", str(tmp_path / "Class 7"), str(path)]) == 2
    assert "lower-case letters" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "7B", "-7b", "7b-", "a" * 33, "7 b", "7.b", "ü"])
def test_the_name_of_a_class_fits_into_addresses_and_groups(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        ClassFolder(tmp_path.with_name(name) if name else Path("/"))
