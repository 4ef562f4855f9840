"""Processing of an untrusted notebook outside the sandbox is bounded, whatever it contains."""

from __future__ import annotations

import json
import struct
import time

import pytest

from studio.grading import formgrader, grader, wire
from studio.grading.cells import look
from studio.grading.cleaning import clean
from tests.webapp.grading.book import HEAD, SOLUTION

pytestmark = pytest.mark.servers

RIGHT = HEAD + SOLUTION


def changed(course, change):
    notebook = json.loads(course.read_text())
    cells = {"import": notebook["cells"][1], "exercise": notebook["cells"][2], "more": notebook["cells"]}
    change(notebook, cells)
    path = course.parent / "strange.ipynb"
    path.write_text(json.dumps(notebook))
    return path


def code(source, **metadata):
    return {
        "cell_type": "code",
        "source": source,
        "metadata": metadata,
        "outputs": [],
        "execution_count": None,
        "id": "same",
    }


STRANGE = {
    "half a character": lambda n, c: c["more"].append(code("x = '\ud800'  # \udfff")),
    "half a character in a grade id": lambda n, c: c["more"].append(
        code("x = 1", nbgrader={"grade_id": "\ud800"})
    ),
    "half a character in a text": lambda n, c: c["more"].append({**code("\ud800"), "cell_type": "markdown"}),
    "a null character": lambda n, c: c["more"].append(code("x = '\0'")),
    "escapes of a terminal": lambda n, c: c["more"].append(code("\x1b]0;owned\x07\x1b[2J x = 1")),
    "the same id everywhere": lambda n, c: [cell.update(id="same") for cell in c["more"]],
    "an id that is a number": lambda n, c: [cell.update(id=7) for cell in c["more"]],
    "a number without an end": lambda n, c: n["metadata"].update(huge=10**4000),
    "a deep tree": lambda n, c: n["metadata"].update(deep=json.loads("[" * 900 + "]" * 900)),
    "a long cell": lambda n, c: c["more"].append(code("x = [" + "1, " * 60_000 + "]")),
    "outputs of a wrong kind": lambda n, c: [cell.update(outputs={"a": [1]}) for cell in c["more"]],
    "metadata of a wrong kind": lambda n, c: [
        cell["metadata"].update(tags={"x": 1}, nbgrader=7) for cell in c["more"][1:2]
    ],
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
def test_what_is_strange_beside_a_right_exercise_costs_nothing(course, warm, tmp_path, change):
    began = time.monotonic()
    path = changed(course, change)
    report = grader.grade(path, course, warm=warm)
    assert report.passed, report.exercises[0].message
    formgrader.write_autograded(path, course, tmp_path / "shown" / "strange.ipynb", report.exercises)
    json.dumps(report.to_dict(), ensure_ascii=False).encode()
    assert time.monotonic() - began < 60


SLOW = {
    "magics by the thousand": "%time x\n" * 8_000,
    "questions by the thousand": "x?\n" * 10_000,
    "assignments of magics": "x = %time 1\n" * 8_000,
    "brackets": "(" * 90_000,
    "a chain": "a" + ".b" * 60_000,
    "lambdas": "lambda: " * 20_000 + "1",
    "lines": "x = y\n" * 30_000,
    "a number without an end": "x = 0x" + "f" * 50_000,
    "signs of four bytes": "x = '" + "\U0001f600" * 400_000 + "'",
}


@pytest.mark.parametrize("source", SLOW.values(), ids=SLOW)
def test_code_that_takes_long_to_read_ends_in_a_verdict(graded, monkeypatch, source):
    monkeypatch.setattr(grader, "READ_SECONDS", 1.0)
    began = time.monotonic()
    (result,) = graded(RIGHT, source).exercises
    assert result.passed or result.verdict == "error"
    assert time.monotonic() - began < 60


def test_what_a_cell_says_of_itself_is_kept_short_and_steers_nothing(graded):
    report = graded(
        RIGHT
        + "\nclass Long(Exception):\n    def __str__(self): return '\\x1b[31m' + 'y' * 10_000_000\nprint('\\x1b[2J')\nraise Long"
    )
    assert len(json.dumps(report.to_dict())) < 20_000
    assert "\x1b" not in json.dumps(report.to_dict(), ensure_ascii=False) + report.output


def test_signs_that_steer_are_marked():
    assert clean("a\x1b[31m\u202eb\ud800\tc\n") == "a\ufffd[31m\ufffdb\ufffd\tc\n"
    assert clean("Grüße 你好 😀") == "Grüße 你好 😀"


@pytest.mark.parametrize(
    ("message", "arrays"),
    [
        ("[" * 100_000, []),
        ('{"$array": 0}', [{"dtype": "float64", "shape": [0, 1 << 70]}]),
        ('{"$array": 0}', [{"dtype": "float64", "shape": [0] * 9}]),
        ('{"$array": [1]}', []),
        ('{"$array": 1e400}', []),
        ("1" * 5_000, []),
        ('{"$tuple": 3}', []),
        ('{"$strided": 0}', [{"dtype": "float64", "shape": []}]),
        ('"\\ud800"', [{"dtype": [], "shape": 3}]),
    ],
)
def test_a_frame_that_is_broken_is_nothing_worse(message, arrays):
    header = f'{{"message": {message}, "arrays": {json.dumps(arrays)}}}'.encode()
    with pytest.raises(wire.WireError):
        wire.decode(header, b"")
    assert struct.calcsize("<IQ") == wire.HEADER.size


def test_reading_a_cell_of_every_script():
    assert look("größe = 数 = 1").names.binds == {"größe", "数"}
