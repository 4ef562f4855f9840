"""Competitions, teams and submissions in one SQLite database, with the files beside it.

FOLDER/competitions.sqlite3
FOLDER/NAME/public/          data that learners download
FOLDER/NAME/private/         solution.csv, and metric.py if the teacher wrote one
FOLDER/NAME/submissions/ID   the bytes that were sent

A submission is acknowledged when its file and its row are on the disk. A scorer claims it, and enters the scores in one
transaction with a row of `scoring`, whose primary key allows one for each submission and version of the labels. The
claim of a process that has ended is given back.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from studio.compute import machine
from studio.compute.lease import Holder
from studio.runtime import write_atomically

from . import teams
from .competition import CHOSEN, Competition
from .problems import refuse
from .records import Kind, Outcome, Submission, Team

DAY_S = 86400
REFUSED_A_DAY = 30  # files that cannot be read cost no attempt, but are not unlimited
MOST_CLAIMS = 3  # a submission whose scorer ended so often is given up
BUSY_S = 60.0
VERSION = 1  # of the tables; a change of them needs a step from each earlier version
SCHEMA = """
create table competition (name text primary key, card text not null, labels integer not null default 1);
create table team (
    id integer primary key, competition text not null, title text not null, code text not null, baseline integer not null,
    made real not null, unique (competition, title));
create table member (competition text not null, learner text not null, team integer not null references team,
    primary key (competition, learner));
create table submission (
    id text primary key, competition text not null, team integer not null references team, learner text not null,
    kind text not null, file text not null, bytes integer not null, sha256 text not null, received real not null,
    state text not null default 'waiting', labels integer not null default 0, claim text, pid integer, started real,
    claims integer not null default 0, public real, private real, chosen integer not null default 0,
    problems text not null default '[]', detail text not null default '', preview text not null default '');
create index submission_of on submission (competition, team, received);
create index submission_waiting on submission (state, kind, received);
create table scoring (submission text not null, labels integer not null, at real not null, state text not null,
    primary key (submission, labels));
"""

Check = Callable[[sqlite3.Connection], None]


class Store:
    """Safe for threads and processes: every call opens its own connection, and writes one after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "competitions.sqlite3"
        self._ready = False

    def _prepare(self) -> None:
        """Makes the folder and the tables, at the first use."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._file.touch(mode=0o600)
        with self._connected() as c:
            c.execute("pragma journal_mode = wal")
            c.execute("begin immediate")
            version = c.execute("pragma user_version").fetchone()[0]
            if version > VERSION:
                raise ValueError(f"{self._file} was written by a later version of the Studio")
            if version == 0:
                for statement in SCHEMA.split(";\n"):
                    c.execute(statement)
                c.execute(f"pragma user_version = {VERSION}")
            c.execute("commit")
        self._ready = True

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        c = sqlite3.connect(self._file, timeout=BUSY_S, isolation_level=None)
        try:
            c.row_factory = sqlite3.Row
            c.execute("pragma synchronous = full")  # a receipt is true after a power cut as well
            yield c
        finally:
            c.close()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self._ready:
            self._prepare()
        with self._connected() as c:
            yield c

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._open() as c:
            c.execute("begin immediate")
            try:
                yield c
            except BaseException:
                c.execute("rollback")
                raise
            c.execute("commit")

    def _all(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._open() as c:
            return c.execute(query, values).fetchall()

    # Competitions

    def competitions(self) -> list[Competition]:
        found = [_competition(row) for row in self._all("select * from competition")]
        return sorted(found, key=lambda one: (-one.deadline, one.name))

    def competition(self, name: str) -> Competition | None:
        rows = self._all("select * from competition where name = ?", name)
        return _competition(rows[0]) if rows else None

    def create(self, made: Competition) -> None:
        """Raises `Refused` if the name is taken."""
        with self._writing() as c:
            if c.execute("select 1 from competition where name = ?", (made.name,)).fetchone():
                raise refuse("name_taken", name=made.name)
            c.execute("insert into competition (name, card) values (?, ?)", (made.name, _card(made)))

    def change(self, name: str, now: float, **values: Any) -> Competition:
        """Changes a card. Raises `Refused` for what would open again a competition that has ended: its private scores
        were shown."""
        with self._writing() as c:
            before = _competition(c.execute("select * from competition where name = ?", (name,)).fetchone())
            after = replace(before, **values)
            if before.phase(now) == "ended" and after.phase(now) != "ended":
                raise refuse("reopened")
            c.execute("update competition set card = ? where name = ?", (_card(after), name))
        return after

    def rescore(self, name: str) -> int:
        """All that was scored or failed waits again, under a new version of the labels; its scores stay until then."""
        with self._writing() as c:
            c.execute("update competition set labels = labels + 1 where name = ?", (name,))
            again = "update submission set state = 'waiting', claim = null, claims = 0 where competition = ? and state != 'refused'"
            return c.execute(again, (name,)).rowcount

    def place(self, name: str, *parts: str) -> Path:
        """A path of a competition; its folders are made, for this account alone."""
        path = self.folder.joinpath(name, *parts)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def data_files(self, name: str) -> list[Path]:
        return sorted((self.folder / name / "public").glob("[!.]*"))

    # Teams

    def team_of(self, name: str, learner: str) -> Team | None:
        with self._open() as c:
            return teams.team_of(c, name, learner)

    def own_team(self, name: str, learner: str, title: str = "") -> Team:
        """The learner's team; if there is none, a new one with that title. Raises `Refused` if the title is taken."""
        with self._writing() as c:
            found = teams.team_of(c, name, learner)
            if found is None:
                teams.make_team(c, name, title or teams.free_title(c, name, learner), learner)
                found = teams.team_of(c, name, learner)
            elif title and title != found.title:
                teams.check_title(c, name, title)
                c.execute("update team set title = ? where id = ?", (title, found.id))
                found = replace(found, title=title)
        assert found is not None
        return found

    def join(self, name: str, learner: str, code: str) -> Team:
        """Into the team of that invitation. Raises `Refused` if there is none, it is full, or the learner's own team has
        submitted."""
        with self._writing() as c:
            row = c.execute(
                "select * from team where competition = ? and code = ? and baseline = 0", (name, code)
            ).fetchone()
            if row is None:
                raise refuse("no_such_code")
            mine, theirs = teams.team_of(c, name, learner), teams.read(c, row)
            if mine is not None and mine.id == theirs.id:
                return theirs
            if mine is not None and (
                len(mine.members) > 1
                or c.execute("select 1 from submission where team = ?", (mine.id,)).fetchone()
            ):
                raise refuse("in_a_team", team=mine.title)
            competition = _competition(
                c.execute("select * from competition where name = ?", (name,)).fetchone()
            )
            if len(theirs.members) >= competition.team_size:
                raise refuse("team_full", most=competition.team_size)
            c.execute("delete from member where competition = ? and learner = ?", (name, learner))
            if mine is not None:
                c.execute("delete from team where id = ?", (mine.id,))
            c.execute("insert into member values (?, ?, ?)", (name, learner, theirs.id))
            joined = teams.team_of(c, name, learner)
        assert joined is not None
        return joined

    def teams(self, name: str) -> dict[int, Team]:
        with self._open() as c:
            rows = c.execute("select * from team where competition = ?", (name,)).fetchall()
            return {row["id"]: teams.read(c, row) for row in rows}

    # Submissions

    def left_today(self, competition: Competition, team: Team, now: float) -> int:
        """How many submissions the team may still send today."""
        with self._open() as c:
            return competition.daily - _today(c, competition.name, team.id, now)[0]

    def submit(
        self,
        competition: Competition,
        team: Team,
        learner: str,
        kind: Kind,
        file: str,
        content: bytes,
        now: float | None = None,
    ) -> Submission:
        """Stores a submission; when it returns, the submission is on the disk. Raises `Refused` when none is taken now."""
        received = time.time() if now is None else now

        def check(c: sqlite3.Connection) -> None:
            row = c.execute("select * from competition where name = ?", (competition.name,)).fetchone()
            _may_submit(_competition(row), team, received, _today(c, competition.name, team.id, received))
            member = c.execute(
                "select team from member where competition = ? and learner = ?", (competition.name, learner)
            ).fetchone()
            if member is None or member["team"] != team.id:
                raise refuse("other_team")

        with self._open() as c:  # before a large file is written
            check(c)
        return self._keep(competition.name, team.id, learner, kind, file, content, received, check)

    def baseline(self, name: str, title: str, kind: Kind, file: str, content: bytes) -> Submission:
        """A submission of the teacher's, without limits."""
        with self._writing() as c:
            query = "select id from team where competition = ? and title = ? and baseline = 1"
            row = c.execute(query, (name, title)).fetchone()
            team = teams.make_team(c, name, title, None) if row is None else int(row["id"])
        return self._keep(name, team, title, kind, file, content, time.time(), lambda c: None)

    def _keep(
        self,
        name: str,
        team: int,
        learner: str,
        kind: Kind,
        file: str,
        content: bytes,
        received: float,
        check: Check,
    ) -> Submission:
        id = uuid.uuid4().hex
        path = self.place(name, "submissions", id)
        write_atomically(path, content)
        _sync(path.parent)
        try:
            with self._writing() as c:
                check(c)
                values = (
                    id,
                    name,
                    team,
                    learner,
                    kind,
                    file[:120],
                    len(content),
                    sha256(content).hexdigest(),
                    received,
                )
                columns = "id, competition, team, learner, kind, file, bytes, sha256, received"
                c.execute(f"insert into submission ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return self.submission(id)

    def submission(self, id: str) -> Submission:
        """Raises `LookupError` if there is none."""
        rows = self._all("select * from submission where id = ?", id)
        if not rows:
            raise LookupError(f"there is no submission {id!r}")
        return _submission(rows[0])

    def submissions(self, name: str, team: int | None = None) -> list[Submission]:
        """In the order of their arrival: of a team, or all."""
        which, values = ("and team = ?", [team]) if team is not None else ("", [])
        query = f"select * from submission where competition = ? {which} order by received, rowid"
        return [_submission(row) for row in self._all(query, name, *values)]

    def results(self, name: str) -> list[Submission]:
        """All submissions without what was said about them: enough for a board, which is read often."""
        columns = set(Submission.__annotations__) - {"problems", "detail", "preview"}
        query = f"""select {", ".join(sorted(columns))}, '[]' as problems, '' as detail, '' as preview
            from submission where competition = ? order by received, rowid"""
        return [_submission(row) for row in self._all(query, name)]

    def choose(self, competition: Competition, submission: Submission, on: bool, now: float) -> None:
        """Selects it for the private score, or not any more. Raises `Refused` at the end, and for one too many."""
        if competition.phase(now) == "ended":
            raise refuse("ended")
        with self._writing() as c:
            count = "select count(*) from submission where team = ? and competition = ? and chosen = 1 and id != ?"
            chosen = c.execute(count, (submission.team, competition.name, submission.id)).fetchone()[0]
            if on and chosen >= CHOSEN:
                raise refuse("chosen", most=CHOSEN)
            c.execute(
                "update submission set chosen = ? where id = ? and state = 'scored'", (int(on), submission.id)
            )

    # The queue

    def pending(self, kinds: Sequence[Kind] = ("predictions", "notebook")) -> int:
        """How many wait or are being scored."""
        query = f"select count(*) from submission where state in ('waiting', 'running') and {_one_of(kinds)}"
        return int(self._all(query, *kinds)[0][0])

    def waiting(self, kinds: Sequence[Kind]) -> bool:
        """Whether one waits and is not being scored."""
        query = f"select 1 from submission where state = 'waiting' and {_one_of(kinds)} limit 1"
        return bool(self._all(query, *kinds))

    def claim(self, kinds: Sequence[Kind], holder: Holder) -> Submission | None:
        """The one that waits longest, for this process alone; None if none waits."""
        oldest = f"select id from submission where state = 'waiting' and {_one_of(kinds)} order by received, rowid limit 1"
        with self._writing() as c:
            row = c.execute(
                f"""update submission set state = 'running', claim = ?, pid = ?, started = ?, claims = claims + 1,
                labels = (select labels from competition where name = submission.competition)
                where id = ({oldest}) returning *""",
                (secrets.token_hex(8), holder.pid, holder.started, *kinds),
            ).fetchone()
        return None if row is None else _submission(row)

    def finish(self, claimed: Submission, outcome: Outcome) -> bool:
        """Enters an outcome, unless the claim was given back or the labels have changed meanwhile."""
        with self._writing() as c:
            entered = c.execute(
                """update submission set state = ?, public = ?, private = ?, problems = ?, detail = ?, preview = ?, claim = null
                where id = ? and state = 'running' and claim = ?""",
                (
                    *(
                        outcome.state,
                        outcome.public,
                        outcome.private,
                        json.dumps(list(outcome.problems)),
                        outcome.detail[:8000],
                    ),
                    *(json.dumps(outcome.preview) if outcome.preview else "", claimed.id, claimed.claim),
                ),
            ).rowcount
            if entered:
                row = (claimed.id, claimed.labels, time.time(), outcome.state)
                c.execute("insert into scoring values (?, ?, ?, ?)", row)
        return bool(entered)

    def recover(self) -> int:
        """Gives back the claims of processes that have ended; returns how many."""
        rows = self._all("select id, claim, pid, started, claims from submission where state = 'running'")
        gone = [row for row in rows if not machine.alive(Holder(row["pid"], row["started"]))]
        for row in gone:
            state, problems = (
                ("waiting", "[]") if row["claims"] < MOST_CLAIMS else ("failed", '[["crashed", {}]]')
            )
            with self._writing() as c:
                c.execute(
                    "update submission set state = ?, problems = ?, claim = null where id = ? and claim = ?",
                    (state, problems, row["id"], row["claim"]),
                )
        return len(gone)

    def content(self, submission: Submission) -> bytes:
        """The bytes that were sent."""
        return self.place(submission.competition, "submissions", submission.id).read_bytes()

    def scorings(self, name: str) -> list[tuple[str, int]]:
        """(submission, version of the labels) of each outcome that was entered."""
        query = "select s.submission, s.labels from scoring s join submission u on u.id = s.submission where u.competition = ?"
        return [(row[0], row[1]) for row in self._all(query, name)]


def _one_of(kinds: Sequence[Kind]) -> str:
    """A condition of a query whose parameters are the kinds."""
    return f"kind in ({', '.join('?' * len(kinds))})"


def _card(competition: Competition) -> str:
    return json.dumps(asdict(competition), ensure_ascii=False)


def _competition(row: sqlite3.Row) -> Competition:
    return Competition(**json.loads(row["card"]))


def _today(c: sqlite3.Connection, name: str, team: int, now: float) -> tuple[int, int]:
    """(those that count for the daily limit, those that could not be read), since midnight UTC."""
    query = """select count(*) filter (where state != 'refused'), count(*) filter (where state = 'refused') from submission
        where competition = ? and team = ? and received >= ?"""
    counted, refused = c.execute(query, (name, team, now - now % DAY_S)).fetchone()
    return counted, refused


def _may_submit(competition: Competition, team: Team, now: float, today: tuple[int, int]) -> None:
    phase = competition.phase(now)
    if phase != "open":
        raise refuse("not_begun" if phase == "soon" else "ended")
    if today[0] >= competition.daily:
        raise refuse("daily", most=competition.daily, team=team.title)
    if today[1] >= REFUSED_A_DAY:
        raise refuse("daily_unreadable", most=REFUSED_A_DAY, team=team.title)


def _submission(row: sqlite3.Row) -> Submission:
    values = {name: row[name] for name in Submission.__annotations__}
    values |= {
        "chosen": bool(row["chosen"]),
        "claim": row["claim"] or "",
        "problems": [(k, v) for k, v in json.loads(row["problems"])],
    }
    values["preview"] = json.loads(row["preview"]) if row["preview"] else None
    return Submission(**values)


def _sync(folder: Path) -> None:
    """The new name of a file is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
