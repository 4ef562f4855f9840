"""The leaderboard: public while a competition runs, private when it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .competition import CHOSEN, Competition
from .records import Submission, Team

DIGITS = 5  # decimals that are shown, and that count


@dataclass(frozen=True)
class Row:
    """A team. `rank` is None for a baseline. `public` is the best public score; `private` and `moved`, the places won since
    the public board, only on the final board. `when`: the submission of that score."""

    rank: int | None
    team: Team
    public: float
    private: float | None
    moved: int | None
    entries: int
    when: float
    last: float

    @property
    def score(self) -> float:
        return self.public if self.private is None else self.private


def public_board(
    competition: Competition, teams: Mapping[int, Team], submissions: Iterable[Submission]
) -> list[Row]:
    """Teams by their best public score; the earlier one is first where scores are equal."""
    rows = []
    for number, theirs in _by_team(submissions).items():
        best = _best(competition, theirs, private=False)
        assert best.public is not None
        row = Row(
            None,
            teams[number],
            round(best.public, DIGITS),
            None,
            None,
            len(theirs),
            best.received,
            theirs[-1].received,
        )
        rows.append(row)
    return _ranked(competition, rows)


def final_board(
    competition: Competition, teams: Mapping[int, Team], submissions: Iterable[Submission]
) -> list[Row]:
    """Teams by their best private score among the submissions that count (`counting`)."""
    submissions = list(submissions)
    before = {row.team.id: row for row in public_board(competition, teams, submissions)}
    rows = []
    for number, theirs in _by_team(submissions).items():
        best = _best(competition, counting(competition, theirs), private=True)
        assert best.private is not None
        rows.append(
            Row(
                None,
                teams[number],
                before[number].public,
                round(best.private, DIGITS),
                None,
                len(theirs),
                best.received,
                theirs[-1].received,
            )
        )
    return [_moved(row, before[row.team.id].rank) for row in _ranked(competition, rows)]


def counting(competition: Competition, theirs: Iterable[Submission]) -> list[Submission]:
    """The submissions of one team that count for the private score: those that it has selected, else the best by public
    score."""
    scored = [one for one in theirs if one.public is not None]
    chosen = [one for one in scored if one.chosen]
    return chosen or sorted(scored, key=lambda one: _key(competition, one.public, one.received))[:CHOSEN]


def _by_team(submissions: Iterable[Submission]) -> dict[int, list[Submission]]:
    found: dict[int, list[Submission]] = {}
    for one in submissions:
        if one.public is not None:
            found.setdefault(one.team, []).append(one)
    return found


def _key(competition: Competition, score: float | None, when: float) -> tuple[float, float]:
    value = round(score if score is not None else 0.0, DIGITS)
    return (value if competition.lower else -value), when


def _best(competition: Competition, theirs: Iterable[Submission], private: bool) -> Submission:
    return min(
        theirs, key=lambda one: _key(competition, one.private if private else one.public, one.received)
    )


def _ranked(competition: Competition, rows: list[Row]) -> list[Row]:
    ranked, place = [], 0
    for row in sorted(rows, key=lambda row: _key(competition, row.score, row.when)):
        place += not row.team.baseline
        ranked.append(row if row.team.baseline else replace(row, rank=place))
    return ranked


def _moved(row: Row, before: int | None) -> Row:
    if row.rank is None or before is None:
        return row
    return replace(row, moved=before - row.rank)
