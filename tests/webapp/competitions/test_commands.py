"""`sampan competition`, as a person types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.cli import main
from tests.webapp.competitions.rooms import ROWS, answer, solution


def test_from_a_solution_to_the_final_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    files = {
        "labels.csv": solution(),
        "all.csv": answer(ROWS),
        "none.csv": answer(0),
        "bad.csv": answer(3)[:-6],
        "train.csv": b"x\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["competition", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    create = (
        "create",
        "letters",
        "--title",
        "Letters",
        "--solution",
        str(tmp_path / "labels.csv"),
        "--share",
        "0.5",
        "--data",
        str(tmp_path / "train.csv"),
    )
    status, out, _ = run(*create)
    assert status == 0 and "sample_submission.csv: scored  public 0." in out
    assert run(*create) == (1, "", "There is already a competition named letters.\n")
    assert run("board", "nothing")[0] == 1
    assert "public 0.00000" in run("submit", "letters", str(tmp_path / "none.csv"))[1]
    status, out, err = run("submit", "letters", str(tmp_path / "bad.csv"))
    assert status == 1 and "received: " in out and "Missing ids: 1, such as r19" in err
    status, out, _ = run("submit", "letters", str(tmp_path / "all.csv"))
    assert status == 0 and "public 1.00000" in out
    assert "letters" in run("list")[1] and " open " in run("list")[1]
    turned = tmp_path / "turned.csv"
    turned.write_bytes(solution().replace(b",a", b",c").replace(b",b", b",a").replace(b",c", b",b"))
    assert (
        run("rescore", "letters", "--solution", str(turned))[1] == "3 scored\n"
    )  # not the one that could not be read
    status, out, _ = run("end", "letters")
    assert (
        status == 0 and out.split()[0] == "1" and "1.00000" in out
    )  # with the labels turned round, none.csv is right
    status, _, err = run("submit", "letters", str(tmp_path / "all.csv"))
    assert status == 1 and "has ended" in err
