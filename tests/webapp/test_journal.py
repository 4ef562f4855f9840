"""The journal of a Studio: what is kept of the log, and that no secret is."""

from __future__ import annotations

import io
import json
import logging
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.server import journal

SECRET = "s3cr3t-Value_0123456789"
LINES = [
    f"GET /studio?token={SECRET}&next=/x 200",
    f"Authorization: token {SECRET}",
    f"{{'Authorization': 'Bearer {SECRET}', 'Host': 'a'}}",
    f"Cookie: _xsrf=2|{SECRET}; username-127={SECRET}",
    f'{{"api_key": "{SECRET}", "user": "ada"}}',
    f"password={SECRET} user=ada",
    f"cookie_secret: b'{SECRET}'",
    f"postgresql://ada:{SECRET}@db.example/x failed",
    f"JUPYTERHUB_API_TOKEN={SECRET}",
    f"X-XSRFToken: {SECRET}",
    f"refused token {SECRET}",
]


@pytest.mark.parametrize("line", LINES, ids=[str(number) for number in range(len(LINES))])
def test_what_is_named_like_a_secret_is_hidden(line: str) -> None:
    shown = journal.hidden(line)
    assert SECRET not in shown and journal.HIDDEN in shown
    assert journal.hidden(shown) == shown


def test_other_text_stays() -> None:
    for line in (
        "the notebook 03.ipynb was not saved: disk full",
        "404 GET /studio/datasets/people?version=0de99a57e6a0 12 ms",
        "a token is missing",
    ):
        assert journal.hidden(line, ["", "short"]) == line
    assert journal.hidden(f"opened x{SECRET}x", [SECRET]) == f"opened x{journal.HIDDEN}x"


@pytest.fixture
def logger() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger that also writes to a terminal."""
    found, terminal = logging.Logger("studio-test", logging.INFO), io.StringIO()
    found.addHandler(logging.StreamHandler(terminal))
    yield found, terminal
    for handler in found.handlers:
        handler.close()


def test_errors_are_kept_with_their_tracebacks(
    tmp_path: Path, logger: tuple[logging.Logger, io.StringIO]
) -> None:
    log, terminal = logger
    journal.keep(tmp_path, [log], [SECRET])
    log.info("nothing")
    log.warning("careful: %s", f"token={SECRET}")
    try:
        raise ValueError(f"no place for {SECRET}")
    except ValueError:
        log.exception("it failed for %s", "ada")
    path = tmp_path / journal.FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in path.read_text() and SECRET not in terminal.getvalue()
    (error,) = journal.read(tmp_path)
    assert error.level == "ERROR" and error.message.startswith("it failed for ada\nTraceback")
    assert f"no place for {journal.HIDDEN}" in error.message
    warning = journal.read(tmp_path, least=logging.WARNING)[1]
    assert warning.message == f"careful: token={journal.HIDDEN}"


def test_only_the_last_day_is_read_and_files_rotate(
    tmp_path: Path, logger: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 2_000)
    old = {"time": time.time() - 2 * journal.DAY_S, "level": "ERROR", "logger": "a", "message": "old"}
    (tmp_path / journal.FILE).write_text(json.dumps(old) + "\nhalf a li\n")
    journal.keep(tmp_path, [logger[0]], [])
    assert journal.read(tmp_path) == []
    for number in range(200):
        logger[0].error("number %d", number)
    found = [note.message for note in journal.read(tmp_path)]
    assert found[0] == "number 199" and 20 < len(found) < 200
    assert len(list(tmp_path.iterdir())) == journal.KEPT + 1
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.iterdir())
