"""The journal of a Studio: warnings and errors of the last days in a file of the state folder, without secrets, for the page
"Admin".

Whatever a library logs passes here: values of headers, cookies, parameters and settings whose names suggest a secret are
replaced, and so are the secrets that this server itself has.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "journal.log"
MOST_BYTES, KEPT = 512 * 1024, 2
DAY_S = 86_400.0
LONGEST = 2_000
HIDDEN = "***hidden***"  # the patterns find it again, and leave it as it is
_WORDS = r"[\w-]*(?:token|secret|passw(?:or)?d|api_?key|credential|xsrf|cookie|authorization|signature)[\w-]*"
# name=value, name: value, "name": "value"; and what follows "token" or "Bearer" in a header.
_NAMED = re.compile(
    rf"(?i)({_WORDS}[\"']?\s*[=:]\s*)(?:b?[\"'])?(?:(?:token|bearer|basic)\s+)?[^\s\"'&,;}}\])]+"
)
_COOKIES = re.compile(r"(?i)(cookie[\"']?\s*:\s*)[^\n]+")  # a header with several
_SPOKEN = re.compile(r"(?i)\b(token|bearer|basic)\s+[\w\-.~+/=|:]{16,}")
_ADDRESS = re.compile(r"(\w+://[^\s/:@]+:)[^\s/@]+@")  # a password in a URL


@dataclass(frozen=True)
class Note:
    """One line: when (seconds since 1970), how bad ("WARNING", "ERROR", "CRITICAL"), who, what."""

    time: float
    level: str
    logger: str
    message: str


def hidden(text: str, secrets: Iterable[str] = ()) -> str:
    """A text of a log without what may be a secret."""
    for secret in secrets:
        if len(secret) >= 8:
            text = text.replace(secret, HIDDEN)
    for pattern in (_COOKIES, _NAMED):
        text = pattern.sub(rf"\1{HIDDEN}", text)
    text = _SPOKEN.sub(rf"\1 {HIDDEN}", text)
    return _ADDRESS.sub(rf"\1{HIDDEN}@", text)


class Hiding(logging.Filter):
    """Puts `hidden` before every record of a handler: also of what goes to the terminal."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self.secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except (TypeError, ValueError, KeyError):  # arguments that do not fit: the handler reports it
            return True
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = hidden(record.exc_text, self.secrets)
        safe = hidden(text, self.secrets)
        if safe != text:
            record.msg, record.args = safe, ()
        return True


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_text:
            message += "\n" + record.exc_text
        return json.dumps(asdict(Note(record.created, record.levelname, record.name, message[-LONGEST:])))


class _Private(logging.handlers.RotatingFileHandler):
    """Files of mode 0600."""

    def _open(self):  # type: ignore[no-untyped-def]  # as in the standard library
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY, 0o600))
        return super()._open()


def keep(state: Path, loggers: Iterable[logging.Logger], secrets: Iterable[str]) -> None:
    """From now on these loggers write to the journal too, and all that they write is without secrets."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    hiding = Hiding(secrets)
    handler = _Private(state / FILE, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Lines())
    handler.addFilter(hiding)
    for logger in loggers:
        for other in logger.handlers:
            other.addFilter(hiding)
        logger.addHandler(handler)


def read(state: Path, since: float | None = None, least: int = logging.ERROR) -> list[Note]:
    """The notes of the last day, or since then, the newest first. Blocks."""
    begins = time.time() - DAY_S if since is None else since
    found = []
    for number in range(KEPT, -1, -1):
        path = state / (f"{FILE}.{number}" if number else FILE)
        try:
            lines = path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            continue
        for line in lines:
            try:
                note = Note(**json.loads(line))
            except (ValueError, TypeError):  # half a line of a full disk
                continue
            if note.time >= begins and logging.getLevelNamesMapping().get(note.level, 0) >= least:
                found.append(note)
    return found[::-1]
