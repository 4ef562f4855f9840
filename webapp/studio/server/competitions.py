"""Competitions for learners: the cards, the overview, the data, submissions, the leaderboard. Teachers' pages are in
`competitions_teacher.py`.

What a template gets of a submission holds no private score and no message for the teacher until the end (`Desk.seen`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from tornado import web

from studio.competitions import board, example
from studio.competitions.competition import Competition
from studio.competitions.problems import Refused, refuse, told
from studio.competitions.queue import Queue
from studio.competitions.records import Submission, Team
from studio.competitions.store import Store
from studio.gradebook.classroom import NAME as TEAM_NAME
from studio.grading.cleaning import clean
from studio.hub import receipts
from studio.hub.receipts import Receipt
from studio.moments import minute
from studio.paths import state_folder

from . import charts
from .base import StudioPage
from .grading import Elsewhere
from .grading_base import one_line
from .markdown import rendered

T = TypeVar("T")
PIECE = 1 << 20  # bytes


def folder(home: Path) -> Path:
    """Where the competitions of a workspace are."""
    return state_folder(home) / "competitions"


@dataclass
class Desk:
    """Shared by the pages. `key` is the file of the key that signs receipts; it is made at the first one."""

    store: Store
    queue: Queue
    key: Path

    @classmethod
    def at(cls, home: Path, key: Path | None = None) -> Desk:
        store = Store(folder(home))
        return cls(store, Queue(store), key or state_folder(home) / "receipt.key")

    def receipt(self, entry: Submission) -> Receipt:
        """As for a hand-in; no assignment has a name with a slash."""
        place = f"competition/{entry.competition}"
        unsigned = Receipt(entry.learner, place, entry.file, entry.received, entry.sha256)
        return receipts.sign(receipts.key(self.key), unsigned)


class CompetitionPage(StudioPage):
    """For everyone who is logged in."""

    section = "competitions"

    def initialize(self, desk: Desk) -> None:
        self.desk = desk
        self.store = desk.store

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if getattr(self.current_user, "hub_user", {}).get("kind", "user") != "user":
            raise web.HTTPError(403)  # the token of a service names no member of the class

    @property
    def teaching(self) -> bool:
        name = self.settings.get("studio_class")  # in the grading service of a class
        return self.user.teaches if name is None else self.user.teaches_in(name)

    def find(self, name: str) -> Competition:
        found = self.store.competition(name)
        if found is None:
            raise web.HTTPError(404, f"no competition named {name!r}")
        return found

    def go(self, *parts: str) -> None:
        """To another page of the competitions, after a form."""
        self.redirect(self.address("competitions", *map(partial(quote, safe=""), parts)), status=303)

    async def off(self, work: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """In a thread: it waits for the disk."""
        return await asyncio.to_thread(work, *arguments, **options)

    def show(self, template: str, **values: Any) -> None:
        problems = [told(problem, self.language) for problem in values.pop("problems", ())]
        if problems:
            self.set_status(409)
        words = {
            "now": time.time(),
            "when": minute,
            "zone": datetime.now().astimezone().strftime("%Z"),
            "chart": charts,
        }
        super().show(
            template,
            **words,
            teaching=self.teaching,
            problems=problems,
            told=self.told,
            score=_score,
            **values,
        )

    def told(self, problem: Any) -> str:
        return told(problem, self.language)

    async def tab(self, name: str, tab: str, **values: Any) -> None:
        """One of the pages of a competition."""
        competition = self.find(name)
        phase = competition.phase(time.time())
        template = f"competition_{tab}.html"
        self.show(
            template,
            competition=competition,
            phase=phase,
            tab=tab,
            here_=self.address("competitions", name),
            **values,
        )


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.{board.DIGITS}f}"


def _seen(submission: Submission, ended: bool) -> Submission:
    """As its team may see it: the private score at the end, a message for the teacher never."""
    return replace(submission, private=submission.private if ended else None, detail="", claim="")


@dataclass(frozen=True)
class Board:
    """The leaderboard as pages show it, and the visitor's row; `waiting` submissions are not scored yet."""

    rows: list[board.Row]
    mine: board.Row | None
    waiting: int
    final: bool


def the_board(store: Store, competition: Competition, learner: str, final: bool) -> Board:
    """Blocks."""
    submissions = store.results(competition.name)
    made = (board.final_board if final else board.public_board)(
        competition, store.teams(competition.name), submissions
    )
    mine = next((row for row in made if learner in row.team.members), None)
    waiting = sum(one.state in ("waiting", "running") for one in submissions)
    return Board(made, mine, waiting, final)


class Cards(CompetitionPage):
    """The cards."""

    @web.authenticated
    async def get(self) -> None:
        self.show("competitions.html", cards=await self.off(self.cards), example=example.NAME)

    def cards(self) -> list[dict[str, Any]]:
        now = time.time()
        found = []
        for competition in self.store.competitions():
            ended = competition.phase(now) == "ended"
            shown = the_board(self.store, competition, self.user.name, ended)
            found.append({"competition": competition, "phase": competition.phase(now), "board": shown})
        return found


class About(CompetitionPage):
    @web.authenticated
    async def get(self, name: str) -> None:
        competition = self.find(name)
        text = await self.off(rendered, competition.told_description(self.language))
        await self.tab(name, "about", text=text)


class Data(CompetitionPage):
    """The list of files; learners see it from the start on."""

    @web.authenticated
    async def get(self, name: str) -> None:
        competition = self.find(name)
        files = []
        if self.teaching or competition.phase(time.time()) != "soon":
            files = [(path.name, path.stat().st_size) for path in self.store.data_files(name)]
        await self.tab(name, "data", files=files, baseline=name == example.NAME)


class File(CompetitionPage):
    """A data file."""

    @web.authenticated
    async def get(self, name: str, file: str) -> None:
        from studio.competitions.making import data_file

        competition = self.find(name)
        if competition.phase(time.time()) == "soon" and not self.teaching:
            raise web.HTTPError(404)
        try:
            path = await self.off(data_file, self.store, name, file)
        except Refused as error:
            raise web.HTTPError(404, str(error)) from error
        self.headers_of(file)
        with path.open("rb") as stream:  # in pieces: a class may fetch a large file at the same moment
            while part := await self.off(stream.read, PIECE):
                self.write(part)
                await self.flush()
        self.finish()

    def headers_of(self, file: str) -> None:
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(file)}")


class Baseline(File):
    """The notebook that comes with the example, in the language of the visitor."""

    @web.authenticated
    async def get(self, name: str) -> None:
        if name != example.NAME or self.store.competition(name) is None:
            raise web.HTTPError(404)
        content = await self.off(example.baseline, self.language)
        self.headers_of(example.BASELINE)
        self.finish(content)


class Submit(CompetitionPage):
    """The form for predictions or a notebook, and the learner's team."""

    @web.authenticated
    async def get(self, name: str) -> None:
        if self.find(name).phase(time.time()) == "open":
            self.desk.queue.expect()
        await self.form(name)

    async def form(self, name: str, problems: Any = ()) -> None:
        competition = self.find(name)
        team = await self.off(self.store.team_of, name, self.user.name)
        left = competition.daily
        if team is not None:
            left = await self.off(self.store.left_today, competition, team, time.time())
        await self.tab(name, "submit", team=team, left=max(0, left), problems=problems)

    @web.authenticated
    async def post(self, name: str) -> None:
        competition = self.find(name)
        try:
            id = await self.off(self.take, competition)
        except Refused as error:
            await self.form(name, error.problems)
            return
        self.desk.queue.wake()
        self.go(name, "mine", id)

    def take(self, competition: Competition) -> str:
        files = self.request.files.get("file", [])
        if len(files) != 1 or not files[0].body:
            raise refuse("no_file")
        file, content = clean(files[0].filename), files[0].body
        if len(content) > competition.most_bytes:
            raise refuse("too_big", most=f"{competition.most_bytes / (1 << 20):.3g} MB")
        notebook = file.lower().endswith(".ipynb")
        if notebook and not competition.notebook_seconds:
            raise refuse("no_notebooks")
        if not notebook and not file.lower().endswith((".csv", ".txt")):
            raise refuse("which_file", file=file[:60])
        team = self.store.own_team(competition.name, self.user.name)
        kind = "notebook" if notebook else "predictions"
        return self.store.submit(competition, team, self.user.name, kind, file, content).id  # type: ignore[arg-type]  # one of two words


class TeamPage(Submit):
    """Names the own team, or joins another one by its invitation."""

    @web.authenticated
    async def post(self, name: str) -> None:
        competition = self.find(name)
        try:
            await self.off(self.change, competition)
        except Refused as error:
            await self.form(name, error.problems)
            return
        self.go(name, "submit")

    def change(self, competition: Competition) -> Team:
        if competition.phase(time.time()) == "ended":
            raise refuse("ended")
        if competition.team_size == 1:
            raise refuse("no_teams")
        code = self.get_body_argument("code", "").strip()
        if code:
            return self.store.join(competition.name, self.user.name, code)
        title = self.get_body_argument("title", "").strip()
        if not TEAM_NAME.fullmatch(title):
            raise refuse("team_name")
        return self.store.own_team(competition.name, self.user.name, title)


class Leaderboard(CompetitionPage):
    @web.authenticated
    async def get(self, name: str) -> None:
        competition = self.find(name)
        ended = competition.phase(time.time()) == "ended"
        final = ended and self.get_query_argument("which", "private") != "public"
        shown = await self.off(the_board, self.store, competition, self.user.name, final)
        tab = "board_rows" if self.get_query_argument("part", "") else "board"
        await self.tab(name, tab, board=shown, which="private" if final else "public")


class OwnPage(CompetitionPage):
    """Pages about the submissions of the learner's team."""

    async def own(self, name: str) -> tuple[Competition, Team | None, list[Submission]]:
        competition = self.find(name)
        team = await self.off(self.store.team_of, name, self.user.name)
        found = [] if team is None else await self.off(self.store.submissions, name, team.id)
        ended = competition.phase(time.time()) == "ended"
        return competition, team, [_seen(one, ended) for one in found]

    async def one(self, name: str, id: str) -> Submission:
        _, _, found = await self.own(name)
        one = next((one for one in found if one.id == id), None)
        if one is None:
            raise web.HTTPError(404, "no such submission of this team")
        return one


class Mine(OwnPage):
    """The history, with a chart."""

    @web.authenticated
    async def get(self, name: str) -> None:
        competition, team, found = await self.own(name)
        scored = [one for one in found if one.public is not None]
        steps = [(float(n), one.public or 0.0) for n, one in enumerate(scored, 1)]
        curve = charts.curve(competition.metric, steps) if len(steps) > 1 else None
        counting = {one.id for one in board.counting(competition, found)}
        tab = "mine_rows" if self.get_query_argument("part", "") else "mine"
        await self.tab(name, tab, team=team, entries=found[::-1], curve=curve, counting=counting)


class Entry(OwnPage):
    """One submission: what was read, what was wrong, the receipt."""

    @web.authenticated
    async def get(self, name: str, id: str) -> None:
        entry = await self.one(name, id)
        tab = "entry_state" if self.get_query_argument("part", "") else "entry"
        receipt = await self.off(self.desk.receipt, entry)
        await self.tab(name, tab, entry=entry, receipt=receipt)


class ReceiptFile(OwnPage):
    """The receipt of a submission as a file, which the class can recognise later."""

    @web.authenticated
    async def get(self, name: str, id: str) -> None:
        receipt = await self.off(self.desk.receipt, await self.one(name, id))
        self.set_header("Content-Type", "application/json")
        self.set_header("Content-Disposition", f'attachment; filename="receipt-{receipt.number}.json"')
        self.finish(json.dumps(asdict(receipt), indent=1))


class Choose(OwnPage):
    """Selects a submission for the private score, or not any more."""

    @web.authenticated
    async def post(self, name: str, id: str) -> None:
        competition, entry = self.find(name), await self.one(name, id)
        try:
            await self.off(
                self.store.choose, competition, entry, self.get_body_argument("on", "") == "1", time.time()
            )
        except Refused as error:
            raise web.HTTPError(409, str(error), reason=one_line(self.told(error.problems[0]))) from error
        self.go(name, "mine")


def routes(desk: Desk) -> list[tuple[Any, ...]]:
    from . import competitions_teacher as teacher

    shared = {"desk": desk}
    one = "/competitions/(?P<name>[a-z0-9-]+)"
    entry = f"{one}/mine/(?P<id>[0-9a-f]{{32}})"
    return [
        ("/competitions", Cards, shared),
        ("/competitions/new", teacher.New, shared),
        ("/competitions/example", teacher.Example, shared),
        (one, About, shared),
        (f"{one}/data", Data, shared),
        (rf"{one}/data/(?P<file>[A-Za-z0-9][A-Za-z0-9._-]*)", File, shared),
        (f"{one}/baseline", Baseline, shared),
        (f"{one}/submit", Submit, shared),
        (f"{one}/team", TeamPage, shared),
        (f"{one}/board", Leaderboard, shared),
        (f"{one}/mine", Mine, shared),
        (entry, Entry, shared),
        (rf"{entry}/receipt\.json", ReceiptFile, shared),
        (f"{entry}/choose", Choose, shared),
        (f"{one}/manage", teacher.Manage, shared),
        (f"{one}/manage/board.csv", teacher.BoardFile, shared),
        (f"{one}/manage/(?P<act>end|rescore|labels|data|remove)", teacher.Act, shared),
    ]


def routes_elsewhere(there: str) -> list[tuple[Any, ...]]:
    """In a learner's server of a class: competitions are at the grading service."""
    return [("/competitions(?:/.*)?", Elsewhere, {"there": f"{there.rstrip('/')}/studio/competitions"})]
