"""The learner's copy: stubs in place of solutions, nothing left that tells them."""

import ast

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from studio.grading import release

SOLUTION = """\
@learn.exercise("practice.double")
def double(x):
    ### BEGIN SOLUTION
    # add it to itself
    answer = x + x
    return answer
    ### END SOLUTION"""


def nbgrader(**more):
    return {
        "nbgrader": {
            "schema_version": 3,
            "grade_id": "a",
            "solution": True,
            "grade": False,
            "locked": False,
            **more,
        }
    }


def instructor(*cells):
    return new_notebook(
        cells=list(cells), metadata={"sampan": {"title": "T"}, "widgets": {"state": "answer = x + x"}}
    )


def test_a_solution_becomes_a_stub_that_raises_and_keeps_the_signature():
    book = instructor(new_code_cell(SOLUTION, metadata=nbgrader()))
    source = release.release(book).cells[0].source
    ast.parse(source)
    assert "answer" not in source and "BEGIN" not in source
    namespace = {"learn": type("learn", (), {"exercise": lambda name: lambda f: f})}
    exec(source, namespace)
    with pytest.raises(NotImplementedError, match=r"practice\.double is not written yet.*learn\.hint"):
        namespace["double"](1)
    assert book.cells[0].source == SOLUTION  # the original is untouched


def test_a_region_outside_an_exercise_becomes_a_line_to_write_on():
    cell = new_code_cell(
        "guess = ...\n### BEGIN SOLUTION\nguess = 28 * 28 * 4\n### END SOLUTION\nprint(guess)"
    )
    assert (
        release.release(instructor(cell)).cells[0].source
        == "guess = ...\n# Your turn: write here.\nprint(guess)"
    )


def test_hidden_tests_instructor_cells_outputs_and_foreign_metadata_go():
    book = instructor(
        new_code_cell("assert f(1) == 2\n### BEGIN HIDDEN TESTS\nassert f(7) == 14\n### END HIDDEN TESTS"),
        new_code_cell("### BEGIN HIDDEN TESTS\nassert f(9)\n### END HIDDEN TESTS"),
        new_markdown_cell("for the teacher", metadata={"tags": ["instructor"]}),
        new_code_cell(
            "# NBVAL_IGNORE_OUTPUT\n1 + 1",
            execution_count=4,
            outputs=[new_output("stream", text="2")],
            metadata={"path": "/secret"},
        ),
    )
    made = release.release(book)
    assert [cell.source for cell in made.cells] == ["assert f(1) == 2", "1 + 1"]
    assert (
        made.cells[1].outputs == [] and made.cells[1].execution_count is None and made.cells[1].metadata == {}
    )
    assert dict(made.metadata) == {"sampan": {"title": "T"}}
    nbformat.validate(made)


def test_nbgrader_metadata_and_cell_ids_stay():
    cell = new_code_cell(SOLUTION, metadata=nbgrader())
    made = release.release(instructor(cell)).cells[0]
    assert made.id == cell.id and made.metadata.nbgrader == cell.metadata.nbgrader


@pytest.mark.parametrize("where", ["    answer = x + x  # like this", "see `answer = x + x`"])
def test_a_solution_line_anywhere_else_stops_the_release(where):
    with pytest.raises(ValueError, match=r"outside its region: 'answer = x \+ x'"):
        release.release(instructor(new_code_cell(SOLUTION), new_markdown_cell(where)))


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\nx = 1",
        "### END SOLUTION",
        "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION",
    ],
)
def test_a_broken_region_names_its_cell(source):
    with pytest.raises(ValueError, match="cell 1: line"):
        release.release(instructor(new_markdown_cell("hello"), new_code_cell(source)))


def test_leaks_are_found_in_outputs_and_metadata_too():
    book = instructor(new_code_cell(SOLUTION))
    made = release.release(book)
    made.cells[0].metadata["note"] = "answer = x + x"
    assert release.leaks(book, made) == ["answer = x + x"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"nbformat": 4, "cells": [{}]}'])
def test_a_file_that_is_no_notebook_is_named(tmp_path, text):
    path = tmp_path / "mine.ipynb"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"mine\.ipynb is not a Jupyter notebook"):
        release.read(path)


def test_writing_leaves_nothing_half_done(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "copy.ipynb"
    release.write(new_notebook(), path)
    before = path.read_text()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        release.write(new_notebook(cells=[new_code_cell("1")]), path)
    assert path.read_text() == before and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_nbgrader_calls_a_solution_is_one_as_a_whole(lang):
    """As nbgrader's own ClearSolutions does: written answers have no regions."""
    book = instructor(
        new_markdown_cell("Because the answer is 42.", metadata=nbgrader(grade=True, points=2)),
        new_code_cell("answer = 41 + 1", metadata=nbgrader(grade_id="b")),
        new_markdown_cell("Say why.\n### BEGIN SOLUTION\nIt is the answer.\n### END SOLUTION\nShortly."),
    )
    answer, code, region = (cell.source for cell in release.release(book, lang).cells)
    assert answer == release.WRITE_TEXT_HERE[lang] and code == release.WRITE_HERE[lang]
    assert region == f"Say why.\n{release.WRITE_TEXT_HERE[lang]}\nShortly."


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n# BEGIN SOLUTION\ny = 2",
        "<!-- BEGIN SOLUTION -->",
        "### BEGIN MARK SCHEME",
        "### BEGIN HIDDEN TESTS!",
    ],
)
def test_a_marker_in_another_form_would_hand_its_secret_out(source):
    with pytest.raises(ValueError, match="cell 0: expected a line with nothing but '###"):
        release.release(instructor(new_code_cell(source)))
