"""Competitions for teachers: made, changed, ended, scored again; the private board and what went wrong."""

from __future__ import annotations

import csv
import io
import math
import time
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tornado import web

from studio.competitions import example
from studio.competitions.competition import Competition
from studio.competitions.metrics import METRICS, OWN
from studio.competitions.problems import Refused, refuse
from studio.gradebook.book import defused

from .competitions import CompetitionPage, the_board

DAY_S = 86400.0
MB = 1 << 20
CODE = '''def metric(truth, submitted):
    """truth, submitted: for each column an array, in the same order of rows."""
    return (truth["label"] == submitted["label"]).mean()
'''


class TeacherPage(CompetitionPage):
    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if self.current_user and not self.teaching:
            raise web.HTTPError(403)

    def text(self, name: str, default: str = "") -> str:
        return self.get_body_argument(name, default, strip=False).strip().replace("\r\n", "\n")

    def number(self, name: str) -> float:
        try:
            given = float(self.text(name))
        except ValueError:
            given = math.nan
        if not math.isfinite(given):
            raise refuse("form_number", field=name, given=self.text(name)[:40])
        return given

    def moment(self, name: str) -> float:
        """Of a field for date and time, in the time zone of this machine."""
        try:
            return datetime.fromisoformat(self.text(name)).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise refuse("form_time", field=name, given=self.text(name)[:40]) from error

    def uploads(self, name: str) -> dict[str, bytes]:
        return {one.filename: one.body for one in self.request.files.get(name, []) if one.filename}

    def upload(self, name: str) -> bytes:
        found = self.request.files.get(name, [])
        return found[0].body if found else b""

    def changes(self) -> dict[str, Any]:
        """The fields that a teacher may change at any time."""
        return {
            **{name: self.text(name) for name in ("title", "title_zh", "description", "description_zh")},
            **{"start": self.moment("start"), "deadline": self.moment("deadline")},
            **{name: int(self.number(name)) for name in ("daily", "team_size", "notebook_seconds")},
            "most_bytes": int(self.number("most_mb") * MB),
        }


class New(TeacherPage):
    @web.authenticated
    async def get(self) -> None:
        self.form({})

    def form(self, given: dict[str, str], problems: Any = ()) -> None:
        now = time.time()
        blank = {
            **{
                "name": "",
                "title": "",
                "title_zh": "",
                "description": "",
                "description_zh": "",
                "metric": "accuracy",
            },
            **{
                "k": "5",
                "id_column": "id",
                "split_column": "",
                "share": "30",
                "daily": "5",
                "team_size": "1",
            },
            **{"most_mb": "2", "notebook_seconds": "120", "code": CODE, "lower": ""},
            **{"start": field(now), "deadline": field(now + 14 * DAY_S)},
        }
        self.show(
            "competition_new.html", given={**blank, **given}, metrics=[*METRICS, OWN], problems=problems
        )

    @web.authenticated
    async def post(self) -> None:
        try:
            made = await self.off(self.make)
        except Refused as error:
            given = {name: self.text(name) for name in self.request.body_arguments if name != "_xsrf"}
            self.form(given, error.problems)
            return
        self.desk.queue.wake()
        self.go(made.name, "manage")

    def make(self) -> Competition:
        from studio.competitions.making import create

        solution = self.upload("solution")
        if not solution:
            raise refuse("no_solution")
        values = self.changes()
        values |= {name: self.text(name) for name in ("name", "metric", "id_column", "split_column")}
        values |= {"k": int(self.number("k")), "share": self.number("share") / 100}
        wanted = Competition(**values, lower=self.text("lower") == "1")
        return create(self.store, wanted, solution, self.uploads("data"), self.text("code"))


def field(seconds: float) -> str:
    """For a field of date and time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%dT%H:%M")


class Example(TeacherPage):
    """Sets up the competition that comes with the Studio."""

    @web.authenticated
    async def post(self) -> None:
        try:
            await self.off(example.set_up, self.store, time.time())
        except Refused as error:
            raise web.HTTPError(409, str(error)) from error
        self.desk.queue.wake()
        self.go(example.NAME)


class Manage(TeacherPage):
    """Settings, the private board, failures."""

    @web.authenticated
    async def get(self, name: str) -> None:
        await self.page(name)

    async def page(self, name: str, problems: Any = ()) -> None:
        competition = self.find(name)
        submissions = await self.off(self.store.submissions, name)
        troubled = [one for one in submissions if one.state in ("failed", "refused")][-50:]
        code = self.store.place(name, "private", "metric.py")
        tab = "manage_board" if self.get_query_argument("part", "") else "manage"
        await self.tab(
            name,
            tab,
            board=await self.off(the_board, self.store, competition, self.user.name, True),
            files=[path.name for path in self.store.data_files(name)],
            field=field,
            troubled=troubled[::-1],
            teams=await self.off(self.store.teams, name),
            count=len(submissions),
            code=code.read_text("utf-8") if competition.metric == OWN else "",
            problems=problems,
        )

    @web.authenticated
    async def post(self, name: str) -> None:
        """The settings."""
        self.find(name)
        try:
            await self.off(lambda: self.store.change(name, time.time(), **self.changes()))
        except Refused as error:
            await self.page(name, error.problems)
            return
        self.go(name, "manage")


class Act(Manage):
    """The buttons: end it, score all again, other labels or metric, data files."""

    @web.authenticated
    async def post(self, name: str, act: str) -> None:
        competition = self.find(name)
        try:
            await self.off(self.act, competition, act)
        except Refused as error:
            await self.page(name, error.problems)
            return
        self.desk.queue.wake()
        self.go(name, "manage")

    @web.authenticated
    async def get(self, name: str, act: str) -> None:
        raise web.HTTPError(405)

    def act(self, competition: Competition, act: str) -> None:
        from studio.competitions import making

        name, now = competition.name, time.time()
        if act == "end" and competition.phase(now) != "ended":
            self.store.change(name, now, ended=now)
        elif act == "rescore":
            self.store.rescore(name)
        elif act == "labels":
            making.correct(self.store, competition, self.upload("solution"), self.text("code"))
        elif act == "data":
            making.add_data(self.store, name, self.uploads("data"))
        elif act == "remove":
            making.remove_data(self.store, name, self.text("file"))


class BoardFile(TeacherPage):
    """The private board for a spreadsheet."""

    @web.authenticated
    async def get(self, name: str) -> None:
        competition = self.find(name)
        shown = await self.off(the_board, self.store, competition, self.user.name, True)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["rank", "team", "members", "public", "private", "entries", "last"])
        for row in shown.rows:
            last = datetime.fromtimestamp(row.last).isoformat(" ", "seconds")
            cells = [
                row.rank,
                row.team.title,
                " ".join(row.team.members),
                row.public,
                row.private,
                row.entries,
                last,
            ]
            writer.writerow([defused(cell) for cell in cells])
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(name)}.csv")
        self.finish(out.getvalue())
