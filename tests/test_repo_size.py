"""What counts as a line of code, and the limit of the core."""

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


def test_code_lines_leave_out_docstrings_comments_and_blanks():
    # import, class, two lines of data, def, return ( ... ) without the comment inside: 4 lines
    assert size.code_lines(SOURCE) == 1 + 1 + 2 + 1 + 4


@pytest.mark.parametrize(("source", "lines"), [("", 0), ('"""only words"""', 0), ("x = 1; y = 2\n", 1)])
def test_small_sources(source, lines):
    assert size.code_lines(source) == lines


def test_a_notebook_counts_its_code_cells_only(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["x = 1\n"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1  # one\n", "\n", "x"]},
    ]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert size.notebook_lines(path) == 2
    assert size.rooms(tmp_path) == {}  # a notebook is not a room
    assert size.count(tmp_path) == 2


def test_the_library_stays_under_its_limits():
    library = size.rooms(size.LIBRARY)
    assert {"kernels", "ops", "tensor.py", "autograd.py"} <= set(library)
    assert size.core_size(library) < size.CORE_LIMIT
    assert size.general_size(library) < size.LIBRARY_LIMIT


def test_no_file_of_the_library_is_long():
    long = {
        str(p.relative_to(size.LIBRARY)): n
        for p in size.LIBRARY.rglob("*.py")
        if (n := size.code_lines(p.read_text())) > 400
    }
    assert set(long) <= {"tensor.py"}, long  # what everybody reads stands in one place


def test_core_size_counts_the_facade_and_the_lower_floors_only():
    rooms = {"__init__.py": 1, "kernels": 10, "tensor.py": 100, "ops": 1000, "nn": 5000, "learn": 7000}
    assert size.core_size(rooms) == 1111
