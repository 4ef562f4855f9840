"""The learner's functions of all passed exercises, from their folder into the library and out again."""

import pytest

from sampan import learn

DOUBLE = """
from sampan import learn

def twice(x):
    return x + x

@learn.exercise("practice.double")
def double(x):
    return twice(x) + 0.5
"""


@pytest.fixture
def folder(tmp_path, practice):
    made = tmp_path / "my_engine"
    made.mkdir()
    (made / "practice.double.py").write_text(DOUBLE)
    return made


def test_the_functions_of_the_folder_are_put_in_and_taken_out(folder, practice, capsys):
    assert learn.engine("mine", folder) == {}
    assert practice.quadruple(1) == 5.5 and "1" in capsys.readouterr().out
    assert learn.engine("library") == {}
    assert practice.quadruple(1) == 4


def test_the_folder_is_found_from_below(folder, practice, monkeypatch):
    below = folder.parent / "notebooks"
    below.mkdir()
    monkeypatch.chdir(below)
    learn.engine()
    assert practice.quadruple(1) == 5.5


def test_a_file_that_does_not_run_is_named_and_the_others_are_used(folder, practice):
    (folder / "practice.negate.py").write_text("1 / 0\n")
    (folder / "practice.none.py").write_text("def (:\n")
    failed = learn.engine("mine", folder)
    assert sorted(failed) == ["practice.negate", "practice.none"]
    assert failed["practice.negate"] == "ZeroDivisionError: division by zero"
    assert practice.quadruple(1) == 5.5 and practice.negate(1) == -1


def test_what_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no exercise is passed yet"):
        learn.engine()
    with pytest.raises(ValueError, match="whose must be 'mine' or 'library', got 'theirs'"):
        learn.engine("theirs")
