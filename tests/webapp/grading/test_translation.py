"""A lesson in two languages from one notebook."""

import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from studio.grading import formgrader, release
from studio.grading.submission import read_submission
from studio.grading.translation import accept, comments, faults, in_other_language, language_of
from tools import translations

SETUP = "from sampan import learn  # the course\n"
EXERCISE = '''@learn.exercise("ops.relu")
def relu(x):
    """Zero below zero."""
    ### BEGIN SOLUTION
    # a comment of the solution
    return x.clamp(min=0), lambda g: g * (x > 0)
    ### END SOLUTION
'''


@pytest.fixture
def lesson():
    """An instructor's notebook: a text, a cell that imports learn, and an exercise, each in both languages."""
    pairs = [["# the course", "# 课程"]]
    exercise = [["Zero below zero.", "负数变成零。"], ["# a comment of the solution", "# 解答的注释"]]
    cells = [
        new_markdown_cell("# A question", id="q"),
        new_markdown_cell("# 问题", id="q-zh", metadata={"tags": ["zh"]}),
        new_code_cell(SETUP, id="s", metadata={"tags": ["setup"], "sampan": {"zh": pairs}}),
        new_code_cell(
            EXERCISE,
            id="e",
            metadata={
                "sampan": {"zh": exercise},
                "nbgrader": {"grade_id": "relu", "solution": True, "grade": False, "locked": False},
            },
        ),
    ]
    made = new_notebook(cells=cells, metadata={"sampan": {"title": "A"}})
    accept(made)
    return made


def test_each_copy_has_one_language(lesson):
    english, chinese = release.release(lesson), release.release(lesson, "zh")
    assert [cell.id for cell in english.cells] == [cell.id for cell in chinese.cells] == ["q", "s", "e"]
    assert english.cells[0].source == "# A question" and chinese.cells[0].source == "# 问题"
    assert english.cells[1].source == SETUP
    assert chinese.cells[1].source == 'from sampan import learn  # 课程\n\nlearn.language("zh")'
    assert '"""负数变成零。"""' in chinese.cells[2].source and "轮到你了" in chinese.cells[2].source
    assert "解答" not in json.dumps(chinese, ensure_ascii=False) and "clamp" not in json.dumps(chinese)
    assert (language_of(english), language_of(chinese)) == ("en", "zh")
    assert lesson.cells[2].source == SETUP and "language" not in lesson.metadata.sampan


def test_a_complete_translation_has_no_faults(lesson):
    assert faults(lesson) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda cells: cells[0].update(source="# Another question"), "has changed since it was translated"),
        (lambda cells: cells.pop(1), "no Chinese: '# A question'"),
        (lambda cells: cells.pop(0), "a Chinese cell without an English one"),
        (lambda cells: cells[2].update(source="from sampan import learn"), "a text that is not there"),
        (lambda cells: cells[2].update(source=SETUP + "# more"), "no Chinese for '# more'"),
        (lambda cells: cells[3].metadata.sampan["zh"].pop(), "no Chinese for '# a comment of the solution'"),
        (lambda cells: cells[2].metadata.sampan["zh"].append(["learn  ", "teach  "]), "is other code"),
        (lambda cells: cells[3].metadata.sampan["zh"].append(["BEGIN", "开始"]), "is other code"),
    ],
)
def test_what_is_missing_or_outdated_is_named(lesson, change, fault):
    change(lesson.cells)
    assert any(fault in found for found in faults(lesson)), faults(lesson)


@pytest.mark.parametrize(
    ("source", "pairs", "complete"),
    [
        ('speed = {"a row": 1}', [["a row", "一行"]], False),
        ('speed = {"a row": 1}\nspeed["a row"]', [["a row", "一行"]], True),
        ('f"{1:5.1f} rows"', [["5.1f} rows", "5,f} 行"]], False),
        ('f"{1:5.1f} rows"', [["rows", "行"]], True),
    ],
)
def test_a_key_is_translated_everywhere_and_a_format_nowhere(lesson, source, pairs, complete):
    later = 'print(speed["a row"])' if "a row" in source and not complete else "pass"
    lesson.cells.append(new_code_cell(source, metadata={"sampan": {"zh": pairs}}))
    lesson.cells.append(new_code_cell(later))
    assert (faults(lesson) == []) == complete


def test_marks_for_programs_and_lines_of_ipython_need_no_translation():
    source = "# NBVAL_IGNORE_OUTPUT\n%time x = 1\n### BEGIN SOLUTION\ny = 2  # two\n### END SOLUTION"
    assert [*comments(source)] == ["# two"]


def test_a_copy_changes_its_language_and_keeps_what_the_learner_wrote(lesson):
    english, chinese = release.release(lesson), release.release(lesson, "zh")
    mine = release.release(lesson)
    mine.cells[2].source = "def relu(x):\n    return x  # my own"
    mine.cells.append(new_code_cell("my_cell = 1", id="mine"))
    made = in_other_language(mine, english, chinese)
    assert [cell.source for cell in made.cells[:2]] == [cell.source for cell in chinese.cells[:2]]
    assert [cell.source for cell in made.cells[2:]] == [cell.source for cell in mine.cells[2:]]
    assert language_of(made) == "zh" and mine.cells[0].source == "# A question"
    back = in_other_language(made, chinese, english)
    assert [cell.source for cell in back.cells] == [cell.source for cell in mine.cells]
    assert language_of(back) == "en"


@pytest.mark.parametrize("about", [None, [], "zh", {"language": 7}, {"language": ["zh"]}])
def test_metadata_of_a_learner_may_hold_anything(about):
    assert language_of(new_notebook(metadata={"sampan": about})) == "en"


@pytest.mark.parametrize("metadata", [None, [], {"sampan": ["zh"]}, {"sampan": {"language": {"zh": 1}}}])
def test_of_a_submission_only_a_known_language_is_read(tmp_path, metadata):
    path = tmp_path / "copy.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": [], "metadata": metadata}))
    assert read_submission(path).metadata == {}
    path.write_text(
        json.dumps({"nbformat": 4, "cells": [], "metadata": {"sampan": {"language": "zh", "x": 1}}})
    )
    assert read_submission(path).metadata == {"sampan": {"language": "zh"}}


@pytest.mark.parametrize(("lang", "comment"), [("en", "# the limit"), ("zh", "# 界限")])
def test_formgrader_shows_locked_cells_in_the_language_of_the_copy(lesson, tmp_path, lang, comment):
    marks = {"grade_id": "given", "solution": False, "grade": False, "locked": True}
    about = {"sampan": {"zh": [["# the limit", "# 界限"]]}, "nbgrader": marks}
    lesson.cells.append(new_code_cell("limit = 0  # the limit", id="g", metadata=about))
    release.write(lesson, tmp_path / "lesson.ipynb")
    copy = release.release(lesson, lang)
    copy.cells[-1].source = "limit = 9  # mine"
    release.write(copy, tmp_path / "copy.ipynb")
    shown = tmp_path / "shown.ipynb"
    formgrader.write_autograded(tmp_path / "copy.ipynb", tmp_path / "lesson.ipynb", shown, [])
    assert release.read(shown).cells[-1].source == f"limit = 0  {comment}"


def test_the_command_names_faults_and_accepts(lesson, tmp_path, capsys):
    path = tmp_path / "lesson.ipynb"
    lesson.cells[0].source = "# Another question"
    release.write(lesson, path)
    assert translations.main([str(path)]) == 1
    assert "lesson.ipynb: cell 1: the English text has changed" in capsys.readouterr().out
    assert translations.main(["--accept", str(path)]) == 0 and translations.main([str(path)]) == 0
