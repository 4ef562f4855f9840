"""What counts as a token of code, and the limits of the library."""

import json

import pytest

from tools import size

SOURCE = '''"""Module docstring
in two lines."""

# a comment
import os  # with a comment behind it


class Thing:
    """Docstring."""

    text = """data over
    two lines"""

    def method(self):
        """Docstring."""
        return (
            os.sep
            # a comment inside
            + "x"
        )
'''


def test_tokens_leave_out_docstrings_comments_and_layout():
    # import os; class Thing :; text = "data"; def method ( self ) :; return ( os . sep + "x" )
    assert size.code_tokens(SOURCE) == 2 + 3 + 3 + 6 + 8


@pytest.mark.parametrize(("source", "tokens"), [("", 0), ('"""only words"""', 0), ("x = 1; y = 2\n", 7)])
def test_small_sources(source, tokens):
    assert size.code_tokens(source) == tokens


def test_a_notebook_counts_its_code_cells_only(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["x = 1\n"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1  # one\n", "\n", "x"]},
    ]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert size.notebook_tokens(path) == 4
    assert size.rooms(tmp_path) == {}  # a notebook is not a room
    assert size.count(tmp_path) == 4


def test_the_library_stays_under_its_limits():
    library = size.rooms(size.LIBRARY)
    assert {"kernels", "ops", "engine", "names"} <= set(library)
    assert size.core_size(library) <= size.CORE_LIMIT
    assert size.general_size(library) <= size.LIBRARY_LIMIT


def test_no_file_of_the_library_is_long():
    files = {p.relative_to(size.LIBRARY): size.code_tokens(p.read_text()) for p in size.LIBRARY.rglob("*.py")}
    assert {path: tokens for path, tokens in files.items() if tokens > size.FILE_LIMIT} == {}


def test_no_function_and_no_line_of_the_library_is_long():
    functions, lines = size.parts(size.LIBRARY)
    assert len(functions) > 1000 and len(lines) > 10_000
    assert {name: n for name, n in functions.items() if n > size.FUNCTION_LIMIT} == {}
    assert {line: n for line, n in lines.items() if n > size.LINE_LIMIT} == {}


def test_tokens_of_functions_and_lines(tmp_path):
    (tmp_path / "file.py").write_text(SOURCE)
    functions, lines = size.parts(tmp_path)
    assert functions == {"file.py: method": 14}  # def method ( self ) : return ( os . sep + "x" )
    assert lines["file.py:5"] == 2 and lines["file.py:14"] == 6  # import os; def method ( self ) :
    assert sum(lines.values()) == size.code_tokens(SOURCE)


def test_core_size_counts_the_facade_and_the_lower_floors_only():
    rooms = {"__init__.py": 1, "kernels": 10, "engine": 100, "ops": 1000, "nn": 5000, "learn": 7000}
    assert size.core_size(rooms) == 1111
