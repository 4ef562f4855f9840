"""Attacks by a submitted notebook and by a teacher's metric: the sandbox stops them, and the learner reads an error."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from studio.competitions import scorer
from studio.competitions.records import Submission
from studio.competitions.running import Runner
from studio.competitions.scoring import Scorer
from studio.competitions.store import Store
from studio.grading.sandbox import available
from tests.webapp.competitions import rooms
from tests.webapp.competitions.rooms import NAME, answer, room

pytestmark = pytest.mark.skipif(available() is not None, reason="needs the sandbox")
WRITE = "import shutil\nshutil.copy('sample_submission.csv', 'predictions.csv')"

Scored = Callable[..., tuple[Submission, Store]]


@pytest.fixture
def scored(runner: Runner, tmp_path: Path) -> Scored:
    """`scored(*cells, **card)`: a notebook of these cells, submitted and scored, and the store."""

    def run(*cells: str, **changes: Any) -> tuple[Submission, Store]:
        store, competition = room(tmp_path, **changes)
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        team = store.own_team(NAME, "eve")
        sent = store.submit(competition, team, "eve", "notebook", "n.ipynb", nbformat.writes(made).encode())
        marking = Scorer(store)
        marking._runner = runner  # one warm process for all tests
        scorer.drain(marking)
        return store.submission(sent.id), store

    return run


def told(one: Submission) -> tuple[str, str]:
    ((kind, values),) = one.problems
    return kind, str(values.get("error", ""))


def test_a_notebook_finds_the_data_and_is_scored(scored: Scored) -> None:
    cells = (
        "import os\nassert sorted(os.listdir()) == ['sample_submission.csv', 'test.csv', 'tmp'], os.listdir()",
        "text = open('test.csv').read()",
    )
    write = "open('predictions.csv', 'w').write(text.replace('x', 'label'))"
    one, _ = scored(*cells, write, data={"test.csv": answer(20).replace(b"label", b"x")})
    assert (one.state, one.public, one.private) == ("scored", 1.0, 1.0) and one.preview["count"] == rooms.ROWS


def test_it_cannot_reach_labels_other_entries_the_store_or_the_network(
    scored: Scored, tmp_path: Path
) -> None:
    attempts = f"""
import os, socket
from pathlib import Path
found = []
for root in ({str(tmp_path)!r}, "/proc/1/root{tmp_path}", "/proc/1/cwd", {str(Path.home())!r}, "/root/.studio"):
    for name in ("competitions/{NAME}/private/solution.csv", "competitions/competitions.sqlite3", "competitions/{NAME}/submissions"):
        if os.path.exists(os.path.join(root, name)):
            found.append(name)
for path in Path("/proc").glob("[0-9]*/environ"):
    try:
        found += ["token"] if b"TOKEN" in path.read_bytes() else []
    except OSError:
        pass
for address in (("127.0.0.1", 80), ("1.1.1.1", 53)):
    try:
        socket.create_connection(address, timeout=1)
        found.append(address)
    except OSError:
        pass
try:
    Path("/learner/../tmp2").mkdir()
    found.append("outside")
except OSError:
    pass
assert found == [], found
"""
    assert (tmp_path / "x").write_text("exists") and scored(attempts, WRITE)[0].state == "scored"


@pytest.mark.parametrize(
    ("cell", "kind", "error"),
    [
        ("while True: pass", "notebook.too_long", ""),
        ("import os\nwhile True:\n    os.fork()", "notebook.", ""),
        ("x = bytearray(3 << 30)", "notebook.memory", ""),
        (
            "with open('big', 'wb') as f:\n    for _ in range(400):\n        f.write(bytes(1 << 20))",
            "notebook.error",
            "OSError",
        ),
        ("import os\nos._exit(0)", "notebook.ended", ""),
        ("1 / 0", "notebook.error", "ZeroDivisionError: division by zero"),
        ("x = 1", "notebook.no_file", ""),
        ("import os\nos.symlink('/etc/passwd', 'predictions.csv')", "", ""),
        ("open('predictions.csv', 'wb').write(b'x' * (30 << 20))", "too_big", ""),
        ("import os\nos.mkfifo('predictions.csv')", "notebook.no_file", ""),
    ],
    ids=["endless", "fork-bomb", "memory", "disk", "exit", "error", "no-file", "link", "huge", "pipe"],
)
def test_what_it_does_to_the_machine_ends_with_it(scored: Scored, cell: str, kind: str, error: str) -> None:
    began = time.monotonic()
    one, _ = scored(cell, notebook_seconds=1)
    assert one.state == "failed" and time.monotonic() - began < 60
    said = told(one)
    assert said[0].startswith(kind) and said[1].startswith(error), one.problems


def test_a_notebook_that_is_none_is_refused(scored: Scored, runner: Runner, tmp_path: Path) -> None:
    store, competition = room(tmp_path)
    sent = store.submit(competition, store.own_team(NAME, "eve"), "eve", "notebook", "../../n.ipynb", b"{]")
    marking = Scorer(store)
    marking._runner = runner
    scorer.drain(marking)
    assert told(store.submission(sent.id))[0] == "notebook.unreadable"
    assert sorted(path.name for path in store.folder.iterdir() if path.is_dir()) == [NAME]


# ---- the teacher's own metric

GOOD = "def metric(truth, submitted):\n    return (truth['label'] == submitted['label']).mean()\n"


def own(runner: Runner, folder: Path, code: str) -> Submission:
    store, competition = room(folder, code=code, metric="own")
    sent = store.submit(competition, store.own_team(NAME, "eve"), "eve", "predictions", "p.csv", answer(14))
    marking = Scorer(store)
    marking._runner = runner
    scorer.drain(marking)
    return store.submission(sent.id)


def test_it_gives_what_the_librarys_gives(runner: Runner, tmp_path: Path) -> None:
    mine = own(runner, tmp_path / "own", GOOD)
    store, competition = room(tmp_path / "library")
    store.change(NAME, time.time(), seed=Store(tmp_path / "own" / "competitions").competition(NAME).seed)  # type: ignore[union-attr]  # it is there
    sent = store.submit(competition, store.own_team(NAME, "eve"), "eve", "predictions", "p.csv", answer(14))
    scorer.drain(Scorer(store))
    other = store.submission(sent.id)
    assert mine.state == other.state == "scored" and (mine.public, mine.private) == (
        other.public,
        other.private,
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("while True: pass", "did not end|TooLong"),
        ("raise ValueError(truth['label'][0])", "ValueError: [ab]"),
        ("return 'good'", "could not convert"),
        ("return float('nan')", "finite"),
        ("return open('/etc/shadow').read()", "Error"),
        ("import os; os._exit(0)", "ended"),
    ],
    ids=["hangs", "raises", "text", "nan", "file", "exits"],
)
def test_when_it_fails_the_learner_reads_a_fixed_sentence(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    monkeypatch.setattr("studio.competitions.running.METRIC_SECONDS", 1.0 if "while" in body else 20.0)
    one = own(runner, tmp_path, f"def metric(truth, submitted):\n    {body}\n")
    assert (one.state, one.problems, one.public) == ("failed", [("metric_failed", {})], None)
    assert re.search(why, one.detail), one.detail
