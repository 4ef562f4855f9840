"""`sampan competition`: make one, submit to it, see the boards, end it, score again."""

from __future__ import annotations

import argparse
import os
import sys
import time
from argparse import _SubParsersAction
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.moments import minute

if TYPE_CHECKING:
    from .competition import Competition
    from .records import Submission
    from .store import Store

REFUSED = 1  # exit status
DAY_S = 86400
# Fields of a card with a standard value.
OPTIONS: tuple[tuple[str, type, str], ...] = (
    ("id_column", str, "of the solution (id)"),
    ("split_column", str, "of the solution; its cells say Public or Private"),
    ("share", float, "public part of the rows (0.3)"),
    ("daily", int, "submissions of a team per day (5)"),
    ("team_size", int, "members of a team (1)"),
    ("k", int, "of map_at_k (5)"),
    ("most_bytes", int, "of a submission (2 MB)"),
    ("notebook_seconds", int, "for a notebook (120); 0: none are taken"),
)


def add_to(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parser of the command."""
    top = commands.add_parser(
        "competition",
        help="competitions: create, submit, board, end",
        description="Competitions of this workspace. For a class, run it as the grading account with --home FOLDER/grading.",
    )
    what = top.add_subparsers(required=True, metavar="what")

    def add(
        name: str, run: Callable[[Store, argparse.Namespace], int], words: str, named: bool = True
    ) -> Any:
        parser = what.add_parser(name, help=words)
        parser.add_argument("--home", type=Path, help="the workspace (that of this account)")
        if named:
            parser.add_argument("name")
        parser.set_defaults(run=lambda arguments: _run(run, arguments))
        return parser

    add("list", _list, "all competitions", named=False)
    add(
        "example",
        _example,
        "set up the competition that comes with the Studio, with its baseline",
        named=False,
    )
    add("score", _score, "score what waits now, without a Studio", named=False)
    add("board", _board, "the leaderboard, with the private scores")
    add("end", _end, "end it now: everyone sees the private scores")
    add("rescore", _rescore, "score all submissions again").add_argument(
        "--solution", type=Path, help="other labels"
    )
    add("submit", _submit, "submit predictions or a notebook in your name").add_argument("file", type=Path)
    _creating(add("create", _create, "make a competition"))


def _creating(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", required=True)
    parser.add_argument("--description", type=Path, metavar="FILE", help="Markdown")
    parser.add_argument(
        "--solution", type=Path, required=True, metavar="CSV", help="ids and labels; learners never see it"
    )
    parser.add_argument("--data", type=Path, nargs="*", default=[], metavar="FILE", help="files for learners")
    parser.add_argument(
        "--metric",
        default="accuracy",
        help="accuracy, macro_f1, log_loss, auc, rmse, mae, map_at_k, cer or wer",
    )
    parser.add_argument(
        "--own-metric", type=Path, metavar="PY", help="a file with metric(truth, submitted) instead"
    )
    parser.add_argument(
        "--deadline", help="such as 2027-01-31T18:00, in this machine's time zone (in 14 days)"
    )
    parser.add_argument("--start", help="as the deadline (now)")
    for name, kind, words in OPTIONS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=argparse.SUPPRESS, help=words)
    parser.add_argument("--lower", action="store_true", help="of the own metric, lower is better")


def _run(run: Callable[[Store, argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from studio.i18n import of_terminal
    from studio.paths import state_folder, workspace

    from .problems import Refused, told
    from .store import Store

    home = arguments.home or workspace()
    if home.is_dir() and home.stat().st_uid != os.geteuid():
        print(f"{home} belongs to another account: run this command as that account.", file=sys.stderr)
        return REFUSED
    store = Store(state_folder(home) / "competitions")
    try:
        return run(store, arguments)
    except Refused as error:
        for problem in error.problems:
            print(told(problem, of_terminal()), file=sys.stderr)
        return REFUSED
    except (OSError, ValueError, LookupError) as error:
        print(error, file=sys.stderr)
        return REFUSED


def _find(store: Store, name: str) -> Competition:
    found = store.competition(name)
    if found is None:
        raise LookupError(f"There is no competition {name!r}; sampan competition list names all.")
    return found


def _moment(text: str | None, otherwise: float) -> float:
    return datetime.fromisoformat(text).timestamp() if text else otherwise


def _list(store: Store, arguments: argparse.Namespace) -> int:
    now = time.time()
    for one in store.competitions():
        end = minute(one.end)
        print(f"{one.name:24}{one.phase(now):8}{end:18}{len(store.submissions(one.name)):>6}  {one.title}")
    return 0


def _create(store: Store, arguments: argparse.Namespace) -> int:
    from .competition import Competition
    from .making import create
    from .metrics import OWN

    now, own = time.time(), arguments.own_metric
    given = {name: vars(arguments)[name] for name, _, _ in OPTIONS if name in arguments}
    wanted = Competition(
        **given,
        name=arguments.name,
        title=arguments.title,
        lower=arguments.lower,
        description=arguments.description.read_text("utf-8") if arguments.description else "",
        metric=OWN if own else arguments.metric,
        start=_moment(arguments.start, now),
        deadline=_moment(arguments.deadline, now + 14 * DAY_S),
    )
    data = {path.name: path.read_bytes() for path in arguments.data}
    code = own.read_text("utf-8") if own else ""
    made = create(store, wanted, arguments.solution.read_bytes(), data, code)
    return _score_and_tell(store, made.name)


def _example(store: Store, arguments: argparse.Namespace) -> int:
    from . import example

    return _score_and_tell(store, example.set_up(store, time.time()).name)


def _score_and_tell(store: Store, name: str) -> int:
    from .scorer import drain_alone

    drain_alone(store)
    return _tell([*store.submissions(name)])


def _tell(submissions: list[Submission]) -> int:
    from studio.i18n import of_terminal

    from .problems import told

    status = 0
    for one in submissions:
        scores = "" if one.public is None else f"  public {one.public:.5f}"
        print(f"{one.file}: {one.state}{scores}")
        for problem in one.problems:
            print(f"  {told(problem, of_terminal())}", file=sys.stderr)
        if one.detail:
            print(f"  {one.detail}", file=sys.stderr)
        status |= one.state != "scored"
    return status


def _score(store: Store, arguments: argparse.Namespace) -> int:
    from .scorer import drain_alone

    print(f"{drain_alone(store)} scored")
    return 0


def _board(store: Store, arguments: argparse.Namespace) -> int:
    from .board import final_board

    competition = _find(store, arguments.name)
    for row in final_board(competition, store.teams(competition.name), store.submissions(competition.name)):
        private = "–" if row.private is None else f"{row.private:.5f}"
        print(f"{row.rank or '–':>4}  {row.team.title:32}{private:>12}{row.public:>12.5f}{row.entries:>6}")
    return 0


def _end(store: Store, arguments: argparse.Namespace) -> int:
    competition, now = _find(store, arguments.name), time.time()
    if competition.phase(now) != "ended":
        store.change(competition.name, now, ended=now)
    return _board(store, arguments)


def _rescore(store: Store, arguments: argparse.Namespace) -> int:
    from .making import correct

    competition = _find(store, arguments.name)
    correct(store, competition, arguments.solution.read_bytes() if arguments.solution else b"")
    return _score(store, arguments)


def _submit(store: Store, arguments: argparse.Namespace) -> int:
    from studio import identity

    competition, who = _find(store, arguments.name), identity.local().name
    kind = "notebook" if arguments.file.suffix == ".ipynb" else "predictions"
    content = arguments.file.read_bytes()
    team = store.own_team(competition.name, who)
    sent = store.submit(competition, team, who, kind, arguments.file.name, content)  # type: ignore[arg-type]  # one of two words
    print(f"received: {sent.id}, SHA-256 {sent.sha256}")
    from .scorer import drain_alone

    drain_alone(store)
    return _tell([store.submission(sent.id)])
