"""Teams in the database: each function runs in a transaction of the store."""

from __future__ import annotations

import secrets
import sqlite3
import time
from itertools import count

from .problems import refuse
from .records import Team


def read(c: sqlite3.Connection, row: sqlite3.Row) -> Team:
    members = c.execute("select learner from member where team = ? order by learner", (row["id"],))
    return Team(row["id"], row["title"], row["code"], bool(row["baseline"]), tuple(one[0] for one in members))


def team_of(c: sqlite3.Connection, name: str, learner: str) -> Team | None:
    query = "select team.* from team join member on member.team = team.id where member.competition = ? and learner = ?"
    row = c.execute(query, (name, learner)).fetchone()
    return None if row is None else read(c, row)


def check_title(c: sqlite3.Connection, name: str, title: str) -> None:
    if c.execute("select 1 from team where competition = ? and title = ?", (name, title)).fetchone():
        raise refuse("team_taken", team=title)


def free_title(c: sqlite3.Connection, name: str, learner: str) -> str:
    """The learner's name, with a number if somebody has called a team so."""
    taken = {row[0] for row in c.execute("select title from team where competition = ?", (name,))}
    return next(title for n in count(1) if (title := learner if n == 1 else f"{learner} {n}") not in taken)


def make_team(c: sqlite3.Connection, name: str, title: str, learner: str | None) -> int:
    check_title(c, name, title)
    values = (name, title, secrets.token_urlsafe(9), int(learner is None), time.time())
    number = c.execute(
        "insert into team (competition, title, code, baseline, made) values (?, ?, ?, ?, ?)", values
    ).lastrowid
    if learner is not None:
        c.execute("insert into member values (?, ?, ?)", (name, learner, number))
    assert number is not None
    return number
