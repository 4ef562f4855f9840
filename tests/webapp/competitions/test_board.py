"""The order of the leaderboard, public and private."""

from __future__ import annotations

from dataclasses import replace

from studio.competitions.board import Row, counting, final_board, public_board
from studio.competitions.records import Submission, Team
from tests.webapp.competitions.rooms import card

TEAMS = {
    n: Team(n, title, "", title == "base", (title,))
    for n, title in enumerate(("ada", "bob", "eve", "base"), 1)
}
CARD = card()
LOWER = card(metric="rmse", lower=True)


def entry(
    team: int, when: float, public: float | None, private: float | None, chosen: bool = False
) -> Submission:
    state = "scored" if public is not None else "waiting"
    one = Submission(
        f"{team}-{when}",
        CARD.name,
        team,
        "x",
        "predictions",
        "p.csv",
        1,
        "",
        when,
        "scored",
        public,
        private,
        chosen,
        [],
        "",
        None,
    )
    return replace(one, state=state)  # type: ignore[arg-type]  # one of the two words above


def places(rows: list[Row]) -> list[tuple[int | None, str, float]]:
    return [(row.rank, row.team.title, row.score) for row in rows]


FOUND = [
    entry(1, 1.0, 0.6, 0.9),
    entry(2, 2.0, 0.8, 0.5),
    entry(1, 3.0, 0.8, 0.4),
    entry(1, 4.0, 0.7, 0.1),
    entry(3, 5.0, None, None),
    entry(4, 0.0, 0.75, 0.45),
    entry(2, 6.0, None, None),
]


def test_the_best_public_score_counts_and_the_earlier_of_equal_ones_is_first() -> None:
    rows = public_board(CARD, TEAMS, FOUND)
    assert places(rows) == [(1, "bob", 0.8), (2, "ada", 0.8), (None, "base", 0.75)]
    assert [(row.entries, row.last) for row in rows] == [(1, 2.0), (3, 4.0), (1, 0.0)]
    assert all(row.private is None and row.moved is None for row in rows)


def test_scores_that_look_equal_are_equal() -> None:
    rows = public_board(CARD, TEAMS, [entry(1, 2.0, 0.1234567, 0.0), entry(2, 1.0, 0.1234566, 0.0)])
    assert places(rows) == [(1, "bob", 0.12346), (2, "ada", 0.12346)]


def test_lower_can_be_better() -> None:
    assert [title for _, title, _ in places(public_board(LOWER, TEAMS, FOUND))] == ["ada", "base", "bob"]
    assert [one.received for one in counting(LOWER, [one for one in FOUND if one.team == 1])] == [1.0, 4.0]


def test_without_a_selection_the_two_best_by_public_score_count() -> None:
    """ada's 0.9 was the worst in public: it does not count."""
    rows = final_board(CARD, TEAMS, FOUND)
    assert places(rows) == [(1, "bob", 0.5), (None, "base", 0.45), (2, "ada", 0.4)]
    assert [row.moved for row in rows] == [0, None, 0]


def test_with_a_selection_the_selected_ones_count_alone() -> None:
    chosen = [replace(one, chosen=one.received == 1.0) for one in FOUND]
    rows = final_board(CARD, TEAMS, chosen)
    assert places(rows) == [(1, "ada", 0.9), (2, "bob", 0.5), (None, "base", 0.45)]
    assert [(row.moved, row.public) for row in rows] == [(1, 0.8), (-1, 0.8), (None, 0.75)]


def test_an_empty_board() -> None:
    assert public_board(CARD, TEAMS, []) == [] == final_board(CARD, TEAMS, FOUND[4:5])
